PRAGMA user_version = 7;
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
  outputs BLOB, parked INTEGER NOT NULL DEFAULT 0, wake_at INTEGER,
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
CREATE TABLE open_interrupts (
  run_no INTEGER NOT NULL,
  interrupt_id TEXT NOT NULL,
  partition TEXT NOT NULL,
  run_id TEXT NOT NULL,
  workflow_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  node_id TEXT NOT NULL,
  requested_at INTEGER NOT NULL,
  due INTEGER,
  PRIMARY KEY (run_no, interrupt_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE signing_keys (
  key_no INTEGER PRIMARY KEY,
  kid TEXT NOT NULL UNIQUE,
  secret BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  retired_at INTEGER
) STRICT;
INSERT INTO runs VALUES (1, 'live:acme', '01m7jvws8bfq3xjw47h1rfk83h', 'steps', NULL, 'completed', 7, 1794855822613, 1794855822613, NULL, 3, NULL, CAST('{"c":{"word":"[REDACTED:c.word]"}}' AS BLOB), 0, NULL);
INSERT INTO runs VALUES (2, 'live:acme', '01m7jvws9c2cx3g4qjxxjpnzp7', 'steps', NULL, 'completed', 7, 1794855822640, 1794855822640, NULL, 3, NULL, CAST('{"c":{"word":"[REDACTED:c.word]"}}' AS BLOB), 0, NULL);
INSERT INTO runs VALUES (3, 'live:acme', '01m7jvwsa83jzcqqac6tv5x9a3', 'fails', NULL, 'failed', 5, 1794855822669, 1794855822669, NULL, 2, CAST('{"code":"conformance_test_failure","message":"Intentional conformance failure"}' AS BLOB), NULL, 0, NULL);
INSERT INTO runs VALUES (4, 'live:acme', '01m7jvwsb1kb840rdv8vdpa1jv', 'delays', NULL, 'running', 3, 1794855822693, NULL, 'd', 2, NULL, NULL, 0, NULL);
INSERT INTO runs VALUES (5, 'live:acme', '01m7jvwsbcdhsrn19ej6rpxxp3', 'delays', NULL, 'cancelled', 6, 1794855822705, 1794855823405, NULL, 2, NULL, NULL, 0, NULL);
INSERT INTO runs VALUES (6, 'live:acme', '01m7jvwsc7wqmrrr7fwrd7epew', 'graph', NULL, 'running', 5, 1794855822733, NULL, 'ship', 3, NULL, NULL, 0, NULL);
INSERT INTO runs VALUES (7, 'live:acme', '01m7jvwsd2vd0sm3kys3d5b0a5', 'loop', NULL, 'running', 12, 1794855822757, NULL, 'wait', 6, NULL, NULL, 0, NULL);
INSERT INTO runs VALUES (8, 'live:acme', '01m7jvwsdrns66mj1dqzws7y3s', 'asks', NULL, 'waiting-input', 3, 1794855822783, NULL, 'ask', 1, NULL, NULL, 1, NULL);
INSERT INTO runs VALUES (9, 'live:acme', '01m7jvwsebc0bzs618mj8hfba3', 'asks', NULL, 'completed', 10, 1794855822799, 1794855823429, NULL, 2, NULL, CAST('{"keep":{"artifactId":"keep","artifactType":"order","output":{"supplier":"north"}}}' AS BLOB), 0, NULL);
INSERT INTO runs VALUES (10, 'live:acme', '01m7jvwsf3sd448zf0583gtqer', 'delays', NULL, 'running', 4, 1794855822820, NULL, 'd', 2, NULL, NULL, 0, NULL);
INSERT INTO runs VALUES (11, 'live:acme', '01m7jvwsfpetejt4v3fty4aw8r', 'steps', NULL, 'completed', 7, 1794855822851, 1794855822851, NULL, 3, NULL, CAST('{"c":{"word":"[REDACTED:c.word]"}}' AS BLOB), 0, NULL);
INSERT INTO runs VALUES (13, 'live:acme', '01m7jvwshk588682adt7wdy12a', 'approval', NULL, 'waiting-approval', 4, 1794855822900, NULL, 'gate', 1, NULL, NULL, 1, 1794942222900);
INSERT INTO runs VALUES (14, 'live:acme', '01m7jvwsjgfepw3bb59cqwsv5g', 'approval', NULL, 'completed', 12, 1794855822928, 1794855823600, NULL, 2, NULL, CAST('{"paid":{"output":"a chair is paid: 100"}}' AS BLOB), 0, NULL);
INSERT INTO runs VALUES (15, 'live:acme', '01m7jvwsk7e77f365ga2dgrx24', 'approval', NULL, 'completed', 12, 1794855822952, 1794855823613, NULL, 2, NULL, CAST('{"kept":{"output":"a chair is not paid"}}' AS BLOB), 0, NULL);
INSERT INTO runs VALUES (16, 'live:acme', '01m7jvwskrs4vtxy0yjx24fvxz', 'quorum', NULL, 'waiting-approval', 5, 1794855822971, NULL, 'gate', 1, NULL, NULL, 1, NULL);
INSERT INTO runs VALUES (17, 'live:acme', '01m7jvwsmrj9w7xpb7f0d7by4e', 'event', NULL, 'waiting-external', 3, 1794855823004, NULL, 'wait', 1, NULL, NULL, 1, 1794859423004);
INSERT INTO runs VALUES (18, 'live:acme', '01m7jvwsn5pcge1nc31sym82e5', 'form', NULL, 'waiting-input', 4, 1794855823014, NULL, 'ask', 1, NULL, NULL, 1, 1794942223014);
INSERT INTO runs VALUES (19, 'live:acme', '01m7jvwsnvwqaeycbmybb2ec5e', 'talks', NULL, 'waiting-approval', 6, 1794855823040, NULL, 't', 1, NULL, NULL, 1, NULL);
INSERT INTO runs VALUES (20, 'live:acme', '01m7jvwspdpe3dsc4bseky55xx', 'list', NULL, 'running', 6, 1794855823066, NULL, 'm', 2, NULL, NULL, 0, NULL);
INSERT INTO run_headers VALUES (1, CAST('{"run_id":"01m7jvws8bfq3xjw47h1rfk83h","partition":"live:acme","owner":{"tenant":"acme","principal":"key_f621d5d49a226755"},"workflow_id":"steps","definition":"f135f29a3129ebc717f3388f8c37bc9dd7911ea39123eaed282626c4376ac89c","created_at":1794855822603,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (2, CAST(X'7b2272756e5f6964223a2230316d376a7677733963326378336734716a78786a706e7a7037222c22706172746974696f6e223a226c6976653a61636d65222c226f776e6572223a7b2274656e616e74223a2261636d65222c227072696e636970616c223a226b65795f66363231643564343961323236373535227d2c22776f726b666c6f775f6964223a227374657073222c22646566696e6974696f6e223a2266313335663239613331323965626337313766333338386638633337626339646437393131656133393132336561656432383236323663343337366163383963222c22637265617465645f6174223a313739343835353832323633362c22696e70757473223a7b22776f7264223a22c3a96c616e20e280a820e29882227d2c2274616773223a5b227265636f72646564222c22706c61696e225d7d' AS BLOB));
INSERT INTO run_headers VALUES (3, CAST('{"run_id":"01m7jvwsa83jzcqqac6tv5x9a3","partition":"live:acme","owner":{"tenant":"acme","principal":"key_f621d5d49a226755"},"workflow_id":"fails","definition":"6aa4e5ff4ef8090e3ae2db68089f63c27d179f826e33286017859a5f668d2376","created_at":1794855822664,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (4, CAST('{"run_id":"01m7jvwsb1kb840rdv8vdpa1jv","partition":"live:acme","owner":{"tenant":"acme","principal":"key_f621d5d49a226755"},"workflow_id":"delays","definition":"2104b2443464777c07d85868e1802c0005d2c4770e716a133ab045c91cb47eeb","created_at":1794855822689,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (5, CAST('{"run_id":"01m7jvwsbcdhsrn19ej6rpxxp3","partition":"live:acme","owner":{"tenant":"acme","principal":"key_f621d5d49a226755"},"workflow_id":"delays","definition":"2104b2443464777c07d85868e1802c0005d2c4770e716a133ab045c91cb47eeb","created_at":1794855822700,"tags":["recorded","cancel"]}' AS BLOB));
INSERT INTO run_headers VALUES (6, CAST('{"run_id":"01m7jvwsc7wqmrrr7fwrd7epew","partition":"live:acme","owner":{"tenant":"acme","principal":"key_f621d5d49a226755"},"workflow_id":"graph","definition":"ab91191d59ff8f9734d0ff7341ee3569b6ad9ff6ca96631810906aed3b0f99fd","created_at":1794855822727,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (7, CAST('{"run_id":"01m7jvwsd2vd0sm3kys3d5b0a5","partition":"live:acme","owner":{"tenant":"acme","principal":"key_f621d5d49a226755"},"workflow_id":"loop","definition":"55fa38846b98bac0d4277e240e539eecfaa2e1e9e0c6ff70fd268c29c761cbef","created_at":1794855822754,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (8, CAST('{"run_id":"01m7jvwsdrns66mj1dqzws7y3s","partition":"live:acme","owner":{"tenant":"acme","principal":"key_f621d5d49a226755"},"workflow_id":"asks","definition":"210403c04c63e6d326493908fce767f01a257d7e9887af7c9784e8f1ef85b1b1","created_at":1794855822776,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (9, CAST('{"run_id":"01m7jvwsebc0bzs618mj8hfba3","partition":"live:acme","owner":{"tenant":"acme","principal":"key_f621d5d49a226755"},"workflow_id":"asks","definition":"210403c04c63e6d326493908fce767f01a257d7e9887af7c9784e8f1ef85b1b1","created_at":1794855822795,"tags":["recorded","answer"]}' AS BLOB));
INSERT INTO run_headers VALUES (10, CAST('{"run_id":"01m7jvwsf3sd448zf0583gtqer","partition":"live:acme","owner":{"tenant":"acme","principal":"key_f621d5d49a226755"},"workflow_id":"delays","definition":"2104b2443464777c07d85868e1802c0005d2c4770e716a133ab045c91cb47eeb","created_at":1794855822819,"tags":["recorded","pause"]}' AS BLOB));
INSERT INTO run_headers VALUES (11, CAST('{"run_id":"01m7jvwsfpetejt4v3fty4aw8r","partition":"live:acme","owner":{"tenant":"acme","principal":"key_f621d5d49a226755"},"workflow_id":"steps","definition":"f135f29a3129ebc717f3388f8c37bc9dd7911ea39123eaed282626c4376ac89c","created_at":1794855822838,"tags":["recorded","annotate"]}' AS BLOB));
INSERT INTO run_headers VALUES (13, CAST('{"run_id":"01m7jvwshk588682adt7wdy12a","partition":"live:acme","owner":{"tenant":"acme","principal":"key_f621d5d49a226755"},"workflow_id":"approval","definition":"bacdd63a00f3c50e359a39db4fe7e8ff55b87b9799706626ad70cd5946790078","created_at":1794855822899,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (14, CAST('{"run_id":"01m7jvwsjgfepw3bb59cqwsv5g","partition":"live:acme","owner":{"tenant":"acme","principal":"key_f621d5d49a226755"},"workflow_id":"approval","definition":"bacdd63a00f3c50e359a39db4fe7e8ff55b87b9799706626ad70cd5946790078","created_at":1794855822928,"tags":["recorded","accept"]}' AS BLOB));
INSERT INTO run_headers VALUES (15, CAST('{"run_id":"01m7jvwsk7e77f365ga2dgrx24","partition":"live:acme","owner":{"tenant":"acme","principal":"key_f621d5d49a226755"},"workflow_id":"approval","definition":"bacdd63a00f3c50e359a39db4fe7e8ff55b87b9799706626ad70cd5946790078","created_at":1794855822951,"tags":["recorded","reject"]}' AS BLOB));
INSERT INTO run_headers VALUES (16, CAST('{"run_id":"01m7jvwskrs4vtxy0yjx24fvxz","partition":"live:acme","owner":{"tenant":"acme","principal":"key_f621d5d49a226755"},"workflow_id":"quorum","definition":"66389366a5ab12a4055a83795db1e08c233a4a707cd2a41c85c2113722be98c8","created_at":1794855822968,"tags":["recorded","vote"]}' AS BLOB));
INSERT INTO run_headers VALUES (17, CAST('{"run_id":"01m7jvwsmrj9w7xpb7f0d7by4e","partition":"live:acme","owner":{"tenant":"acme","principal":"key_f621d5d49a226755"},"workflow_id":"event","definition":"e667f69a7a9e970bb9291b13ab7a59aa465609b69723478d85f8448f45658e5f","created_at":1794855823000,"inputs":{"orderId":"o-1"},"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (18, CAST('{"run_id":"01m7jvwsn5pcge1nc31sym82e5","partition":"live:acme","owner":{"tenant":"acme","principal":"key_f621d5d49a226755"},"workflow_id":"form","definition":"df9219a1cca3ff383a253b781b9c78879cdbee9f787cace1165ce0dc2f79e4b6","created_at":1794855823013,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (19, CAST('{"run_id":"01m7jvwsnvwqaeycbmybb2ec5e","partition":"live:acme","owner":{"tenant":"acme","principal":"key_f621d5d49a226755"},"workflow_id":"talks","definition":"14dbfc7eb701b74aa49048323c0cb93d7ebde6a792f6d4fa618afe9b7d669aa5","created_at":1794855823035,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (20, CAST('{"run_id":"01m7jvwspdpe3dsc4bseky55xx","partition":"live:acme","owner":{"tenant":"acme","principal":"key_f621d5d49a226755"},"workflow_id":"list","definition":"1d2a1ee644677f92561014341fc1db3f86972df42f1b3df3ed081fe2a577242d","created_at":1794855823053,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO events VALUES (67108864, 'ec9329cc6c84dadf9da2215d', 'run.started', 1794855822613, CAST('{"inputs":{},"owner":{"principal":"key_f621d5d49a226755","tenant":"acme"},"workflowId":"steps"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (67108865, 'e754aabcf0275928e2c5a0cf', 'node.started', 1794855822613, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (67108866, '62971d28324f1de1fa1bda69', 'node.completed', 1794855822613, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (67108867, '1fdc50760f1c2b4db1f9e121', 'node.started', 1794855822613, CAST('{"attempt":1,"nodeId":"b","typeId":"core.identity"}' AS BLOB), 'b', NULL, 1, 1, NULL);
INSERT INTO events VALUES (67108868, 'eb5fe4e567dc3cb1c80b3c01', 'node.completed', 1794855822613, CAST('{"nodeId":"b","outputs":{"secret":"[REDACTED:b.secret]","word":"[REDACTED:b.word]"}}' AS BLOB), 'b', NULL, 1, 1, NULL);
INSERT INTO events VALUES (67108869, 'db07b531e5b0ecacf1e5e1d8', 'node.started', 1794855822613, CAST('{"attempt":1,"nodeId":"c","typeId":"core.identity"}' AS BLOB), 'c', NULL, 1, 1, NULL);
INSERT INTO events VALUES (67108870, '9a4a26c1d792f4496ce7d72b', 'node.completed', 1794855822613, CAST('{"nodeId":"c","outputs":{"word":"[REDACTED:c.word]"}}' AS BLOB), 'c', NULL, 1, 1, NULL);
INSERT INTO events VALUES (67108871, 'c8c4c3ef87a620bf733d927d', 'run.completed', 1794855822613, CAST('{"outputs":{"c":{"word":"[REDACTED:c.word]"}}}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (134217728, 'dc5d55b7b4c0262a99c48ee0', 'run.started', 1794855822640, CAST(X'7b22696e70757473223a7b22776f7264223a22c3a96c616e20e280a820e29882227d2c226f776e6572223a7b227072696e636970616c223a226b65795f66363231643564343961323236373535222c2274656e616e74223a2261636d65227d2c22776f726b666c6f774964223a227374657073227d' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (134217729, '805eca3102e65eebe5449e23', 'node.started', 1794855822640, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (134217730, 'f034560dd9ec8c805f9f6fd8', 'node.completed', 1794855822640, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (134217731, 'bf805813c20ccdf1c162b7ba', 'node.started', 1794855822640, CAST('{"attempt":1,"nodeId":"b","typeId":"core.identity"}' AS BLOB), 'b', NULL, 1, 1, NULL);
INSERT INTO events VALUES (134217732, 'e50d55eeb3dcd637304f4b30', 'node.completed', 1794855822640, CAST('{"nodeId":"b","outputs":{"secret":"[REDACTED:b.secret]","word":"[REDACTED:b.word]"}}' AS BLOB), 'b', NULL, 1, 1, NULL);
INSERT INTO events VALUES (134217733, 'ecb5d25bbea9d28ca2ba7cd3', 'node.started', 1794855822640, CAST('{"attempt":1,"nodeId":"c","typeId":"core.identity"}' AS BLOB), 'c', NULL, 1, 1, NULL);
INSERT INTO events VALUES (134217734, '9702cec3a5925d91ef1b6d03', 'node.completed', 1794855822640, CAST('{"nodeId":"c","outputs":{"word":"[REDACTED:c.word]"}}' AS BLOB), 'c', NULL, 1, 1, NULL);
INSERT INTO events VALUES (134217735, 'cc4a531bee0182f8c305f491', 'run.completed', 1794855822640, CAST('{"outputs":{"c":{"word":"[REDACTED:c.word]"}}}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (201326592, '7f4e7edcedb161d081c10416', 'run.started', 1794855822669, CAST('{"inputs":{},"owner":{"principal":"key_f621d5d49a226755","tenant":"acme"},"workflowId":"fails"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (201326593, '5a648f7102b54982e4215f75', 'node.started', 1794855822669, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (201326594, 'd67a0e58bc2320c93591dbfc', 'node.completed', 1794855822669, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (201326595, '66e51ed0c94ebd6458806983', 'node.started', 1794855822669, CAST('{"attempt":1,"nodeId":"b","typeId":"core.fail"}' AS BLOB), 'b', NULL, 1, 1, NULL);
INSERT INTO events VALUES (201326596, 'adbae37d265b772e449df632', 'node.failed', 1794855822669, CAST('{"error":{"code":"conformance_test_failure","message":"Intentional conformance failure"},"nodeId":"b"}' AS BLOB), 'b', NULL, 1, 1, NULL);
INSERT INTO events VALUES (201326597, '374aede598e9e3dc737aff0d', 'run.failed', 1794855822669, CAST('{"error":{"code":"conformance_test_failure","message":"Intentional conformance failure"},"failedNodeId":"b"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (268435456, '2a5f1277c4c8ea1d669e931c', 'run.started', 1794855822693, CAST('{"inputs":{},"owner":{"principal":"key_f621d5d49a226755","tenant":"acme"},"workflowId":"delays"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (268435457, '59b9c970490e458124afaad7', 'node.started', 1794855822693, CAST('{"attempt":1,"nodeId":"a","typeId":"core.identity"}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (268435458, 'ccbb8a7689a742856e44ef38', 'node.completed', 1794855822693, CAST('{"nodeId":"a","outputs":{"secret":"[REDACTED:a.secret]"}}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (268435459, 'be9ef3f182c698c8ad62bb5e', 'node.started', 1794855822693, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL);
INSERT INTO events VALUES (335544320, '6c8e4d2cbfdc5b1e9b6167a4', 'run.started', 1794855822705, CAST('{"inputs":{},"owner":{"principal":"key_f621d5d49a226755","tenant":"acme"},"workflowId":"delays"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (335544321, '7cbe0cead9233685a9359dd3', 'node.started', 1794855822705, CAST('{"attempt":1,"nodeId":"a","typeId":"core.identity"}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (335544322, '281407da247ea3e4a191e11d', 'node.completed', 1794855822705, CAST('{"nodeId":"a","outputs":{"secret":"[REDACTED:a.secret]"}}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (335544323, 'a7828754592f90a0ac521699', 'node.started', 1794855822705, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL);
INSERT INTO events VALUES (335544324, '3b51b48f2d58a3d693633acd', 'weftwork.run.cancel-requested', 1794855823392, CAST('{"reason":"changed my mind"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (335544325, 'e098c255c0150ab22377ed87', 'node.cancelled', 1794855823405, CAST('{"nodeId":"d"}' AS BLOB), 'd', NULL, 1, 1, NULL);
INSERT INTO events VALUES (335544326, '252f54642b476c3617897078', 'run.cancelled', 1794855823405, CAST('{"reason":"changed my mind"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (402653184, '6049b177925d078086a8ade8', 'run.started', 1794855822733, CAST('{"inputs":{},"owner":{"principal":"key_f621d5d49a226755","tenant":"acme"},"workflowId":"graph"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (402653185, '62be34e59c66b0de83715dcc', 'node.started', 1794855822733, CAST('{"attempt":1,"nodeId":"order","typeId":"core.identity"}' AS BLOB), 'order', NULL, 1, 1, NULL);
INSERT INTO events VALUES (402653186, '940e13a378c6f0e9cc71774a', 'node.completed', 1794855822733, CAST('{"nodeId":"order","outputs":{"price":120}}' AS BLOB), 'order', NULL, 1, 1, NULL);
INSERT INTO events VALUES (402653187, '5531b2d1be2970aa29bd1d1b', 'node.started', 1794855822733, CAST('{"attempt":1,"nodeId":"ship","typeId":"core.delay"}' AS BLOB), 'ship', NULL, 1, 1, NULL);
INSERT INTO events VALUES (402653188, 'eb4ddcc49c8aed0fd045703b', 'node.started', 1794855822733, CAST('{"attempt":1,"nodeId":"tax","typeId":"core.transform"}' AS BLOB), 'tax', NULL, 1, 1, NULL);
INSERT INTO events VALUES (402653189, '41124377490810b79c1739e8', 'node.completed', 1794855822733, CAST('{"nodeId":"tax","outputs":{"output":30}}' AS BLOB), 'tax', NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762048, '97861477b0a743e9b42d643a', 'run.started', 1794855822757, CAST('{"inputs":{},"owner":{"principal":"key_f621d5d49a226755","tenant":"acme"},"workflowId":"loop"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762049, '702b0aaa30620084eea891b4', 'node.started', 1794855822757, CAST('{"attempt":1,"nodeId":"head","typeId":"core.loop"}' AS BLOB), 'head', NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762050, '158a6dedf7bd685dbf65b364', 'node.completed', 1794855822757, CAST('{"nodeId":"head","outputs":{"body":0,"iteration":0}}' AS BLOB), 'head', NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762051, '4e9ea1c1d7aac61971606b74', 'node.started', 1794855822757, CAST('{"attempt":1,"nodeId":"wait","typeId":"core.delay"}' AS BLOB), 'wait', NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762052, 'cc9709648b010558857d7eff', 'node.completed', 1794855822763, CAST('{"nodeId":"wait","outputs":{}}' AS BLOB), 'wait', NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762053, 'cf53be07da09d19683a0fe60', 'node.started', 1794855822763, CAST('{"attempt":1,"nodeId":"sum","typeId":"core.transform"}' AS BLOB), 'sum', NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762054, '9e4c866e943ee45fd46042a6', 'node.completed', 1794855822763, CAST('{"nodeId":"sum","outputs":{"output":1}}' AS BLOB), 'sum', NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762055, 'e068555ffcf6747dc3752154', 'node.started', 1794855822763, CAST('{"attempt":1,"nodeId":"keep","typeId":"core.setVariable"}' AS BLOB), 'keep', NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762056, '59e8f083b3f9bbc0bd9a084f', 'variable.changed', 1794855822763, CAST('{"name":"n","next":1,"nodeId":"keep"}' AS BLOB), 'keep', NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762057, 'ff3ae4a15c2dd53bde5c685f', 'node.completed', 1794855822763, CAST('{"nodeId":"keep","outputs":{"output":1}}' AS BLOB), 'keep', NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762058, '443910c0c48925f96417c57b', 'node.started', 1794855822763, CAST('{"attempt":1,"nodeId":"head","typeId":"core.loop"}' AS BLOB), 'head', NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762059, 'd3e7cf7930c2e74a5cba55e6', 'node.completed', 1794855822763, CAST('{"nodeId":"head","outputs":{"body":1,"iteration":1}}' AS BLOB), 'head', NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762060, 'cfdcb39a28460e40b8fa77bc', 'node.started', 1794855822763, CAST('{"attempt":1,"nodeId":"wait","typeId":"core.delay"}' AS BLOB), 'wait', NULL, 1, 1, NULL);
INSERT INTO events VALUES (536870912, '33b8819d7d7150c4b9ad27de', 'run.started', 1794855822783, CAST('{"inputs":{},"owner":{"principal":"key_f621d5d49a226755","tenant":"acme"},"workflowId":"asks"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (536870913, '26b75661807fc907d5740f55', 'node.started', 1794855822783, CAST('{"attempt":1,"nodeId":"ask","typeId":"core.interrupt"}' AS BLOB), 'ask', NULL, 1, 1, NULL);
INSERT INTO events VALUES (536870914, 'c2771dbe71742aa724b322b3', 'interrupt.requested', 1794855822783, CAST('{"data":{"customKind":"supplier","payload":["north","south"]},"key":"ask","kind":"custom"}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1');
INSERT INTO events VALUES (536870915, 'b2e20d8d568268c886df31aa', 'node.suspended', 1794855822783, CAST('{"interruptId":"ask.1","key":"ask","kind":"custom","nodeId":"ask"}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1');
INSERT INTO events VALUES (603979776, '57a30d0124ea157810c40c3d', 'run.started', 1794855822799, CAST('{"inputs":{},"owner":{"principal":"key_f621d5d49a226755","tenant":"acme"},"workflowId":"asks"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (603979777, '9d6886cb8ab643fc7d7ab227', 'node.started', 1794855822799, CAST('{"attempt":1,"nodeId":"ask","typeId":"core.interrupt"}' AS BLOB), 'ask', NULL, 1, 1, NULL);
INSERT INTO events VALUES (603979778, 'c77d1e461e644461ef01ef6a', 'interrupt.requested', 1794855822799, CAST('{"data":{"customKind":"supplier","payload":["north","south"]},"key":"ask","kind":"custom"}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1');
INSERT INTO events VALUES (603979779, '5cbaf56e173286d285ab1f87', 'node.suspended', 1794855822799, CAST('{"interruptId":"ask.1","key":"ask","kind":"custom","nodeId":"ask"}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1');
INSERT INTO events VALUES (603979780, '8258416b9a35f25bc5efa920', 'interrupt.resolved', 1794855823429, CAST('{"interruptId":"ask.1","kind":"custom","nodeId":"ask","resolvedBy":"key_f621d5d49a226755","resumeValue":{"supplier":"north"}}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1');
INSERT INTO events VALUES (603979781, '9dbe0d539dd6a34b61a555df', 'node.resumed', 1794855823429, CAST('{"interruptId":"ask.1","nodeId":"ask"}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1');
INSERT INTO events VALUES (603979782, '499840790a558708ed53cf80', 'node.completed', 1794855823429, CAST('{"nodeId":"ask","outputs":{"output":{"supplier":"north"}}}' AS BLOB), 'ask', NULL, 1, 1, NULL);
INSERT INTO events VALUES (603979783, '5a629c365af78ecb42621218', 'node.started', 1794855823429, CAST('{"attempt":1,"nodeId":"keep","typeId":"core.artifact.emit"}' AS BLOB), 'keep', NULL, 1, 1, NULL);
INSERT INTO events VALUES (603979784, '51f8799e791f898720b3e328', 'artifact.created', 1794855823429, CAST('{"artifactId":"keep","artifactType":"order","data":{"supplier":"north"},"nodeId":"keep","version":"1"}' AS BLOB), 'keep', NULL, 1, 1, NULL);
INSERT INTO events VALUES (603979785, '389ecebe5095e5e0ceaeb768', 'node.completed', 1794855823429, CAST('{"nodeId":"keep","outputs":{"artifactId":"keep","artifactType":"order","output":{"supplier":"north"}}}' AS BLOB), 'keep', NULL, 1, 1, NULL);
INSERT INTO events VALUES (603979786, '3c0a8a791860fd8177ec38f2', 'run.completed', 1794855823429, CAST('{"outputs":{"keep":{"artifactId":"keep","artifactType":"order","output":{"supplier":"north"}}}}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (671088640, '39d789ba120a3eac7ead183b', 'run.started', 1794855822820, CAST('{"inputs":{},"owner":{"principal":"key_f621d5d49a226755","tenant":"acme"},"workflowId":"delays"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (671088641, '8e1f04d80960a7620abf7e79', 'node.started', 1794855822820, CAST('{"attempt":1,"nodeId":"a","typeId":"core.identity"}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (671088642, 'c73e6e9c461d56f4ca3fd96d', 'node.completed', 1794855822820, CAST('{"nodeId":"a","outputs":{"secret":"[REDACTED:a.secret]"}}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (671088643, 'e0cb191e9ee020f16c786195', 'node.started', 1794855822820, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL);
INSERT INTO events VALUES (671088644, '82a5f7e79999818b3031a15e', 'weftwork.run.pause-requested', 1794855823451, CAST('{"drainPolicy":"drain-current-node"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (738197504, 'c54e8d466cab841be31fbdd6', 'run.started', 1794855822851, CAST('{"inputs":{},"owner":{"principal":"key_f621d5d49a226755","tenant":"acme"},"workflowId":"steps"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (738197505, 'e9ed921d78d1fe803e7b905b', 'node.started', 1794855822851, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (738197506, '83ae1b5da3e3670f42809795', 'node.completed', 1794855822851, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (738197507, 'ba632a86097c8abd93a84441', 'node.started', 1794855822851, CAST('{"attempt":1,"nodeId":"b","typeId":"core.identity"}' AS BLOB), 'b', NULL, 1, 1, NULL);
INSERT INTO events VALUES (738197508, '0a33ceedb8f9a9b632b944a3', 'node.completed', 1794855822851, CAST('{"nodeId":"b","outputs":{"secret":"[REDACTED:b.secret]","word":"[REDACTED:b.word]"}}' AS BLOB), 'b', NULL, 1, 1, NULL);
INSERT INTO events VALUES (738197509, '1fdb4663d22e2e4a77bba3d2', 'node.started', 1794855822851, CAST('{"attempt":1,"nodeId":"c","typeId":"core.identity"}' AS BLOB), 'c', NULL, 1, 1, NULL);
INSERT INTO events VALUES (738197510, '2dce6bd9a7c3f9b6758aaf81', 'node.completed', 1794855822851, CAST('{"nodeId":"c","outputs":{"word":"[REDACTED:c.word]"}}' AS BLOB), 'c', NULL, 1, 1, NULL);
INSERT INTO events VALUES (738197511, '842f5f944acee4f011fdbca5', 'run.completed', 1794855822851, CAST('{"outputs":{"c":{"word":"[REDACTED:c.word]"}}}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (872415232, '0185ebe9730447f348384948', 'run.started', 1794855822900, CAST('{"inputs":{},"owner":{"principal":"key_f621d5d49a226755","tenant":"acme"},"workflowId":"approval"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (872415233, '28f1ea4eeb0af1ef4b14e870', 'node.started', 1794855822900, CAST('{"attempt":1,"nodeId":"gate","typeId":"core.approvalGate"}' AS BLOB), 'gate', NULL, 1, 1, NULL);
INSERT INTO events VALUES (872415234, '3dc5f55d8189816c9f319460', 'interrupt.requested', 1794855822900, CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","description":"Asked once; a reminder follows after a day.","title":"Pay 100 for a chair?"},"key":"gate","kind":"approval","timeoutMs":259200000}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (872415235, 'fe950d2cfdd9368ee247a337', 'approval.requested', 1794855822900, CAST('{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","interruptId":"gate.1","nodeId":"gate","title":"Pay 100 for a chair?"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (872415236, 'bff8719402114925266b3eee', 'node.suspended', 1794855822900, CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","remindAfterMs":[86400000]}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (939524096, 'a13e4a1c82a729855ef6a2f0', 'run.started', 1794855822928, CAST('{"inputs":{},"owner":{"principal":"key_f621d5d49a226755","tenant":"acme"},"workflowId":"approval"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (939524097, '892ac8a7c0c20c47bff706db', 'node.started', 1794855822928, CAST('{"attempt":1,"nodeId":"gate","typeId":"core.approvalGate"}' AS BLOB), 'gate', NULL, 1, 1, NULL);
INSERT INTO events VALUES (939524098, '73523a8872922e2aa9e3edcc', 'interrupt.requested', 1794855822928, CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","description":"Asked once; a reminder follows after a day.","title":"Pay 100 for a chair?"},"key":"gate","kind":"approval","timeoutMs":259200000}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (939524099, '9a1c1125e7e1db5570921a95', 'approval.requested', 1794855822928, CAST('{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","interruptId":"gate.1","nodeId":"gate","title":"Pay 100 for a chair?"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (939524100, 'da7d36789cb881a67a16b7a6', 'node.suspended', 1794855822928, CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","remindAfterMs":[86400000]}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (939524101, '943252d1ce2c7ced78e2caf8', 'interrupt.resolved', 1794855823579, CAST('{"interruptId":"gate.1","kind":"approval","nodeId":"gate","outcome":"accepted","resolvedBy":"key_f621d5d49a226755","resumeValue":{"action":"accept","decidedBy":"key_f621d5d49a226755"}}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (939524102, '8a20745e76100e3f9672ba26', 'approval.received', 1794855823579, CAST('{"action":"accept","decidedBy":"key_f621d5d49a226755","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (939524103, '472cb314ab7196369cccb009', 'node.resumed', 1794855823579, CAST('{"interruptId":"gate.1","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (939524104, '62b3b66211f13ae5bd21a3e1', 'node.completed', 1794855823579, CAST('{"nodeId":"gate","outputs":{"action":"accept","approved":true,"decidedBy":"key_f621d5d49a226755"}}' AS BLOB), 'gate', NULL, 1, 1, NULL);
INSERT INTO events VALUES (939524105, '4adf39e37a711bf5fcce6884', 'node.skipped', 1794855823579, CAST('{"nodeId":"kept","reason":"trigger-rule"}' AS BLOB), 'kept', NULL, 1, 1, NULL);
INSERT INTO events VALUES (939524106, 'bdf2b756eaa231aebb1c9deb', 'node.started', 1794855823579, CAST('{"attempt":1,"nodeId":"paid","typeId":"core.template"}' AS BLOB), 'paid', NULL, 1, 1, NULL);
INSERT INTO events VALUES (939524107, '5538c930ac34eb1245e71ce9', 'node.completed', 1794855823600, CAST('{"nodeId":"paid","outputs":{"output":"a chair is paid: 100"}}' AS BLOB), 'paid', NULL, 1, 1, NULL);
INSERT INTO events VALUES (939524108, '37d040898c6005caedc3827c', 'run.completed', 1794855823600, CAST('{"outputs":{"paid":{"output":"a chair is paid: 100"}}}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (1006632960, 'ba585858af8ea8bc1e3e3cb7', 'run.started', 1794855822952, CAST('{"inputs":{},"owner":{"principal":"key_f621d5d49a226755","tenant":"acme"},"workflowId":"approval"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (1006632961, '594d549cdf39e94afa41a3af', 'node.started', 1794855822952, CAST('{"attempt":1,"nodeId":"gate","typeId":"core.approvalGate"}' AS BLOB), 'gate', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1006632962, '98ebcc44eb098a8ffdc0de14', 'interrupt.requested', 1794855822952, CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","description":"Asked once; a reminder follows after a day.","title":"Pay 100 for a chair?"},"key":"gate","kind":"approval","timeoutMs":259200000}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (1006632963, '171e878715a8d34e2761d24f', 'approval.requested', 1794855822952, CAST('{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","interruptId":"gate.1","nodeId":"gate","title":"Pay 100 for a chair?"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (1006632964, '0fa877d4c0e73796df62db57', 'node.suspended', 1794855822952, CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","remindAfterMs":[86400000]}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (1006632965, '3c4ae9ec07889d62a37684f7', 'interrupt.resolved', 1794855823613, CAST('{"interruptId":"gate.1","kind":"approval","nodeId":"gate","outcome":"rejected","resolvedBy":"key_f621d5d49a226755","resumeValue":{"action":"reject","decidedBy":"key_f621d5d49a226755"}}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (1006632966, '6873490df606d33abaf12678', 'approval.received', 1794855823613, CAST('{"action":"reject","decidedBy":"key_f621d5d49a226755","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (1006632967, '926a41ea8823630eda48ee8e', 'node.resumed', 1794855823613, CAST('{"interruptId":"gate.1","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (1006632968, '3e6d8a1e33f4ea7f3d11b992', 'node.failed', 1794855823613, CAST('{"error":{"code":"interrupt_rejected","details":{"decidedBy":"key_f621d5d49a226755","reason":"rejected"},"message":"The approval was refused."},"nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1006632969, 'd0d7ffc57a9056f1c98d85d3', 'node.skipped', 1794855823613, CAST('{"nodeId":"paid","reason":"trigger-rule"}' AS BLOB), 'paid', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1006632970, 'c1109b58b48ab19e88052678', 'node.started', 1794855823613, CAST('{"attempt":1,"nodeId":"kept","typeId":"core.template"}' AS BLOB), 'kept', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1006632971, '331fa49829248eb3e8679549', 'node.completed', 1794855823613, CAST('{"nodeId":"kept","outputs":{"output":"a chair is not paid"}}' AS BLOB), 'kept', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1006632972, '71adcb23fbd922b7827ed93f', 'run.completed', 1794855823613, CAST('{"outputs":{"kept":{"output":"a chair is not paid"}}}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (1073741824, 'bdc11aadf4685ea096b1eb35', 'run.started', 1794855822971, CAST('{"inputs":{},"owner":{"principal":"key_f621d5d49a226755","tenant":"acme"},"workflowId":"quorum"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (1073741825, '7dadf2b777f9ea55f2edc1d0', 'node.started', 1794855822971, CAST('{"attempt":1,"nodeId":"gate","typeId":"core.approvalGate"}' AS BLOB), 'gate', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1073741826, '1808c2325307142ba0070898', 'interrupt.requested', 1794855822971, CAST('{"data":{"actions":["accept","reject"],"approversList":[],"artifactId":"gate","artifactType":"approval","requiredApprovals":2,"title":"Release?"},"key":"gate","kind":"approval"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (1073741827, '75e1500b783fafa03eab5fe6', 'approval.requested', 1794855822971, CAST('{"actions":["accept","reject"],"approversList":[],"artifactId":"gate","artifactType":"approval","interruptId":"gate.1","nodeId":"gate","requiredApprovals":2,"title":"Release?"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (1073741828, '3077997943cb0e3ec299882c', 'node.suspended', 1794855822971, CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (1073741829, 'f01933b8bd2b09ea397ff0c1', 'approval.granted', 1794855823634, CAST('{"gateId":"gate","principal":"key_f621d5d49a226755","quorumProgress":{"granted":1,"required":2}}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (1140850688, '4681808fd66d15a4f7395f58', 'run.started', 1794855823004, CAST('{"inputs":{"orderId":"o-1"},"owner":{"principal":"key_f621d5d49a226755","tenant":"acme"},"workflowId":"event"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (1140850689, '45eb053ad98b778a77bf5e7e', 'node.started', 1794855823004, CAST('{"attempt":1,"nodeId":"wait","typeId":"core.interrupt"}' AS BLOB), 'wait', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1140850690, '46e42454140d5fcaaa5263c7', 'interrupt.requested', 1794855823004, CAST('{"data":{"correlation":{"orderId":"o-1","status":"paid"},"eventType":"shop.order.paid"},"key":"wait","kind":"external-event","timeoutMs":3600000}' AS BLOB), 'wait', NULL, 1, 1, 'wait.1');
INSERT INTO events VALUES (1140850691, 'e5700bb80d872ece6e8ce525', 'node.suspended', 1794855823004, CAST('{"interruptId":"wait.1","key":"wait","kind":"external-event","nodeId":"wait"}' AS BLOB), 'wait', NULL, 1, 1, 'wait.1');
INSERT INTO events VALUES (1207959552, '96fb6721398140e7558d6ee6', 'run.started', 1794855823014, CAST('{"inputs":{},"owner":{"principal":"key_f621d5d49a226755","tenant":"acme"},"workflowId":"form"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (1207959553, '7a804294a1f3ef26e73bf02d', 'node.started', 1794855823014, CAST('{"attempt":1,"nodeId":"ask","typeId":"core.clarificationGate"}' AS BLOB), 'ask', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1207959554, '741d33ed0ed33c54cf5827f3', 'interrupt.requested', 1794855823014, CAST('{"data":{"questions":[{"id":"day","question":"When do you come to Bern?","schema":{"minLength":3,"type":"string"}},{"id":"people","question":"How many are you?","schema":{"maximum":8,"minimum":1,"type":"integer"}},{"id":"lunch","question":"With lunch?","schema":{"type":"boolean"}}]},"key":"ask","kind":"clarification","timeoutMs":86400000}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1');
INSERT INTO events VALUES (1207959555, '4bce05d7a0ebbb4b05716388', 'clarification.requested', 1794855823014, CAST('{"interruptId":"ask.1","nodeId":"ask","questions":[{"id":"day","question":"When do you come to Bern?","schema":{"minLength":3,"type":"string"}},{"id":"people","question":"How many are you?","schema":{"maximum":8,"minimum":1,"type":"integer"}},{"id":"lunch","question":"With lunch?","schema":{"type":"boolean"}}]}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1');
INSERT INTO events VALUES (1207959556, 'cd4bf6d82b6d8f4e1d5cd5d9', 'node.suspended', 1794855823014, CAST('{"interruptId":"ask.1","key":"ask","kind":"clarification","nodeId":"ask"}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1');
INSERT INTO events VALUES (1275068416, '94005de18fc960df80510a42', 'run.started', 1794855823040, CAST('{"inputs":{},"owner":{"principal":"key_f621d5d49a226755","tenant":"acme"},"workflowId":"talks"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (1275068417, '6fcc04c3358185877e9e7446', 'node.started', 1794855823040, CAST('{"attempt":1,"nodeId":"t","typeId":"core.conversationGate"}' AS BLOB), 't', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1275068418, '851bd576e426016dda57531b', 'interrupt.requested', 1794855823050, CAST('{"data":{"conversationId":"01m7jvwsnvwqaeycbmybb2ec5e:t:0","title":"Conversation"},"key":"t:start","kind":"conversation.start"}' AS BLOB), 't', NULL, 1, 1, 't.1');
INSERT INTO events VALUES (1275068419, '697027734403ebf9c5f5502c', 'conversation.opened', 1794855823050, CAST('{"capabilities":["multi-turn"],"conversationId":"01m7jvwsnvwqaeycbmybb2ec5e:t:0","initialTurn":{"content":"Conversation","from":"t","messageId":"t.0.0","role":"system","ts":1794855823050,"turnIndex":0}}' AS BLOB), 't', NULL, 1, 1, 't.1');
INSERT INTO events VALUES (1275068420, '915e6a2452adcbf16ecd9f6c', 'interrupt.resolved', 1794855823050, CAST('{"interruptId":"t.1","kind":"conversation.start","nodeId":"t","resumeValue":null}' AS BLOB), 't', NULL, 1, 1, 't.1');
INSERT INTO events VALUES (1275068421, '9154aa0f223a2b1f44057c80', 'interrupt.requested', 1794855823059, CAST('{"data":{"conversationId":"01m7jvwsnvwqaeycbmybb2ec5e:t:0","prompt":"Please answer.","turnIndex":1},"key":"t:1","kind":"conversation.exchange"}' AS BLOB), 't', NULL, 1, 1, 't.2');
INSERT INTO events VALUES (1275068422, '2bd999f40be8834e233311c8', 'node.suspended', 1794855823059, CAST('{"interruptId":"t.2","key":"t:1","kind":"conversation.exchange","nodeId":"t","reason":"conversation-input"}' AS BLOB), 't', NULL, 1, 1, 't.2');
INSERT INTO events VALUES (1342177280, 'b3acbd03df1892d3d1e28d7b', 'run.started', 1794855823066, CAST('{"inputs":{},"owner":{"principal":"key_f621d5d49a226755","tenant":"acme"},"workflowId":"list"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (1342177281, '7d1a07392a875dedd3db60a8', 'node.started', 1794855823066, CAST('{"attempt":1,"nodeId":"c","typeId":"core.channelWrite"}' AS BLOB), 'c', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1342177282, '8e52e5e9ee991270eca2d350', 'channel.written', 1794855823066, CAST('{"channel":"log","nodeId":"c","reducer":"append","value":"begun","writtenAt":"2026-11-16T19:03:43.066Z"}' AS BLOB), 'c', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1342177283, 'ef3677bb01193f47e6a849a3', 'node.completed', 1794855823066, CAST('{"nodeId":"c","outputs":{"output":"begun"}}' AS BLOB), 'c', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1342177284, '68e02afaaf69a223d4dbaa99', 'node.started', 1794855823066, CAST('{"attempt":1,"nodeId":"m","typeId":"core.flow.map"}' AS BLOB), 'm', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1342177285, '709f8c2884e1a930929271ee', 'weftwork.map.item', 1794855823095, CAST('{"index":0,"output":{}}' AS BLOB), 'm', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1342177286, 'a914b0f38f9c47de5377cfea', 'weftwork.map.item', 1794855823118, CAST('{"index":2,"output":{}}' AS BLOB), 'm', NULL, 1, 1, NULL);
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
INSERT INTO run_state VALUES (8, 'interrupt', 'ask.1', CAST('{"data":{"customKind":"supplier","payload":["north","south"]},"interruptId":"ask.1","key":"ask","kind":"custom","nodeId":"ask","requestedAt":"2026-11-16T19:03:42.783Z","status":"open"}' AS BLOB));
INSERT INTO run_state VALUES (8, 'node', 'ask', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (9, 'artifact', 'keep', CAST('{"artifactType":"order","nodeId":"keep","sequence":8,"version":1}' AS BLOB));
INSERT INTO run_state VALUES (9, 'interrupt', 'ask.1', CAST('{"interruptId":"ask.1","key":"ask","kind":"custom","nodeId":"ask","requestedAt":"2026-11-16T19:03:42.799Z","resolvedAt":"2026-11-16T19:03:43.429Z","resolvedBy":"key_f621d5d49a226755","status":"resolved"}' AS BLOB));
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
INSERT INTO run_state VALUES (13, 'interrupt', 'gate.1', CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","description":"Asked once; a reminder follows after a day.","title":"Pay 100 for a chair?"},"dueAt":"2026-11-19T19:03:42.900Z","interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","requestedAt":"2026-11-16T19:03:42.900Z","status":"open","timeoutMs":259200000}' AS BLOB));
INSERT INTO run_state VALUES (13, 'node', 'gate', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (13, 'variable', 'amount', CAST('100' AS BLOB));
INSERT INTO run_state VALUES (13, 'variable', 'purpose', CAST('"a chair"' AS BLOB));
INSERT INTO run_state VALUES (14, 'interrupt', 'gate.1', CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","outcome":"accepted","requestedAt":"2026-11-16T19:03:42.928Z","resolvedAt":"2026-11-16T19:03:43.579Z","resolvedBy":"key_f621d5d49a226755","status":"resolved"}' AS BLOB));
INSERT INTO run_state VALUES (14, 'node', 'gate', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (14, 'node', 'kept', CAST('{"status":"skipped"}' AS BLOB));
INSERT INTO run_state VALUES (14, 'node', 'paid', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (14, 'variable', 'amount', CAST('100' AS BLOB));
INSERT INTO run_state VALUES (14, 'variable', 'purpose', CAST('"a chair"' AS BLOB));
INSERT INTO run_state VALUES (15, 'interrupt', 'gate.1', CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","outcome":"rejected","requestedAt":"2026-11-16T19:03:42.952Z","resolvedAt":"2026-11-16T19:03:43.613Z","resolvedBy":"key_f621d5d49a226755","status":"resolved"}' AS BLOB));
INSERT INTO run_state VALUES (15, 'node', 'gate', CAST('{"attempt":1,"error":{"code":"interrupt_rejected","details":{"decidedBy":"key_f621d5d49a226755","reason":"rejected"},"message":"The approval was refused."},"status":"failed"}' AS BLOB));
INSERT INTO run_state VALUES (15, 'node', 'kept', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (15, 'node', 'paid', CAST('{"status":"skipped"}' AS BLOB));
INSERT INTO run_state VALUES (15, 'variable', 'amount', CAST('100' AS BLOB));
INSERT INTO run_state VALUES (15, 'variable', 'purpose', CAST('"a chair"' AS BLOB));
INSERT INTO run_state VALUES (16, 'interrupt', 'gate.1', CAST('{"data":{"actions":["accept","reject"],"approversList":[],"artifactId":"gate","artifactType":"approval","requiredApprovals":2,"title":"Release?"},"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","requestedAt":"2026-11-16T19:03:42.971Z","status":"open","votes":[{"action":"accept","voter":"key_f621d5d49a226755"}]}' AS BLOB));
INSERT INTO run_state VALUES (16, 'node', 'gate', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (17, 'interrupt', 'wait.1', CAST('{"data":{"correlation":{"orderId":"o-1","status":"paid"},"eventType":"shop.order.paid"},"dueAt":"2026-11-16T20:03:43.004Z","interruptId":"wait.1","key":"wait","kind":"external-event","nodeId":"wait","requestedAt":"2026-11-16T19:03:43.004Z","status":"open","timeoutMs":3600000}' AS BLOB));
INSERT INTO run_state VALUES (17, 'node', 'wait', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (17, 'variable', 'orderId', CAST('"o-1"' AS BLOB));
INSERT INTO run_state VALUES (18, 'interrupt', 'ask.1', CAST('{"data":{"questions":[{"id":"day","question":"When do you come to Bern?","schema":{"minLength":3,"type":"string"}},{"id":"people","question":"How many are you?","schema":{"maximum":8,"minimum":1,"type":"integer"}},{"id":"lunch","question":"With lunch?","schema":{"type":"boolean"}}]},"dueAt":"2026-11-17T19:03:43.014Z","interruptId":"ask.1","key":"ask","kind":"clarification","nodeId":"ask","requestedAt":"2026-11-16T19:03:43.014Z","status":"open","timeoutMs":86400000}' AS BLOB));
INSERT INTO run_state VALUES (18, 'node', 'ask', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (18, 'variable', 'city', CAST('"Bern"' AS BLOB));
INSERT INTO run_state VALUES (19, 'interrupt', 't.1', CAST('{"interruptId":"t.1","key":"t:start","kind":"conversation.start","nodeId":"t","requestedAt":"2026-11-16T19:03:43.050Z","resolvedAt":"2026-11-16T19:03:43.050Z","status":"resolved"}' AS BLOB));
INSERT INTO run_state VALUES (19, 'interrupt', 't.2', CAST('{"data":{"conversationId":"01m7jvwsnvwqaeycbmybb2ec5e:t:0","prompt":"Please answer.","turnIndex":1},"interruptId":"t.2","key":"t:1","kind":"conversation.exchange","nodeId":"t","requestedAt":"2026-11-16T19:03:43.059Z","status":"open"}' AS BLOB));
INSERT INTO run_state VALUES (19, 'node', 't', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (20, 'channel', 'log', CAST('["begun"]' AS BLOB));
INSERT INTO run_state VALUES (20, 'node', 'c', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (20, 'node', 'm', CAST('{"attempt":1,"status":"running"}' AS BLOB));
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
INSERT INTO run_tags VALUES ('live:acme', 'accept', 14);
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
INSERT INTO run_tags VALUES ('live:acme', 'plain', 17);
INSERT INTO run_tags VALUES ('live:acme', 'plain', 18);
INSERT INTO run_tags VALUES ('live:acme', 'plain', 19);
INSERT INTO run_tags VALUES ('live:acme', 'plain', 20);
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
INSERT INTO run_tags VALUES ('live:acme', 'recorded', 14);
INSERT INTO run_tags VALUES ('live:acme', 'recorded', 15);
INSERT INTO run_tags VALUES ('live:acme', 'recorded', 16);
INSERT INTO run_tags VALUES ('live:acme', 'recorded', 17);
INSERT INTO run_tags VALUES ('live:acme', 'recorded', 18);
INSERT INTO run_tags VALUES ('live:acme', 'recorded', 19);
INSERT INTO run_tags VALUES ('live:acme', 'recorded', 20);
INSERT INTO run_tags VALUES ('live:acme', 'reject', 15);
INSERT INTO run_tags VALUES ('live:acme', 'vote', 16);
INSERT INTO idempotency VALUES (1, 'live:acme', '61a985f870cc6e41f93abf2c7b2511e14c15b86e671537a8792ca3271a428477', 'bea331ee4f5f0b1a569ecda7bbe1e96ce82eba15e24f4b1fa0a4322da4b1646b', CAST('{"run_id":"01m7jvws8bfq3xjw47h1rfk83h","status":"pending","replayed":false}' AS BLOB), 1794855822603);
INSERT INTO idempotency VALUES (2, 'live:acme', 'dfce0f4614e6373d7ac9bbf429dd89680e0127c208fba439cfe3ccd5d23c98ec', '410d8cc13960308047f90d0c1dec055eb74b241f8998df1dfd07cea4c11c40ee', CAST('{"run_id":"01m7jvws9c2cx3g4qjxxjpnzp7","status":"pending","replayed":false}' AS BLOB), 1794855822636);
INSERT INTO idempotency VALUES (3, 'live:acme', '8e3ec313a4420d425f5a0a6547b4f49e9c2fd2f2101c752a6982d28eed7ed7b2', '7d41ae182720cd4e7f96fe02996dd1311b613fdf6b743aa121da166959dbde3e', CAST('{"run_id":"01m7jvwsa83jzcqqac6tv5x9a3","status":"pending","replayed":false}' AS BLOB), 1794855822664);
INSERT INTO idempotency VALUES (4, 'live:acme', '2dd923e5d6c5b95437f27bcbbb78858e459ca89f8a8cc26c61a0977dda6e5535', '294cb31a28ff3950c8e69947a62e65264bf09459769432db303ca6457b5823e9', CAST('{"run_id":"01m7jvwsb1kb840rdv8vdpa1jv","status":"pending","replayed":false}' AS BLOB), 1794855822689);
INSERT INTO idempotency VALUES (5, 'live:acme', '19f12c22be65e06a90e64b855f7419dcf205317475868848cc1f69ebf360f32a', '4e9585cdffde56256d715dbefdbecadda83655d126fc4191b4c740e9dde2820d', CAST('{"run_id":"01m7jvwsbcdhsrn19ej6rpxxp3","status":"pending","replayed":false}' AS BLOB), 1794855822700);
INSERT INTO idempotency VALUES (6, 'live:acme', '772796833478311126761000a7046b58c32c54f1819dd5ad95325141a1a30d68', '9891ba3762f4fc4c919d2dbb38caf54bc387179056ba9d75278cc2b6d5afa10a', CAST('{"run_id":"01m7jvwsc7wqmrrr7fwrd7epew","status":"pending","replayed":false}' AS BLOB), 1794855822727);
INSERT INTO idempotency VALUES (7, 'live:acme', '3ecf33d6f95f7eb106db493feab3b63e4b156acdcdf8f06423ed18e0a02423d4', '79d5fd2f04bd6d1b271dd9ca3cbd06d794f9a3d82823d341dbd4a4d5034dac3d', CAST('{"run_id":"01m7jvwsd2vd0sm3kys3d5b0a5","status":"pending","replayed":false}' AS BLOB), 1794855822754);
INSERT INTO idempotency VALUES (8, 'live:acme', 'ec4fb0f6dc0d59a0bc614cf323f7bb615b07d925391457bbd1744f1f52d118fa', '46afdfb8fd29952388c0253cd020631707a78ccdccadbac2cbfe985181f30a15', CAST('{"run_id":"01m7jvwsdrns66mj1dqzws7y3s","status":"pending","replayed":false}' AS BLOB), 1794855822776);
INSERT INTO idempotency VALUES (9, 'live:acme', '37770f8c8236ec98ff069dbbdb394cce6833da7ac70f59ea0727fc0958513a2f', '54acda9ff1f00697248e0d3471456d58ee39513ec586d0393e926d65d24d5d8d', CAST('{"run_id":"01m7jvwsebc0bzs618mj8hfba3","status":"pending","replayed":false}' AS BLOB), 1794855822795);
INSERT INTO idempotency VALUES (10, 'live:acme', '390f95671cbd0f40167f192b5e8dcaf85b72e2c9a97567c1b2e821f243683d39', '6871360561500a4b03b2d7a58ecb28aabd4b82e27a8769e01f700ad0984697be', CAST('{"run_id":"01m7jvwsf3sd448zf0583gtqer","status":"pending","replayed":false}' AS BLOB), 1794855822819);
INSERT INTO idempotency VALUES (11, 'live:acme', 'fb1509fb9996b64704badca968bf731141f96b06ac5201dec96102e7fc089286', '59d219a28509ec722cdb5013b3ec52fc3308195ff17bc513368e7bf1820eb454', CAST('{"run_id":"01m7jvwsfpetejt4v3fty4aw8r","status":"pending","replayed":false}' AS BLOB), 1794855822838);
INSERT INTO idempotency VALUES (12, 'live:acme', '1b934e79250a9827af3e2def4b5ae929c57ff2622280e40d2338ad859d1cfbab', 'de11a5bb1f69003541ca0ad959775fdfaf60dcf962d962cefe4fb52f05ecdacd', CAST('{"run_id":"01m7jvwsh07v1jhhq1advbjj3q","status":"pending","replayed":false}' AS BLOB), 1794855822880);
INSERT INTO idempotency VALUES (13, 'live:acme', '0633fc297d43e48f3b239973ad348c2e44ebce32a392a3cde7f85d4279f34f15', '19d4e1b84d6f468cbc327c06cadb8e2bcbf1fe3ea764b1542483cdbb127420e5', CAST('{"run_id":"01m7jvwshk588682adt7wdy12a","status":"pending","replayed":false}' AS BLOB), 1794855822899);
INSERT INTO idempotency VALUES (14, 'live:acme', '670d9d85c2cc9737ee0bfbc2951787470ab94871af480464786e1d40954fe2db', 'bc884c55e359f172fcc1f1bc43a3a3e4c312779930d2f510bc023242b6e9a285', CAST('{"run_id":"01m7jvwsjgfepw3bb59cqwsv5g","status":"pending","replayed":false}' AS BLOB), 1794855822928);
INSERT INTO idempotency VALUES (15, 'live:acme', '9caf77c7ba86fb45f73acc1993d2ec1f9fbd05f3acd88d44a7a8109378f243c8', 'aca5d710b29cbf658776978c31547149c3ee01ad992f5717da2851fb183b143d', CAST('{"run_id":"01m7jvwsk7e77f365ga2dgrx24","status":"pending","replayed":false}' AS BLOB), 1794855822951);
INSERT INTO idempotency VALUES (16, 'live:acme', '8acea8f6f69addd4a47bf4caa18378ba63943dbac645f2fa71e7b22f3b968879', '7d5ec92d1b2f9785a16e54b622d74725160998054805e0b1bc488635d27ac252', CAST('{"run_id":"01m7jvwskrs4vtxy0yjx24fvxz","status":"pending","replayed":false}' AS BLOB), 1794855822968);
INSERT INTO idempotency VALUES (17, 'live:acme', 'f3b928f7d5646ced4b9ca261bb4e8b9b65007e95fa1ec32475cdb4f4941a6d14', '48df3d086ab6a0fbf1975a30155ad7083720db87babf539b372f8c72f4109f90', CAST('{"run_id":"01m7jvwsmrj9w7xpb7f0d7by4e","status":"pending","replayed":false}' AS BLOB), 1794855823000);
INSERT INTO idempotency VALUES (18, 'live:acme', 'ef26f01a0a380acb0948f69bc241ce7625ac57dd43a2cea8851bcc2841959bc5', '8f024abda60e2967d064310babe5b965b11a945cf90343a471378a7e5847e6d1', CAST('{"run_id":"01m7jvwsn5pcge1nc31sym82e5","status":"pending","replayed":false}' AS BLOB), 1794855823013);
INSERT INTO idempotency VALUES (19, 'live:acme', '131cf9f5623746b35e973381fd45b7bc3afa47339f46ba42743d31687375ed72', '74fd0573c8b201d4d522cd932e287c0a98217f835657e171ceb009437d4f36f8', CAST('{"run_id":"01m7jvwsnvwqaeycbmybb2ec5e","status":"pending","replayed":false}' AS BLOB), 1794855823035);
INSERT INTO idempotency VALUES (20, 'live:acme', 'c7aeec69fbe67d0521366e437768c1a9da818af4676845acc438022935bf61bc', '80f780932b689c0e0cfc6cad6d1082d02c1bb0eda0a22a371397fc8fc9ba1a6e', CAST('{"run_id":"01m7jvwspdpe3dsc4bseky55xx","status":"pending","replayed":false}' AS BLOB), 1794855823053);
INSERT INTO definitions VALUES ('14dbfc7eb701b74aa49048323c0cb93d7ebde6a792f6d4fa618afe9b7d669aa5', CAST('{"channels":{"conversation":{"reducer":"message","schema":{"type":"array"}}},"edges":[{"id":"e0","sourceNodeId":"t","targetNodeId":"n"}],"id":"talks","metadata":{},"name":"talks","nodes":[{"config":{},"id":"t","inputs":{},"name":"t","position":{"x":0,"y":0},"typeId":"core.conversationGate"},{"config":{},"id":"n","inputs":{},"name":"n","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[{"enabled":true,"id":"manual","type":"manual"}],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('1d2a1ee644677f92561014341fc1db3f86972df42f1b3df3ed081fe2a577242d', CAST('{"channels":{"log":{"reducer":"append","schema":{"type":"array"}}},"edges":[{"id":"e0","sourceNodeId":"c","targetNodeId":"m"},{"id":"e1","sourceNodeId":"m","targetNodeId":"out"}],"id":"list","metadata":{},"name":"list","nodes":[{"config":{"channelName":"log"},"id":"c","inputs":{"value":{"type":"static","value":"begun"}},"name":"c","position":{"x":0,"y":0},"typeId":"core.channelWrite"},{"config":{"body":{"inputs":{"delayMs":{"expression":"item","type":"expression"}},"typeId":"core.delay"},"concurrency":2},"id":"m","inputs":{"items":{"type":"static","value":[1,4000,1]}},"name":"m","position":{"x":0,"y":0},"typeId":"core.flow.map"},{"config":{"expression":"nodes.m.outputs.count"},"id":"out","inputs":{},"name":"out","position":{"x":0,"y":0},"typeId":"core.transform"}],"settings":{},"triggers":[{"enabled":true,"id":"manual","type":"manual"}],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('210403c04c63e6d326493908fce767f01a257d7e9887af7c9784e8f1ef85b1b1', CAST('{"edges":[{"id":"e0","sourceNodeId":"ask","targetNodeId":"keep"}],"id":"asks","metadata":{},"name":"asks","nodes":[{"config":{"data":{"customKind":"supplier","payload":["north","south"]},"kind":"custom"},"id":"ask","inputs":{},"name":"ask","position":{"x":0,"y":0},"typeId":"core.interrupt"},{"config":{"artifactType":"order"},"id":"keep","inputs":{"data":{"nodeId":"ask","outputKey":"output","type":"connection"}},"name":"keep","position":{"x":0,"y":0},"typeId":"core.artifact.emit"}],"settings":{},"triggers":[{"enabled":true,"id":"manual","type":"manual"}],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('2104b2443464777c07d85868e1802c0005d2c4770e716a133ab045c91cb47eeb', CAST('{"edges":[{"id":"e0","sourceNodeId":"a","targetNodeId":"d"},{"id":"e1","sourceNodeId":"d","targetNodeId":"c"}],"id":"delays","metadata":{},"name":"delays","nodes":[{"config":{},"id":"a","inputs":{"secret":{"type":"variable","variableName":"secret"}},"name":"a","position":{"x":0,"y":0},"typeId":"core.identity"},{"config":{},"id":"d","inputs":{"delayMs":{"type":"static","value":60000}},"name":"d","position":{"x":0,"y":0},"typeId":"core.delay"},{"config":{},"id":"c","inputs":{"secret":{"nodeId":"a","outputKey":"secret","type":"connection"}},"name":"c","position":{"x":0,"y":0},"typeId":"core.identity"}],"settings":{},"triggers":[{"enabled":true,"id":"manual","type":"manual"}],"variables":[{"defaultValue":"hush","name":"secret","sensitive":true,"type":"string"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('55fa38846b98bac0d4277e240e539eecfaa2e1e9e0c6ff70fd268c29c761cbef', CAST('{"edges":[{"id":"e0","sourceNodeId":"head","sourceOutput":"body","targetNodeId":"wait"},{"id":"e1","sourceNodeId":"wait","targetNodeId":"sum"},{"id":"e2","sourceNodeId":"sum","targetNodeId":"keep"},{"id":"e3","sourceNodeId":"keep","targetNodeId":"head"},{"id":"e4","sourceNodeId":"head","sourceOutput":"done","targetNodeId":"out"}],"id":"loop","metadata":{},"name":"loop","nodes":[{"config":{"times":3},"id":"head","inputs":{},"name":"head","position":{"x":0,"y":0},"typeId":"core.loop"},{"config":{},"id":"wait","inputs":{"delayMs":{"expression":"variables.n == 1.0 ? 60000.0 : 1.0","type":"expression"}},"name":"wait","position":{"x":0,"y":0},"typeId":"core.delay"},{"config":{"expression":"variables.n + 1.0"},"id":"sum","inputs":{},"name":"sum","position":{"x":0,"y":0},"typeId":"core.transform"},{"config":{"name":"n"},"id":"keep","inputs":{"value":{"nodeId":"sum","outputKey":"output","type":"connection"}},"name":"keep","position":{"x":0,"y":0},"typeId":"core.setVariable"},{"config":{"template":"{{string(variables.n)}} rounds"},"id":"out","inputs":{},"name":"out","outputRole":"primary","position":{"x":0,"y":0},"typeId":"core.template"}],"settings":{"maxLoopbackIterations":10},"triggers":[{"enabled":true,"id":"manual","type":"manual"}],"variables":[{"defaultValue":0,"name":"n","type":"number"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('66389366a5ab12a4055a83795db1e08c233a4a707cd2a41c85c2113722be98c8', CAST('{"edges":[{"id":"e0","sourceNodeId":"gate","targetNodeId":"n"}],"id":"quorum","metadata":{},"name":"quorum","nodes":[{"config":{"approversList":[],"requiredApprovals":2,"title":"Release?"},"id":"gate","inputs":{},"name":"gate","position":{"x":0,"y":0},"typeId":"core.approvalGate"},{"config":{},"id":"n","inputs":{},"name":"n","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[{"enabled":true,"id":"manual","type":"manual"}],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('6aa4e5ff4ef8090e3ae2db68089f63c27d179f826e33286017859a5f668d2376', CAST('{"edges":[{"id":"e0","sourceNodeId":"a","targetNodeId":"b"}],"id":"fails","metadata":{},"name":"fails","nodes":[{"config":{},"id":"a","inputs":{},"name":"a","position":{"x":0,"y":0},"typeId":"core.noop"},{"config":{},"id":"b","inputs":{},"name":"b","position":{"x":0,"y":0},"typeId":"core.fail"}],"settings":{},"triggers":[{"enabled":true,"id":"manual","type":"manual"}],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('ab91191d59ff8f9734d0ff7341ee3569b6ad9ff6ca96631810906aed3b0f99fd', CAST('{"edges":[{"id":"e0","sourceNodeId":"order","targetNodeId":"tax"},{"id":"e1","sourceNodeId":"order","targetNodeId":"ship"},{"id":"e2","sourceNodeId":"tax","targetNodeId":"parts"},{"id":"e3","sourceNodeId":"ship","targetNodeId":"parts"},{"id":"e4","sourceNodeId":"parts","targetNodeId":"total"}],"id":"graph","metadata":{},"name":"graph","nodes":[{"config":{},"id":"order","inputs":{"price":{"type":"variable","variableName":"price"}},"name":"order","position":{"x":0,"y":0},"typeId":"core.identity"},{"config":{"expression":"nodes.order.outputs.price * 0.25"},"id":"tax","inputs":{},"name":"tax","position":{"x":0,"y":0},"typeId":"core.transform"},{"config":{},"id":"ship","inputs":{"delayMs":{"type":"static","value":60000}},"name":"ship","position":{"x":0,"y":0},"typeId":"core.delay"},{"config":{"mode":"object"},"id":"parts","inputs":{},"name":"parts","position":{"x":0,"y":0},"typeId":"core.merge"},{"config":{"expression":"nodes.order.outputs.price + nodes.parts.outputs.output.tax"},"id":"total","inputs":{},"name":"total","outputRole":"primary","position":{"x":0,"y":0},"typeId":"core.transform"}],"settings":{},"triggers":[{"enabled":true,"id":"manual","type":"manual"}],"variables":[{"defaultValue":120,"name":"price","type":"number"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('bacdd63a00f3c50e359a39db4fe7e8ff55b87b9799706626ad70cd5946790078', CAST('{"description":"Somebody without an account decides whether something is paid. Nobody deciding in three days is a no.","edges":[{"id":"gate-paid","sourceNodeId":"gate","targetNodeId":"paid"},{"id":"gate-kept","sourceNodeId":"gate","targetNodeId":"kept","triggerRule":"any_failed"}],"id":"approval","metadata":{},"name":"An approval by link","nodes":[{"config":{"description":"Asked once; a reminder follows after a day.","remindAfterMs":[86400000],"timeoutMs":259200000,"title":"Pay {{variables.amount}} for {{variables.purpose}}?"},"id":"gate","inputs":{},"name":"Shall it be paid?","position":{"x":0,"y":0},"typeId":"core.approvalGate"},{"config":{"template":"{{variables.purpose}} is paid: {{variables.amount}}"},"id":"paid","inputs":{},"name":"Pay","position":{"x":200,"y":0},"typeId":"core.template"},{"config":{"template":"{{variables.purpose}} is not paid"},"id":"kept","inputs":{},"name":"Keep the money","position":{"x":200,"y":200},"typeId":"core.template"}],"settings":{},"triggers":[{"id":"manual","type":"manual"}],"variables":[{"defaultValue":100,"name":"amount","type":"number"},{"defaultValue":"a chair","name":"purpose","type":"string"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('df9219a1cca3ff383a253b781b9c78879cdbee9f787cace1165ce0dc2f79e4b6', CAST('{"description":"Asks three questions at once. After a day without answers it goes on with its own.","edges":[{"id":"ask-book","sourceNodeId":"ask","targetNodeId":"book"}],"id":"form","metadata":{},"name":"A form","nodes":[{"config":{"defaultAnswers":{"day":"any day","lunch":false,"people":1},"questions":[{"id":"day","question":"When do you come to {{variables.city}}?","schema":{"minLength":3,"type":"string"}},{"id":"people","question":"How many are you?","schema":{"maximum":8,"minimum":1,"type":"integer"}},{"id":"lunch","question":"With lunch?","schema":{"type":"boolean"}}],"timeoutMs":86400000},"id":"ask","inputs":{},"name":"What do you need?","position":{"x":0,"y":0},"typeId":"core.clarificationGate"},{"config":{"template":"A table for {{ports.need.people}} in {{variables.city}}, {{ports.need.day}}"},"id":"book","inputs":{"need":{"nodeId":"ask","outputKey":"answers","type":"connection"}},"name":"Book","position":{"x":200,"y":0},"typeId":"core.template"}],"settings":{},"triggers":[{"id":"manual","type":"manual"}],"variables":[{"defaultValue":"Bern","name":"city","type":"string"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('e667f69a7a9e970bb9291b13ab7a59aa465609b69723478d85f8448f45658e5f', CAST('{"description":"Waits until a shop says that an order is paid, and takes no other order for it.","edges":[{"id":"wait-ship","sourceNodeId":"wait","targetNodeId":"ship"}],"id":"event","metadata":{},"name":"An event from outside","nodes":[{"config":{"data":{"eventType":"shop.order.paid"},"kind":"external-event","timeoutMs":3600000},"id":"wait","inputs":{"correlation":{"expression":"{''orderId'': variables.orderId, ''status'': ''paid''}","type":"expression"}},"name":"Is it paid?","position":{"x":0,"y":0},"typeId":"core.interrupt"},{"config":{"template":"{{ports.paid.orderId}} is shipped, {{ports.paid.amount}} is paid"},"id":"ship","inputs":{"paid":{"nodeId":"wait","outputKey":"output","type":"connection"}},"name":"Ship","position":{"x":200,"y":0},"typeId":"core.template"}],"settings":{},"triggers":[{"id":"manual","type":"manual"}],"variables":[{"name":"orderId","required":true,"type":"string"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('f135f29a3129ebc717f3388f8c37bc9dd7911ea39123eaed282626c4376ac89c', CAST('{"edges":[{"id":"e0","sourceNodeId":"a","targetNodeId":"b"},{"id":"e1","sourceNodeId":"b","targetNodeId":"c"}],"id":"steps","metadata":{},"name":"steps","nodes":[{"config":{},"id":"a","inputs":{},"name":"a","position":{"x":0,"y":0},"typeId":"core.noop"},{"config":{},"id":"b","inputs":{"secret":{"type":"variable","variableName":"secret"},"word":{"type":"variable","variableName":"word"}},"name":"b","position":{"x":0,"y":0},"typeId":"core.identity"},{"config":{},"id":"c","inputs":{"word":{"nodeId":"b","outputKey":"word","type":"connection"}},"name":"c","outputRole":"primary","position":{"x":0,"y":0},"typeId":"core.identity"}],"settings":{},"triggers":[{"enabled":true,"id":"manual","type":"manual"}],"variables":[{"defaultValue":"owl","name":"word","type":"string"},{"defaultValue":"hush","name":"secret","sensitive":true,"type":"string"}],"version":"1.0"}' AS BLOB));
INSERT INTO deleted_runs VALUES (12, 'live:acme', '01m7jvwsh07v1jhhq1advbjj3q', 1794855823543, 1);
INSERT INTO annotations VALUES (1, 11, '182a94dc04be353ca8546f14', CAST('{"annotationId":"182a94dc04be353ca8546f14","target":{"runId":"01m7jvwsfpetejt4v3fty4aw8r"},"signal":{"kind":"rating","rating":4},"actor":{"principalRef":"key_f621d5d49a226755"},"createdAt":"2026-11-16T19:03:43.496Z","note":"ok"}' AS BLOB));
INSERT INTO open_interrupts VALUES (8, 'ask.1', 'live:acme', '01m7jvwsdrns66mj1dqzws7y3s', 'asks', 'custom', 'ask', 1794855822783, NULL);
INSERT INTO open_interrupts VALUES (13, 'gate.1', 'live:acme', '01m7jvwshk588682adt7wdy12a', 'approval', 'approval', 'gate', 1794855822900, 1795115022900);
INSERT INTO open_interrupts VALUES (16, 'gate.1', 'live:acme', '01m7jvwskrs4vtxy0yjx24fvxz', 'quorum', 'approval', 'gate', 1794855822971, NULL);
INSERT INTO open_interrupts VALUES (17, 'wait.1', 'live:acme', '01m7jvwsmrj9w7xpb7f0d7by4e', 'event', 'external-event', 'wait', 1794855823004, 1794859423004);
INSERT INTO open_interrupts VALUES (18, 'ask.1', 'live:acme', '01m7jvwsn5pcge1nc31sym82e5', 'form', 'clarification', 'ask', 1794855823014, 1794942223014);
INSERT INTO open_interrupts VALUES (19, 't.2', 'live:acme', '01m7jvwsnvwqaeycbmybb2ec5e', 'talks', 'conversation.exchange', 't', 1794855823059, NULL);
CREATE INDEX runs_by_status ON runs (partition, status, run_no);
CREATE INDEX runs_by_workflow ON runs (partition, workflow_id, status, run_no);
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
CREATE INDEX runs_awake ON runs (run_no) WHERE completed_at IS NULL AND parked = 0;
CREATE INDEX runs_waking ON runs (wake_at) WHERE parked = 1 AND wake_at IS NOT NULL;
CREATE INDEX open_by_age ON open_interrupts
  (partition, requested_at, run_id, interrupt_id, kind, node_id, due, workflow_id);
CREATE INDEX open_by_workflow ON open_interrupts
  (partition, workflow_id, requested_at, run_id, interrupt_id, kind, node_id, due);
COMMIT;
