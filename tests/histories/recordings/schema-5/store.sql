PRAGMA user_version = 5;
BEGIN;
CREATE TABLE meta (
  name TEXT PRIMARY KEY,
  value ANY NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE runs (
  run_no INTEGER PRIMARY KEY,
  partition TEXT NOT NULL,
  run_id TEXT NOT NULL,
  workflow_id TEXT NOT NULL,
  scope_id TEXT,
  status TEXT NOT NULL,
  last_sequence INTEGER NOT NULL,
  started_at INTEGER,
  completed_at INTEGER,
  current_node TEXT,
  executions INTEGER NOT NULL,
  error BLOB,
  outputs BLOB,
  UNIQUE (partition, run_id)
) STRICT;
CREATE TABLE run_headers (
  run_no INTEGER PRIMARY KEY,
  header BLOB NOT NULL
) STRICT;
CREATE TABLE events (
  id INTEGER PRIMARY KEY,
  event_id TEXT NOT NULL,
  type TEXT NOT NULL,
  timestamp INTEGER NOT NULL,
  payload BLOB NOT NULL,
  node_id TEXT,
  causation_id TEXT,
  schema_version INTEGER NOT NULL,
  engine_version INTEGER NOT NULL
, interrupt_id TEXT) STRICT;
CREATE TABLE run_state (
  run_no INTEGER NOT NULL,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  value BLOB NOT NULL,
  PRIMARY KEY (run_no, kind, name)
) STRICT;
CREATE TABLE hidden (
  hidden_no INTEGER PRIMARY KEY,
  run_no INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  pointer TEXT NOT NULL,
  value BLOB NOT NULL
) STRICT;
CREATE TABLE run_tags (
  partition TEXT NOT NULL,
  tag TEXT NOT NULL,
  run_no INTEGER NOT NULL,
  PRIMARY KEY (partition, tag, run_no)
) STRICT, WITHOUT ROWID;
CREATE TABLE idempotency (
  record_no INTEGER PRIMARY KEY,
  partition TEXT NOT NULL,
  slot TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  outcome BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (partition, slot)
) STRICT;
CREATE TABLE definitions (
  digest TEXT PRIMARY KEY,
  document BLOB NOT NULL
) STRICT;
CREATE TABLE keys (
  key_no INTEGER PRIMARY KEY,
  key_id TEXT NOT NULL UNIQUE,
  digest BLOB NOT NULL,
  tenant TEXT NOT NULL,
  mode TEXT NOT NULL,
  scopes TEXT NOT NULL,
  label TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER
) STRICT;
CREATE TABLE workflows (
  workflow_no INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  workflow_id TEXT NOT NULL,
  version TEXT NOT NULL,
  digest TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  name TEXT NOT NULL,
  description TEXT,
  current INTEGER NOT NULL CHECK (current IN (0, 1)),
  UNIQUE (tenant, workflow_id, version)
) STRICT;
CREATE TABLE deleted_runs (
  run_no INTEGER PRIMARY KEY,
  partition TEXT NOT NULL,
  run_id TEXT NOT NULL,
  deleted_at INTEGER NOT NULL,
  purged INTEGER NOT NULL
) STRICT;
CREATE TABLE annotations (
  annotation_no INTEGER PRIMARY KEY,
  run_no INTEGER NOT NULL,
  annotation_id TEXT NOT NULL,
  document BLOB NOT NULL
) STRICT;
INSERT INTO runs VALUES (1, 'live:acme', '01m7jvwrdbpgf917ypt39y6xg1', 'steps', NULL, 'completed', 7, 1794855821749, 1794855821749, NULL, 3, NULL, CAST('{"c":{"word":"[REDACTED:c.word]"}}' AS BLOB));
INSERT INTO runs VALUES (2, 'live:acme', '01m7jvwretnqfvz3211b4zja6s', 'steps', NULL, 'completed', 7, 1794855821796, 1794855821796, NULL, 3, NULL, CAST('{"c":{"word":"[REDACTED:c.word]"}}' AS BLOB));
INSERT INTO runs VALUES (3, 'live:acme', '01m7jvwrgadzzga5rhnsp6dvjf', 'fails', NULL, 'failed', 5, 1794855821841, 1794855821841, NULL, 2, CAST('{"code":"conformance_test_failure","message":"Intentional conformance failure"}' AS BLOB), NULL);
INSERT INTO runs VALUES (4, 'live:acme', '01m7jvwrh75vhgcbn3kj7q4mhz', 'delays', NULL, 'running', 3, 1794855821875, NULL, 'd', 2, NULL, NULL);
INSERT INTO runs VALUES (5, 'live:acme', '01m7jvwrjg9kf3w4cx3pj7wa3n', 'delays', NULL, 'cancelled', 6, 1794855821904, 1794855822503, NULL, 2, NULL, NULL);
INSERT INTO runs VALUES (6, 'live:acme', '01m7jvwrkk6jayvpe2664cafg4', 'graph', NULL, 'running', 5, 1794855821946, NULL, 'ship', 3, NULL, NULL);
INSERT INTO runs VALUES (7, 'live:acme', '01m7jvwrmmg7tzvr4061jr4ydd', 'loop', NULL, 'running', 12, 1794855821988, NULL, 'wait', 6, NULL, NULL);
INSERT INTO runs VALUES (8, 'live:acme', '01m7jvwrnryj008t1njjbh0e6w', 'asks', NULL, 'waiting-input', 3, 1794855822015, NULL, 'ask', 1, NULL, NULL);
INSERT INTO runs VALUES (9, 'live:acme', '01m7jvwrpksnes56frc6phgwps', 'asks', NULL, 'completed', 10, 1794855822035, 1794855822514, NULL, 2, NULL, CAST('{"keep":{"artifactId":"keep","artifactType":"order","output":{"supplier":"north"}}}' AS BLOB));
INSERT INTO runs VALUES (10, 'live:acme', '01m7jvwrq8rpy9ct4sks11c04g', 'delays', NULL, 'running', 4, 1794855822075, NULL, 'd', 2, NULL, NULL);
INSERT INTO runs VALUES (11, 'live:acme', '01m7jvwrrrmemas1xrfw543qkv', 'steps', NULL, 'completed', 7, 1794855822105, 1794855822105, NULL, 3, NULL, CAST('{"c":{"word":"[REDACTED:c.word]"}}' AS BLOB));
INSERT INTO runs VALUES (13, 'live:acme', '01m7jvwrtt84gfg3mgb1p0x3w5', 'list', NULL, 'running', 6, 1794855822179, NULL, 'm', 2, NULL, NULL);
INSERT INTO run_headers VALUES (1, CAST('{"run_id":"01m7jvwrdbpgf917ypt39y6xg1","partition":"live:acme","owner":{"tenant":"acme","principal":"key_d54625676e5c7295"},"workflow_id":"steps","definition":"f135f29a3129ebc717f3388f8c37bc9dd7911ea39123eaed282626c4376ac89c","created_at":1794855821739,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (2, CAST(X'7b2272756e5f6964223a2230316d376a76777265746e7166767a3332313162347a6a613673222c22706172746974696f6e223a226c6976653a61636d65222c226f776e6572223a7b2274656e616e74223a2261636d65222c227072696e636970616c223a226b65795f64353436323536373665356337323935227d2c22776f726b666c6f775f6964223a227374657073222c22646566696e6974696f6e223a2266313335663239613331323965626337313766333338386638633337626339646437393131656133393132336561656432383236323663343337366163383963222c22637265617465645f6174223a313739343835353832313738362c22696e70757473223a7b22776f7264223a22c3a96c616e20e280a820e29882227d2c2274616773223a5b227265636f72646564222c22706c61696e225d7d' AS BLOB));
INSERT INTO run_headers VALUES (3, CAST('{"run_id":"01m7jvwrgadzzga5rhnsp6dvjf","partition":"live:acme","owner":{"tenant":"acme","principal":"key_d54625676e5c7295"},"workflow_id":"fails","definition":"6aa4e5ff4ef8090e3ae2db68089f63c27d179f826e33286017859a5f668d2376","created_at":1794855821834,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (4, CAST('{"run_id":"01m7jvwrh75vhgcbn3kj7q4mhz","partition":"live:acme","owner":{"tenant":"acme","principal":"key_d54625676e5c7295"},"workflow_id":"delays","definition":"2104b2443464777c07d85868e1802c0005d2c4770e716a133ab045c91cb47eeb","created_at":1794855821863,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (5, CAST('{"run_id":"01m7jvwrjg9kf3w4cx3pj7wa3n","partition":"live:acme","owner":{"tenant":"acme","principal":"key_d54625676e5c7295"},"workflow_id":"delays","definition":"2104b2443464777c07d85868e1802c0005d2c4770e716a133ab045c91cb47eeb","created_at":1794855821904,"tags":["recorded","cancel"]}' AS BLOB));
INSERT INTO run_headers VALUES (6, CAST('{"run_id":"01m7jvwrkk6jayvpe2664cafg4","partition":"live:acme","owner":{"tenant":"acme","principal":"key_d54625676e5c7295"},"workflow_id":"graph","definition":"ab91191d59ff8f9734d0ff7341ee3569b6ad9ff6ca96631810906aed3b0f99fd","created_at":1794855821939,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (7, CAST('{"run_id":"01m7jvwrmmg7tzvr4061jr4ydd","partition":"live:acme","owner":{"tenant":"acme","principal":"key_d54625676e5c7295"},"workflow_id":"loop","definition":"55fa38846b98bac0d4277e240e539eecfaa2e1e9e0c6ff70fd268c29c761cbef","created_at":1794855821972,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (8, CAST('{"run_id":"01m7jvwrnryj008t1njjbh0e6w","partition":"live:acme","owner":{"tenant":"acme","principal":"key_d54625676e5c7295"},"workflow_id":"asks","definition":"210403c04c63e6d326493908fce767f01a257d7e9887af7c9784e8f1ef85b1b1","created_at":1794855822008,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (9, CAST('{"run_id":"01m7jvwrpksnes56frc6phgwps","partition":"live:acme","owner":{"tenant":"acme","principal":"key_d54625676e5c7295"},"workflow_id":"asks","definition":"210403c04c63e6d326493908fce767f01a257d7e9887af7c9784e8f1ef85b1b1","created_at":1794855822035,"tags":["recorded","answer"]}' AS BLOB));
INSERT INTO run_headers VALUES (10, CAST('{"run_id":"01m7jvwrq8rpy9ct4sks11c04g","partition":"live:acme","owner":{"tenant":"acme","principal":"key_d54625676e5c7295"},"workflow_id":"delays","definition":"2104b2443464777c07d85868e1802c0005d2c4770e716a133ab045c91cb47eeb","created_at":1794855822056,"tags":["recorded","pause"]}' AS BLOB));
INSERT INTO run_headers VALUES (11, CAST('{"run_id":"01m7jvwrrrmemas1xrfw543qkv","partition":"live:acme","owner":{"tenant":"acme","principal":"key_d54625676e5c7295"},"workflow_id":"steps","definition":"f135f29a3129ebc717f3388f8c37bc9dd7911ea39123eaed282626c4376ac89c","created_at":1794855822104,"tags":["recorded","annotate"]}' AS BLOB));
INSERT INTO run_headers VALUES (13, CAST('{"run_id":"01m7jvwrtt84gfg3mgb1p0x3w5","partition":"live:acme","owner":{"tenant":"acme","principal":"key_d54625676e5c7295"},"workflow_id":"list","definition":"1d2a1ee644677f92561014341fc1db3f86972df42f1b3df3ed081fe2a577242d","created_at":1794855822170,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO events VALUES (67108864, 'eaf1b2c8110e36a25f502ccd', 'run.started', 1794855821749, CAST('{"inputs":{},"owner":{"principal":"key_d54625676e5c7295","tenant":"acme"},"workflowId":"steps"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (67108865, 'ac4aa8d279b2b98d333088da', 'node.started', 1794855821749, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (67108866, 'e98289da3b5d98fc2cec0593', 'node.completed', 1794855821749, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (67108867, 'c77a455d7aed4811719a6fa2', 'node.started', 1794855821749, CAST('{"attempt":1,"nodeId":"b","typeId":"core.identity"}' AS BLOB), 'b', NULL, 1, 1, NULL);
INSERT INTO events VALUES (67108868, '6417a62935e783a3819f2324', 'node.completed', 1794855821749, CAST('{"nodeId":"b","outputs":{"secret":"[REDACTED:b.secret]","word":"[REDACTED:b.word]"}}' AS BLOB), 'b', NULL, 1, 1, NULL);
INSERT INTO events VALUES (67108869, 'c3d336bb381ac31e478f1aee', 'node.started', 1794855821749, CAST('{"attempt":1,"nodeId":"c","typeId":"core.identity"}' AS BLOB), 'c', NULL, 1, 1, NULL);
INSERT INTO events VALUES (67108870, '32333abd2a3ddccaf7ae2a4b', 'node.completed', 1794855821749, CAST('{"nodeId":"c","outputs":{"word":"[REDACTED:c.word]"}}' AS BLOB), 'c', NULL, 1, 1, NULL);
INSERT INTO events VALUES (67108871, '2e5dce15336f013a4a145c68', 'run.completed', 1794855821749, CAST('{"outputs":{"c":{"word":"[REDACTED:c.word]"}}}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (134217728, '4fa2edea204723294a5db8d9', 'run.started', 1794855821796, CAST(X'7b22696e70757473223a7b22776f7264223a22c3a96c616e20e280a820e29882227d2c226f776e6572223a7b227072696e636970616c223a226b65795f64353436323536373665356337323935222c2274656e616e74223a2261636d65227d2c22776f726b666c6f774964223a227374657073227d' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (134217729, 'a16e3ece67101754b3180806', 'node.started', 1794855821796, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (134217730, '7311a381244820fcb44efb2d', 'node.completed', 1794855821796, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (134217731, '025335b3b2dd241e50488718', 'node.started', 1794855821796, CAST('{"attempt":1,"nodeId":"b","typeId":"core.identity"}' AS BLOB), 'b', NULL, 1, 1, NULL);
INSERT INTO events VALUES (134217732, 'e7ceac57298d4ee5a013635b', 'node.completed', 1794855821796, CAST('{"nodeId":"b","outputs":{"secret":"[REDACTED:b.secret]","word":"[REDACTED:b.word]"}}' AS BLOB), 'b', NULL, 1, 1, NULL);
INSERT INTO events VALUES (134217733, '04b18cdd82fc737be437f7e6', 'node.started', 1794855821796, CAST('{"attempt":1,"nodeId":"c","typeId":"core.identity"}' AS BLOB), 'c', NULL, 1, 1, NULL);
INSERT INTO events VALUES (134217734, '36d67df641a5dd115f350901', 'node.completed', 1794855821796, CAST('{"nodeId":"c","outputs":{"word":"[REDACTED:c.word]"}}' AS BLOB), 'c', NULL, 1, 1, NULL);
INSERT INTO events VALUES (134217735, '9320d377b6fe7be662422bbc', 'run.completed', 1794855821796, CAST('{"outputs":{"c":{"word":"[REDACTED:c.word]"}}}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (201326592, '843b4c2a88bda62262afb80a', 'run.started', 1794855821841, CAST('{"inputs":{},"owner":{"principal":"key_d54625676e5c7295","tenant":"acme"},"workflowId":"fails"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (201326593, '2fcffe4703eeb76ec0f2e384', 'node.started', 1794855821841, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (201326594, '89612e38547909c45e363401', 'node.completed', 1794855821841, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (201326595, '6177dc06e38183e8f1028bde', 'node.started', 1794855821841, CAST('{"attempt":1,"nodeId":"b","typeId":"core.fail"}' AS BLOB), 'b', NULL, 1, 1, NULL);
INSERT INTO events VALUES (201326596, 'a4a8511951b68da548428a78', 'node.failed', 1794855821841, CAST('{"error":{"code":"conformance_test_failure","message":"Intentional conformance failure"},"nodeId":"b"}' AS BLOB), 'b', NULL, 1, 1, NULL);
INSERT INTO events VALUES (201326597, '5a515159e7613400300f6371', 'run.failed', 1794855821841, CAST('{"error":{"code":"conformance_test_failure","message":"Intentional conformance failure"},"failedNodeId":"b"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (268435456, 'fb437af5c44497330a3594d7', 'run.started', 1794855821875, CAST('{"inputs":{},"owner":{"principal":"key_d54625676e5c7295","tenant":"acme"},"workflowId":"delays"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (268435457, 'f527adac6c8ef8bab4f7aa6d', 'node.started', 1794855821875, CAST('{"attempt":1,"nodeId":"a","typeId":"core.identity"}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (268435458, 'b2674111fc6474661003ba99', 'node.completed', 1794855821875, CAST('{"nodeId":"a","outputs":{"secret":"[REDACTED:a.secret]"}}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (268435459, '0c5cd296dd640b6672a264a3', 'node.started', 1794855821875, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL);
INSERT INTO events VALUES (335544320, 'a5463726d62b7ab8f4bd19a5', 'run.started', 1794855821904, CAST('{"inputs":{},"owner":{"principal":"key_d54625676e5c7295","tenant":"acme"},"workflowId":"delays"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (335544321, '4f44f208bc52fa2a879c39e4', 'node.started', 1794855821904, CAST('{"attempt":1,"nodeId":"a","typeId":"core.identity"}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (335544322, '53105f449faf1ff457214df2', 'node.completed', 1794855821904, CAST('{"nodeId":"a","outputs":{"secret":"[REDACTED:a.secret]"}}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (335544323, '4cc5adeb651a4e17b0d23cd6', 'node.started', 1794855821904, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL);
INSERT INTO events VALUES (335544324, '0e13985f98a28620b36431e5', 'weftwork.run.cancel-requested', 1794855822494, CAST('{"reason":"changed my mind"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (335544325, '423239edd3e543b6bda05cbe', 'node.cancelled', 1794855822503, CAST('{"nodeId":"d"}' AS BLOB), 'd', NULL, 1, 1, NULL);
INSERT INTO events VALUES (335544326, 'd4741725ed042a81fa04c086', 'run.cancelled', 1794855822503, CAST('{"reason":"changed my mind"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (402653184, '4ab6d8da88f06acd83df8c00', 'run.started', 1794855821946, CAST('{"inputs":{},"owner":{"principal":"key_d54625676e5c7295","tenant":"acme"},"workflowId":"graph"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (402653185, 'e6093de12f85d4bbecdc167b', 'node.started', 1794855821946, CAST('{"attempt":1,"nodeId":"order","typeId":"core.identity"}' AS BLOB), 'order', NULL, 1, 1, NULL);
INSERT INTO events VALUES (402653186, '5a177e5bc27c823cbd8d17ab', 'node.completed', 1794855821946, CAST('{"nodeId":"order","outputs":{"price":120}}' AS BLOB), 'order', NULL, 1, 1, NULL);
INSERT INTO events VALUES (402653187, '831d76cb014358f30df3771b', 'node.started', 1794855821946, CAST('{"attempt":1,"nodeId":"ship","typeId":"core.delay"}' AS BLOB), 'ship', NULL, 1, 1, NULL);
INSERT INTO events VALUES (402653188, '34e8370c4cded160021b0d6e', 'node.started', 1794855821946, CAST('{"attempt":1,"nodeId":"tax","typeId":"core.transform"}' AS BLOB), 'tax', NULL, 1, 1, NULL);
INSERT INTO events VALUES (402653189, 'cda1459918c83ae839f515c4', 'node.completed', 1794855821946, CAST('{"nodeId":"tax","outputs":{"output":30}}' AS BLOB), 'tax', NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762048, '5a68edb1d954d2ab028a0554', 'run.started', 1794855821988, CAST('{"inputs":{},"owner":{"principal":"key_d54625676e5c7295","tenant":"acme"},"workflowId":"loop"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762049, '51d1726c67abd7d36d009753', 'node.started', 1794855821988, CAST('{"attempt":1,"nodeId":"head","typeId":"core.loop"}' AS BLOB), 'head', NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762050, '63dbf58bd9c3fd1f6d364a60', 'node.completed', 1794855821988, CAST('{"nodeId":"head","outputs":{"body":0,"iteration":0}}' AS BLOB), 'head', NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762051, 'c5db9c1c8f549815e4aec641', 'node.started', 1794855821988, CAST('{"attempt":1,"nodeId":"wait","typeId":"core.delay"}' AS BLOB), 'wait', NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762052, '8601694a9a6bcbe67269144d', 'node.completed', 1794855821997, CAST('{"nodeId":"wait","outputs":{}}' AS BLOB), 'wait', NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762053, 'ee7d3ece3317df37c14fec97', 'node.started', 1794855821997, CAST('{"attempt":1,"nodeId":"sum","typeId":"core.transform"}' AS BLOB), 'sum', NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762054, 'cd1d0a660ca3daa112cff8f6', 'node.completed', 1794855821997, CAST('{"nodeId":"sum","outputs":{"output":1}}' AS BLOB), 'sum', NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762055, '6e061775a854917bfde8dbab', 'node.started', 1794855821997, CAST('{"attempt":1,"nodeId":"keep","typeId":"core.setVariable"}' AS BLOB), 'keep', NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762056, 'a9d277ad07844cb5ee4eb824', 'variable.changed', 1794855821997, CAST('{"name":"n","next":1,"nodeId":"keep"}' AS BLOB), 'keep', NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762057, 'cdd04331a27a433a3adfcfa0', 'node.completed', 1794855821997, CAST('{"nodeId":"keep","outputs":{"output":1}}' AS BLOB), 'keep', NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762058, '04906aea63c26d8f12b83efb', 'node.started', 1794855821997, CAST('{"attempt":1,"nodeId":"head","typeId":"core.loop"}' AS BLOB), 'head', NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762059, '20809d1d2da42c6ebd8a32f3', 'node.completed', 1794855821997, CAST('{"nodeId":"head","outputs":{"body":1,"iteration":1}}' AS BLOB), 'head', NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762060, 'b5494d3f4e33205c2cf84453', 'node.started', 1794855821997, CAST('{"attempt":1,"nodeId":"wait","typeId":"core.delay"}' AS BLOB), 'wait', NULL, 1, 1, NULL);
INSERT INTO events VALUES (536870912, '027154f9a2820f632c38656e', 'run.started', 1794855822015, CAST('{"inputs":{},"owner":{"principal":"key_d54625676e5c7295","tenant":"acme"},"workflowId":"asks"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (536870913, '9946f36f2defcf32f375ed19', 'node.started', 1794855822015, CAST('{"attempt":1,"nodeId":"ask","typeId":"core.interrupt"}' AS BLOB), 'ask', NULL, 1, 1, NULL);
INSERT INTO events VALUES (536870914, '30ff48f9d02976fa2a42f728', 'interrupt.requested', 1794855822015, CAST('{"data":{"customKind":"supplier","payload":["north","south"]},"key":"ask","kind":"custom"}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1');
INSERT INTO events VALUES (536870915, 'a63648bc1d7f3b4f04f25f55', 'node.suspended', 1794855822015, CAST('{"interruptId":"ask.1","key":"ask","kind":"custom","nodeId":"ask"}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1');
INSERT INTO events VALUES (603979776, '60452588e623787540a31b66', 'run.started', 1794855822035, CAST('{"inputs":{},"owner":{"principal":"key_d54625676e5c7295","tenant":"acme"},"workflowId":"asks"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (603979777, '32514f531339b3905266b67f', 'node.started', 1794855822035, CAST('{"attempt":1,"nodeId":"ask","typeId":"core.interrupt"}' AS BLOB), 'ask', NULL, 1, 1, NULL);
INSERT INTO events VALUES (603979778, 'b80ffbf1980f0f44077f3f91', 'interrupt.requested', 1794855822035, CAST('{"data":{"customKind":"supplier","payload":["north","south"]},"key":"ask","kind":"custom"}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1');
INSERT INTO events VALUES (603979779, '245d23b13196093fb004c2dc', 'node.suspended', 1794855822035, CAST('{"interruptId":"ask.1","key":"ask","kind":"custom","nodeId":"ask"}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1');
INSERT INTO events VALUES (603979780, '824d8c1c4f5c8c7508daebec', 'interrupt.resolved', 1794855822514, CAST('{"interruptId":"ask.1","kind":"custom","nodeId":"ask","resolvedBy":"key_d54625676e5c7295","resumeValue":{"supplier":"north"}}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1');
INSERT INTO events VALUES (603979781, 'c955a099475687bbdb0e8c13', 'node.resumed', 1794855822514, CAST('{"interruptId":"ask.1","nodeId":"ask"}' AS BLOB), 'ask', NULL, 1, 1, NULL);
INSERT INTO events VALUES (603979782, '6453d902c74783ea4cef4bfe', 'node.completed', 1794855822514, CAST('{"nodeId":"ask","outputs":{"output":{"supplier":"north"}}}' AS BLOB), 'ask', NULL, 1, 1, NULL);
INSERT INTO events VALUES (603979783, 'f9e9f67d44e0f899c935edf9', 'node.started', 1794855822514, CAST('{"attempt":1,"nodeId":"keep","typeId":"core.artifact.emit"}' AS BLOB), 'keep', NULL, 1, 1, NULL);
INSERT INTO events VALUES (603979784, 'bc25b9c9a0046b1af7e5fa68', 'artifact.created', 1794855822514, CAST('{"artifactId":"keep","artifactType":"order","data":{"supplier":"north"},"nodeId":"keep","version":"1"}' AS BLOB), 'keep', NULL, 1, 1, NULL);
INSERT INTO events VALUES (603979785, 'e66a0adb44adfb628522be97', 'node.completed', 1794855822514, CAST('{"nodeId":"keep","outputs":{"artifactId":"keep","artifactType":"order","output":{"supplier":"north"}}}' AS BLOB), 'keep', NULL, 1, 1, NULL);
INSERT INTO events VALUES (603979786, '64e5c266883eada6a7a99f96', 'run.completed', 1794855822514, CAST('{"outputs":{"keep":{"artifactId":"keep","artifactType":"order","output":{"supplier":"north"}}}}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (671088640, '2e8281b031ff9295596efd00', 'run.started', 1794855822075, CAST('{"inputs":{},"owner":{"principal":"key_d54625676e5c7295","tenant":"acme"},"workflowId":"delays"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (671088641, '7ce857f70a338d7ef20b5bb1', 'node.started', 1794855822075, CAST('{"attempt":1,"nodeId":"a","typeId":"core.identity"}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (671088642, '5c10ceb4f89b4be5b66d3770', 'node.completed', 1794855822075, CAST('{"nodeId":"a","outputs":{"secret":"[REDACTED:a.secret]"}}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (671088643, '9ee081c4c5e44a315265460d', 'node.started', 1794855822075, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL);
INSERT INTO events VALUES (671088644, 'e002e9daf969be8da4eff569', 'weftwork.run.pause-requested', 1794855822532, CAST('{"drainPolicy":"drain-current-node"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (738197504, 'c13f55f975d0b18bb20c051b', 'run.started', 1794855822105, CAST('{"inputs":{},"owner":{"principal":"key_d54625676e5c7295","tenant":"acme"},"workflowId":"steps"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (738197505, 'b6743486dddbb71ca1314f1e', 'node.started', 1794855822105, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (738197506, 'b58df37d68d122def55da931', 'node.completed', 1794855822105, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (738197507, 'dbcb9703823b89d354cf166f', 'node.started', 1794855822105, CAST('{"attempt":1,"nodeId":"b","typeId":"core.identity"}' AS BLOB), 'b', NULL, 1, 1, NULL);
INSERT INTO events VALUES (738197508, '464dc49657a5be0e13deaeba', 'node.completed', 1794855822105, CAST('{"nodeId":"b","outputs":{"secret":"[REDACTED:b.secret]","word":"[REDACTED:b.word]"}}' AS BLOB), 'b', NULL, 1, 1, NULL);
INSERT INTO events VALUES (738197509, '92918bb66ec9b5641cb6be69', 'node.started', 1794855822105, CAST('{"attempt":1,"nodeId":"c","typeId":"core.identity"}' AS BLOB), 'c', NULL, 1, 1, NULL);
INSERT INTO events VALUES (738197510, '13921b4670678ac9e43accb3', 'node.completed', 1794855822105, CAST('{"nodeId":"c","outputs":{"word":"[REDACTED:c.word]"}}' AS BLOB), 'c', NULL, 1, 1, NULL);
INSERT INTO events VALUES (738197511, '31ee33bf48427f644807551d', 'run.completed', 1794855822105, CAST('{"outputs":{"c":{"word":"[REDACTED:c.word]"}}}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (872415232, 'd3e2a163ffa131a086412bd1', 'run.started', 1794855822179, CAST('{"inputs":{},"owner":{"principal":"key_d54625676e5c7295","tenant":"acme"},"workflowId":"list"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (872415233, 'daf5d7455becdc4f01c0bede', 'node.started', 1794855822179, CAST('{"attempt":1,"nodeId":"c","typeId":"core.channelWrite"}' AS BLOB), 'c', NULL, 1, 1, NULL);
INSERT INTO events VALUES (872415234, '0a699cd1f8ba4e5e28454840', 'channel.written', 1794855822179, CAST('{"channel":"log","nodeId":"c","reducer":"append","value":"begun","writtenAt":"2026-11-16T19:03:42.179Z"}' AS BLOB), 'c', NULL, 1, 1, NULL);
INSERT INTO events VALUES (872415235, 'eab588bf9f0068efaf588df8', 'node.completed', 1794855822179, CAST('{"nodeId":"c","outputs":{"output":"begun"}}' AS BLOB), 'c', NULL, 1, 1, NULL);
INSERT INTO events VALUES (872415236, 'aadea5a8f1e13efde595586a', 'node.started', 1794855822179, CAST('{"attempt":1,"nodeId":"m","typeId":"core.flow.map"}' AS BLOB), 'm', NULL, 1, 1, NULL);
INSERT INTO events VALUES (872415237, 'e3c9ed2173b86a54bb6f992f', 'weftwork.map.item', 1794855822190, CAST('{"index":0,"output":{}}' AS BLOB), 'm', NULL, 1, 1, NULL);
INSERT INTO events VALUES (872415238, '69fe660c0017db61310128b6', 'weftwork.map.item', 1794855822215, CAST('{"index":2,"output":{}}' AS BLOB), 'm', NULL, 1, 1, NULL);
INSERT INTO run_state VALUES (1, 'node', 'a', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (1, 'node', 'b', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (1, 'node', 'c', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (1, 'variable', 'secret', CAST('"[REDACTED:secret]"' AS BLOB));
INSERT INTO run_state VALUES (1, 'variable', 'word', CAST('"owl"' AS BLOB));
INSERT INTO run_state VALUES (2, 'node', 'a', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (2, 'node', 'b', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (2, 'node', 'c', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (2, 'variable', 'secret', CAST('"[REDACTED:secret]"' AS BLOB));
INSERT INTO run_state VALUES (2, 'variable', 'word', CAST('"[REDACTED:b.word]"' AS BLOB));
INSERT INTO run_state VALUES (3, 'node', 'a', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (3, 'node', 'b', CAST('{"attempt":1,"error":{"code":"conformance_test_failure","message":"Intentional conformance failure"},"status":"failed"}' AS BLOB));
INSERT INTO run_state VALUES (4, 'node', 'a', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (4, 'node', 'd', CAST('{"attempt":1,"status":"running"}' AS BLOB));
INSERT INTO run_state VALUES (4, 'variable', 'secret', CAST('"[REDACTED:secret]"' AS BLOB));
INSERT INTO run_state VALUES (5, 'node', 'a', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (5, 'node', 'd', CAST('{"attempt":1,"status":"cancelled"}' AS BLOB));
INSERT INTO run_state VALUES (5, 'variable', 'secret', CAST('"[REDACTED:secret]"' AS BLOB));
INSERT INTO run_state VALUES (6, 'node', 'order', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (6, 'node', 'ship', CAST('{"attempt":1,"status":"running"}' AS BLOB));
INSERT INTO run_state VALUES (6, 'node', 'tax', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (6, 'variable', 'price', CAST('120' AS BLOB));
INSERT INTO run_state VALUES (7, 'node', 'head', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (7, 'node', 'keep', CAST('{"status":"pending"}' AS BLOB));
INSERT INTO run_state VALUES (7, 'node', 'sum', CAST('{"status":"pending"}' AS BLOB));
INSERT INTO run_state VALUES (7, 'node', 'wait', CAST('{"attempt":1,"status":"running"}' AS BLOB));
INSERT INTO run_state VALUES (7, 'variable', 'n', CAST('1' AS BLOB));
INSERT INTO run_state VALUES (8, 'interrupt', 'ask.1', CAST('{"data":{"customKind":"supplier","payload":["north","south"]},"interruptId":"ask.1","key":"ask","kind":"custom","nodeId":"ask","requestedAt":"2026-11-16T19:03:42.015Z","status":"open"}' AS BLOB));
INSERT INTO run_state VALUES (8, 'node', 'ask', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (9, 'artifact', 'keep', CAST('{"artifactType":"order","nodeId":"keep","sequence":8,"version":1}' AS BLOB));
INSERT INTO run_state VALUES (9, 'interrupt', 'ask.1', CAST('{"interruptId":"ask.1","key":"ask","kind":"custom","nodeId":"ask","requestedAt":"2026-11-16T19:03:42.035Z","status":"resolved"}' AS BLOB));
INSERT INTO run_state VALUES (9, 'node', 'ask', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (9, 'node', 'keep', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (10, 'node', 'a', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (10, 'node', 'd', CAST('{"attempt":1,"status":"running"}' AS BLOB));
INSERT INTO run_state VALUES (10, 'variable', 'secret', CAST('"[REDACTED:secret]"' AS BLOB));
INSERT INTO run_state VALUES (11, 'node', 'a', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (11, 'node', 'b', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (11, 'node', 'c', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (11, 'variable', 'secret', CAST('"[REDACTED:secret]"' AS BLOB));
INSERT INTO run_state VALUES (11, 'variable', 'word', CAST('"owl"' AS BLOB));
INSERT INTO run_state VALUES (13, 'channel', 'log', CAST('["begun"]' AS BLOB));
INSERT INTO run_state VALUES (13, 'node', 'c', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (13, 'node', 'm', CAST('{"attempt":1,"status":"running"}' AS BLOB));
INSERT INTO hidden VALUES (1, 1, 4, '/outputs/secret', CAST('"xxxx"' AS BLOB));
INSERT INTO hidden VALUES (2, 1, 4, '/outputs/word', CAST('"xxx"' AS BLOB));
INSERT INTO hidden VALUES (3, 1, 6, '/outputs/word', CAST('"xxx"' AS BLOB));
INSERT INTO hidden VALUES (4, 1, 7, '/outputs/c/word', CAST('"xxx"' AS BLOB));
INSERT INTO hidden VALUES (5, 2, 4, '/outputs/secret', CAST('"xxxx"' AS BLOB));
INSERT INTO hidden VALUES (6, 2, 4, '/outputs/word', CAST('"xxxxxxxx"' AS BLOB));
INSERT INTO hidden VALUES (7, 2, 6, '/outputs/word', CAST('"xxxxxxxx"' AS BLOB));
INSERT INTO hidden VALUES (8, 2, 7, '/outputs/c/word', CAST('"xxxxxxxx"' AS BLOB));
INSERT INTO hidden VALUES (9, 4, 2, '/outputs/secret', CAST('"xxxx"' AS BLOB));
INSERT INTO hidden VALUES (10, 5, 2, '/outputs/secret', CAST('"xxxx"' AS BLOB));
INSERT INTO hidden VALUES (11, 10, 2, '/outputs/secret', CAST('"xxxx"' AS BLOB));
INSERT INTO hidden VALUES (12, 11, 4, '/outputs/secret', CAST('"xxxx"' AS BLOB));
INSERT INTO hidden VALUES (13, 11, 4, '/outputs/word', CAST('"xxx"' AS BLOB));
INSERT INTO hidden VALUES (14, 11, 6, '/outputs/word', CAST('"xxx"' AS BLOB));
INSERT INTO hidden VALUES (15, 11, 7, '/outputs/c/word', CAST('"xxx"' AS BLOB));
INSERT INTO run_tags VALUES ('live:acme', 'annotate', 11);
INSERT INTO run_tags VALUES ('live:acme', 'answer', 9);
INSERT INTO run_tags VALUES ('live:acme', 'cancel', 5);
INSERT INTO run_tags VALUES ('live:acme', 'pause', 10);
INSERT INTO run_tags VALUES ('live:acme', 'plain', 1);
INSERT INTO run_tags VALUES ('live:acme', 'plain', 2);
INSERT INTO run_tags VALUES ('live:acme', 'plain', 3);
INSERT INTO run_tags VALUES ('live:acme', 'plain', 4);
INSERT INTO run_tags VALUES ('live:acme', 'plain', 6);
INSERT INTO run_tags VALUES ('live:acme', 'plain', 7);
INSERT INTO run_tags VALUES ('live:acme', 'plain', 8);
INSERT INTO run_tags VALUES ('live:acme', 'plain', 13);
INSERT INTO run_tags VALUES ('live:acme', 'recorded', 1);
INSERT INTO run_tags VALUES ('live:acme', 'recorded', 2);
INSERT INTO run_tags VALUES ('live:acme', 'recorded', 3);
INSERT INTO run_tags VALUES ('live:acme', 'recorded', 4);
INSERT INTO run_tags VALUES ('live:acme', 'recorded', 5);
INSERT INTO run_tags VALUES ('live:acme', 'recorded', 6);
INSERT INTO run_tags VALUES ('live:acme', 'recorded', 7);
INSERT INTO run_tags VALUES ('live:acme', 'recorded', 8);
INSERT INTO run_tags VALUES ('live:acme', 'recorded', 9);
INSERT INTO run_tags VALUES ('live:acme', 'recorded', 10);
INSERT INTO run_tags VALUES ('live:acme', 'recorded', 11);
INSERT INTO run_tags VALUES ('live:acme', 'recorded', 13);
INSERT INTO idempotency VALUES (1, 'live:acme', '61a985f870cc6e41f93abf2c7b2511e14c15b86e671537a8792ca3271a428477', 'bea331ee4f5f0b1a569ecda7bbe1e96ce82eba15e24f4b1fa0a4322da4b1646b', CAST('{"run_id":"01m7jvwrdbpgf917ypt39y6xg1","status":"pending","replayed":false}' AS BLOB), 1794855821739);
INSERT INTO idempotency VALUES (2, 'live:acme', 'dfce0f4614e6373d7ac9bbf429dd89680e0127c208fba439cfe3ccd5d23c98ec', '410d8cc13960308047f90d0c1dec055eb74b241f8998df1dfd07cea4c11c40ee', CAST('{"run_id":"01m7jvwretnqfvz3211b4zja6s","status":"pending","replayed":false}' AS BLOB), 1794855821786);
INSERT INTO idempotency VALUES (3, 'live:acme', '8e3ec313a4420d425f5a0a6547b4f49e9c2fd2f2101c752a6982d28eed7ed7b2', '7d41ae182720cd4e7f96fe02996dd1311b613fdf6b743aa121da166959dbde3e', CAST('{"run_id":"01m7jvwrgadzzga5rhnsp6dvjf","status":"pending","replayed":false}' AS BLOB), 1794855821834);
INSERT INTO idempotency VALUES (4, 'live:acme', '2dd923e5d6c5b95437f27bcbbb78858e459ca89f8a8cc26c61a0977dda6e5535', '294cb31a28ff3950c8e69947a62e65264bf09459769432db303ca6457b5823e9', CAST('{"run_id":"01m7jvwrh75vhgcbn3kj7q4mhz","status":"pending","replayed":false}' AS BLOB), 1794855821863);
INSERT INTO idempotency VALUES (5, 'live:acme', '19f12c22be65e06a90e64b855f7419dcf205317475868848cc1f69ebf360f32a', '4e9585cdffde56256d715dbefdbecadda83655d126fc4191b4c740e9dde2820d', CAST('{"run_id":"01m7jvwrjg9kf3w4cx3pj7wa3n","status":"pending","replayed":false}' AS BLOB), 1794855821904);
INSERT INTO idempotency VALUES (6, 'live:acme', '772796833478311126761000a7046b58c32c54f1819dd5ad95325141a1a30d68', '9891ba3762f4fc4c919d2dbb38caf54bc387179056ba9d75278cc2b6d5afa10a', CAST('{"run_id":"01m7jvwrkk6jayvpe2664cafg4","status":"pending","replayed":false}' AS BLOB), 1794855821939);
INSERT INTO idempotency VALUES (7, 'live:acme', '3ecf33d6f95f7eb106db493feab3b63e4b156acdcdf8f06423ed18e0a02423d4', '79d5fd2f04bd6d1b271dd9ca3cbd06d794f9a3d82823d341dbd4a4d5034dac3d', CAST('{"run_id":"01m7jvwrmmg7tzvr4061jr4ydd","status":"pending","replayed":false}' AS BLOB), 1794855821972);
INSERT INTO idempotency VALUES (8, 'live:acme', 'ec4fb0f6dc0d59a0bc614cf323f7bb615b07d925391457bbd1744f1f52d118fa', '46afdfb8fd29952388c0253cd020631707a78ccdccadbac2cbfe985181f30a15', CAST('{"run_id":"01m7jvwrnryj008t1njjbh0e6w","status":"pending","replayed":false}' AS BLOB), 1794855822008);
INSERT INTO idempotency VALUES (9, 'live:acme', '37770f8c8236ec98ff069dbbdb394cce6833da7ac70f59ea0727fc0958513a2f', '54acda9ff1f00697248e0d3471456d58ee39513ec586d0393e926d65d24d5d8d', CAST('{"run_id":"01m7jvwrpksnes56frc6phgwps","status":"pending","replayed":false}' AS BLOB), 1794855822035);
INSERT INTO idempotency VALUES (10, 'live:acme', '390f95671cbd0f40167f192b5e8dcaf85b72e2c9a97567c1b2e821f243683d39', '6871360561500a4b03b2d7a58ecb28aabd4b82e27a8769e01f700ad0984697be', CAST('{"run_id":"01m7jvwrq8rpy9ct4sks11c04g","status":"pending","replayed":false}' AS BLOB), 1794855822056);
INSERT INTO idempotency VALUES (11, 'live:acme', 'fb1509fb9996b64704badca968bf731141f96b06ac5201dec96102e7fc089286', '59d219a28509ec722cdb5013b3ec52fc3308195ff17bc513368e7bf1820eb454', CAST('{"run_id":"01m7jvwrrrmemas1xrfw543qkv","status":"pending","replayed":false}' AS BLOB), 1794855822104);
INSERT INTO idempotency VALUES (12, 'live:acme', '1b934e79250a9827af3e2def4b5ae929c57ff2622280e40d2338ad859d1cfbab', 'de11a5bb1f69003541ca0ad959775fdfaf60dcf962d962cefe4fb52f05ecdacd', CAST('{"run_id":"01m7jvwrsmf4ds1kwpbh2vazy4","status":"pending","replayed":false}' AS BLOB), 1794855822132);
INSERT INTO idempotency VALUES (13, 'live:acme', '0633fc297d43e48f3b239973ad348c2e44ebce32a392a3cde7f85d4279f34f15', '80f780932b689c0e0cfc6cad6d1082d02c1bb0eda0a22a371397fc8fc9ba1a6e', CAST('{"run_id":"01m7jvwrtt84gfg3mgb1p0x3w5","status":"pending","replayed":false}' AS BLOB), 1794855822170);
INSERT INTO definitions VALUES ('1d2a1ee644677f92561014341fc1db3f86972df42f1b3df3ed081fe2a577242d', CAST('{"channels":{"log":{"reducer":"append","schema":{"type":"array"}}},"edges":[{"id":"e0","sourceNodeId":"c","targetNodeId":"m"},{"id":"e1","sourceNodeId":"m","targetNodeId":"out"}],"id":"list","metadata":{},"name":"list","nodes":[{"config":{"channelName":"log"},"id":"c","inputs":{"value":{"type":"static","value":"begun"}},"name":"c","position":{"x":0,"y":0},"typeId":"core.channelWrite"},{"config":{"body":{"inputs":{"delayMs":{"expression":"item","type":"expression"}},"typeId":"core.delay"},"concurrency":2},"id":"m","inputs":{"items":{"type":"static","value":[1,4000,1]}},"name":"m","position":{"x":0,"y":0},"typeId":"core.flow.map"},{"config":{"expression":"nodes.m.outputs.count"},"id":"out","inputs":{},"name":"out","position":{"x":0,"y":0},"typeId":"core.transform"}],"settings":{},"triggers":[{"enabled":true,"id":"manual","type":"manual"}],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('210403c04c63e6d326493908fce767f01a257d7e9887af7c9784e8f1ef85b1b1', CAST('{"edges":[{"id":"e0","sourceNodeId":"ask","targetNodeId":"keep"}],"id":"asks","metadata":{},"name":"asks","nodes":[{"config":{"data":{"customKind":"supplier","payload":["north","south"]},"kind":"custom"},"id":"ask","inputs":{},"name":"ask","position":{"x":0,"y":0},"typeId":"core.interrupt"},{"config":{"artifactType":"order"},"id":"keep","inputs":{"data":{"nodeId":"ask","outputKey":"output","type":"connection"}},"name":"keep","position":{"x":0,"y":0},"typeId":"core.artifact.emit"}],"settings":{},"triggers":[{"enabled":true,"id":"manual","type":"manual"}],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('2104b2443464777c07d85868e1802c0005d2c4770e716a133ab045c91cb47eeb', CAST('{"edges":[{"id":"e0","sourceNodeId":"a","targetNodeId":"d"},{"id":"e1","sourceNodeId":"d","targetNodeId":"c"}],"id":"delays","metadata":{},"name":"delays","nodes":[{"config":{},"id":"a","inputs":{"secret":{"type":"variable","variableName":"secret"}},"name":"a","position":{"x":0,"y":0},"typeId":"core.identity"},{"config":{},"id":"d","inputs":{"delayMs":{"type":"static","value":60000}},"name":"d","position":{"x":0,"y":0},"typeId":"core.delay"},{"config":{},"id":"c","inputs":{"secret":{"nodeId":"a","outputKey":"secret","type":"connection"}},"name":"c","position":{"x":0,"y":0},"typeId":"core.identity"}],"settings":{},"triggers":[{"enabled":true,"id":"manual","type":"manual"}],"variables":[{"defaultValue":"hush","name":"secret","sensitive":true,"type":"string"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('55fa38846b98bac0d4277e240e539eecfaa2e1e9e0c6ff70fd268c29c761cbef', CAST('{"edges":[{"id":"e0","sourceNodeId":"head","sourceOutput":"body","targetNodeId":"wait"},{"id":"e1","sourceNodeId":"wait","targetNodeId":"sum"},{"id":"e2","sourceNodeId":"sum","targetNodeId":"keep"},{"id":"e3","sourceNodeId":"keep","targetNodeId":"head"},{"id":"e4","sourceNodeId":"head","sourceOutput":"done","targetNodeId":"out"}],"id":"loop","metadata":{},"name":"loop","nodes":[{"config":{"times":3},"id":"head","inputs":{},"name":"head","position":{"x":0,"y":0},"typeId":"core.loop"},{"config":{},"id":"wait","inputs":{"delayMs":{"expression":"variables.n == 1.0 ? 60000.0 : 1.0","type":"expression"}},"name":"wait","position":{"x":0,"y":0},"typeId":"core.delay"},{"config":{"expression":"variables.n + 1.0"},"id":"sum","inputs":{},"name":"sum","position":{"x":0,"y":0},"typeId":"core.transform"},{"config":{"name":"n"},"id":"keep","inputs":{"value":{"nodeId":"sum","outputKey":"output","type":"connection"}},"name":"keep","position":{"x":0,"y":0},"typeId":"core.setVariable"},{"config":{"template":"{{string(variables.n)}} rounds"},"id":"out","inputs":{},"name":"out","outputRole":"primary","position":{"x":0,"y":0},"typeId":"core.template"}],"settings":{"maxLoopbackIterations":10},"triggers":[{"enabled":true,"id":"manual","type":"manual"}],"variables":[{"defaultValue":0,"name":"n","type":"number"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('6aa4e5ff4ef8090e3ae2db68089f63c27d179f826e33286017859a5f668d2376', CAST('{"edges":[{"id":"e0","sourceNodeId":"a","targetNodeId":"b"}],"id":"fails","metadata":{},"name":"fails","nodes":[{"config":{},"id":"a","inputs":{},"name":"a","position":{"x":0,"y":0},"typeId":"core.noop"},{"config":{},"id":"b","inputs":{},"name":"b","position":{"x":0,"y":0},"typeId":"core.fail"}],"settings":{},"triggers":[{"enabled":true,"id":"manual","type":"manual"}],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('ab91191d59ff8f9734d0ff7341ee3569b6ad9ff6ca96631810906aed3b0f99fd', CAST('{"edges":[{"id":"e0","sourceNodeId":"order","targetNodeId":"tax"},{"id":"e1","sourceNodeId":"order","targetNodeId":"ship"},{"id":"e2","sourceNodeId":"tax","targetNodeId":"parts"},{"id":"e3","sourceNodeId":"ship","targetNodeId":"parts"},{"id":"e4","sourceNodeId":"parts","targetNodeId":"total"}],"id":"graph","metadata":{},"name":"graph","nodes":[{"config":{},"id":"order","inputs":{"price":{"type":"variable","variableName":"price"}},"name":"order","position":{"x":0,"y":0},"typeId":"core.identity"},{"config":{"expression":"nodes.order.outputs.price * 0.25"},"id":"tax","inputs":{},"name":"tax","position":{"x":0,"y":0},"typeId":"core.transform"},{"config":{},"id":"ship","inputs":{"delayMs":{"type":"static","value":60000}},"name":"ship","position":{"x":0,"y":0},"typeId":"core.delay"},{"config":{"mode":"object"},"id":"parts","inputs":{},"name":"parts","position":{"x":0,"y":0},"typeId":"core.merge"},{"config":{"expression":"nodes.order.outputs.price + nodes.parts.outputs.output.tax"},"id":"total","inputs":{},"name":"total","outputRole":"primary","position":{"x":0,"y":0},"typeId":"core.transform"}],"settings":{},"triggers":[{"enabled":true,"id":"manual","type":"manual"}],"variables":[{"defaultValue":120,"name":"price","type":"number"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('f135f29a3129ebc717f3388f8c37bc9dd7911ea39123eaed282626c4376ac89c', CAST('{"edges":[{"id":"e0","sourceNodeId":"a","targetNodeId":"b"},{"id":"e1","sourceNodeId":"b","targetNodeId":"c"}],"id":"steps","metadata":{},"name":"steps","nodes":[{"config":{},"id":"a","inputs":{},"name":"a","position":{"x":0,"y":0},"typeId":"core.noop"},{"config":{},"id":"b","inputs":{"secret":{"type":"variable","variableName":"secret"},"word":{"type":"variable","variableName":"word"}},"name":"b","position":{"x":0,"y":0},"typeId":"core.identity"},{"config":{},"id":"c","inputs":{"word":{"nodeId":"b","outputKey":"word","type":"connection"}},"name":"c","outputRole":"primary","position":{"x":0,"y":0},"typeId":"core.identity"}],"settings":{},"triggers":[{"enabled":true,"id":"manual","type":"manual"}],"variables":[{"defaultValue":"owl","name":"word","type":"string"},{"defaultValue":"hush","name":"secret","sensitive":true,"type":"string"}],"version":"1.0"}' AS BLOB));
INSERT INTO deleted_runs VALUES (12, 'live:acme', '01m7jvwrsmf4ds1kwpbh2vazy4', 1794855822618, 1);
INSERT INTO annotations VALUES (1, 11, 'ce00b948c2df3ddfa0fd1f1c', CAST('{"annotationId":"ce00b948c2df3ddfa0fd1f1c","target":{"runId":"01m7jvwrrrmemas1xrfw543qkv"},"signal":{"kind":"rating","rating":4},"actor":{"principalRef":"key_d54625676e5c7295"},"createdAt":"2026-11-16T19:03:42.555Z","note":"ok"}' AS BLOB));
CREATE INDEX runs_by_status ON runs (partition, status, run_no);
CREATE INDEX runs_by_workflow ON runs (partition, workflow_id, status, run_no);
CREATE INDEX runs_live ON runs (run_no) WHERE completed_at IS NULL;
CREATE INDEX runs_live_in_scope ON runs (partition, scope_id, run_no) WHERE completed_at IS NULL;
CREATE INDEX hidden_by_run ON hidden (run_no, sequence);
CREATE INDEX idempotency_by_age ON idempotency (created_at);
CREATE UNIQUE INDEX workflows_current ON workflows (tenant, workflow_id) WHERE current = 1;
CREATE INDEX workflows_by_age ON workflows (tenant, workflow_id);
CREATE INDEX runs_ended ON runs (partition, completed_at) WHERE completed_at IS NOT NULL;
CREATE INDEX deleted_by_id ON deleted_runs (partition, run_id, run_no);
CREATE INDEX deleted_unpurged ON deleted_runs (run_no) WHERE purged = 0;
CREATE INDEX deleted_by_age ON deleted_runs (deleted_at) WHERE purged = 1;
CREATE INDEX annotations_by_run ON annotations (run_no, annotation_no);
CREATE UNIQUE INDEX annotations_by_id ON annotations (run_no, annotation_id);
COMMIT;
