PRAGMA user_version = 1;
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
) STRICT;
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
INSERT INTO runs VALUES (1, 'live:acme', '01m7js5rb9pcm98sgw19nv2x8n', 'steps', NULL, 'completed', 7, 1794852970857, 1794852970857, NULL, 3, NULL, CAST('{"c":{"word":"[REDACTED:c.word]"}}' AS BLOB));
INSERT INTO runs VALUES (2, 'live:acme', '01m7js5rbme6x97gqrbda2me5d', 'steps', NULL, 'completed', 7, 1794852970868, 1794852970868, NULL, 3, NULL, CAST('{"c":{"word":"[REDACTED:c.word]"}}' AS BLOB));
INSERT INTO runs VALUES (3, 'live:acme', '01m7js5rc1z7xc1ek87aybtvb7', 'fails', NULL, 'failed', 5, 1794852970881, 1794852970881, NULL, 2, CAST('{"code":"conformance_test_failure","message":"Intentional conformance failure"}' AS BLOB), NULL);
INSERT INTO runs VALUES (4, 'live:acme', '01m7js5rc8mfbdsde39q51a3cm', 'delays', NULL, 'running', 3, 1794852970889, NULL, 'd', 2, NULL, NULL);
INSERT INTO runs VALUES (5, 'live:acme', '01m7js5rcvnk6w4qbcfra0vz3v', 'delays', NULL, 'cancelled', 6, 1794852970908, 1794852971225, NULL, 2, NULL, NULL);
INSERT INTO run_headers VALUES (1, CAST('{"run_id":"01m7js5rb9pcm98sgw19nv2x8n","partition":"live:acme","owner":{"tenant":"acme","principal":"key_73d8f9f955892697"},"workflow_id":"steps","definition":"37e817ed77308de4adaee01108c78821f552150fe061b60e75c59952fd28e54f","created_at":1794852970857,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (2, CAST(X'7b2272756e5f6964223a2230316d376a733572626d6536783937677172626461326d653564222c22706172746974696f6e223a226c6976653a61636d65222c226f776e6572223a7b2274656e616e74223a2261636d65222c227072696e636970616c223a226b65795f37336438663966393535383932363937227d2c22776f726b666c6f775f6964223a227374657073222c22646566696e6974696f6e223a2233376538313765643737333038646534616461656530313130386337383832316635353231353066653036316236306537356335393935326664323865353466222c22637265617465645f6174223a313739343835323937303836382c22696e70757473223a7b22776f7264223a22c3a96c616e20e280a820e29882227d2c2274616773223a5b227265636f72646564222c22706c61696e225d7d' AS BLOB));
INSERT INTO run_headers VALUES (3, CAST('{"run_id":"01m7js5rc1z7xc1ek87aybtvb7","partition":"live:acme","owner":{"tenant":"acme","principal":"key_73d8f9f955892697"},"workflow_id":"fails","definition":"6aa4e5ff4ef8090e3ae2db68089f63c27d179f826e33286017859a5f668d2376","created_at":1794852970881,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (4, CAST('{"run_id":"01m7js5rc8mfbdsde39q51a3cm","partition":"live:acme","owner":{"tenant":"acme","principal":"key_73d8f9f955892697"},"workflow_id":"delays","definition":"2104b2443464777c07d85868e1802c0005d2c4770e716a133ab045c91cb47eeb","created_at":1794852970888,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (5, CAST('{"run_id":"01m7js5rcvnk6w4qbcfra0vz3v","partition":"live:acme","owner":{"tenant":"acme","principal":"key_73d8f9f955892697"},"workflow_id":"delays","definition":"2104b2443464777c07d85868e1802c0005d2c4770e716a133ab045c91cb47eeb","created_at":1794852970907,"tags":["recorded","cancel"]}' AS BLOB));
INSERT INTO events VALUES (67108864, '0890f4032c8d756fc55c62c1', 'run.started', 1794852970857, CAST('{"inputs":{},"owner":{"principal":"key_73d8f9f955892697","tenant":"acme"},"workflowId":"steps"}' AS BLOB), NULL, NULL, 1, 1);
INSERT INTO events VALUES (67108865, '6960f3517f8c7a5c4adab495', 'node.started', 1794852970857, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1);
INSERT INTO events VALUES (67108866, 'ad5bb975097c8c23b3802560', 'node.completed', 1794852970857, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1);
INSERT INTO events VALUES (67108867, 'e7d9472bc485284561790682', 'node.started', 1794852970857, CAST('{"attempt":1,"nodeId":"b","typeId":"core.identity"}' AS BLOB), 'b', NULL, 1, 1);
INSERT INTO events VALUES (67108868, '3ab4942172d058a888e85c82', 'node.completed', 1794852970857, CAST('{"nodeId":"b","outputs":{"secret":"[REDACTED:b.secret]","word":"[REDACTED:b.word]"}}' AS BLOB), 'b', NULL, 1, 1);
INSERT INTO events VALUES (67108869, '83308d29e6a078bc1167adb7', 'node.started', 1794852970857, CAST('{"attempt":1,"nodeId":"c","typeId":"core.identity"}' AS BLOB), 'c', NULL, 1, 1);
INSERT INTO events VALUES (67108870, '583174f46a7491bddf051466', 'node.completed', 1794852970857, CAST('{"nodeId":"c","outputs":{"word":"[REDACTED:c.word]"}}' AS BLOB), 'c', NULL, 1, 1);
INSERT INTO events VALUES (67108871, '157eb66add7cbdd75df0f3b6', 'run.completed', 1794852970857, CAST('{"outputs":{"c":{"word":"[REDACTED:c.word]"}}}' AS BLOB), NULL, NULL, 1, 1);
INSERT INTO events VALUES (134217728, '4755b787c06ceeef5efd3ca5', 'run.started', 1794852970868, CAST(X'7b22696e70757473223a7b22776f7264223a22c3a96c616e20e280a820e29882227d2c226f776e6572223a7b227072696e636970616c223a226b65795f37336438663966393535383932363937222c2274656e616e74223a2261636d65227d2c22776f726b666c6f774964223a227374657073227d' AS BLOB), NULL, NULL, 1, 1);
INSERT INTO events VALUES (134217729, 'd0673e743367500d195ab559', 'node.started', 1794852970868, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1);
INSERT INTO events VALUES (134217730, 'a6d2f5c4d04d26cf7b129505', 'node.completed', 1794852970868, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1);
INSERT INTO events VALUES (134217731, '6a3ec77a12398631e678ddb9', 'node.started', 1794852970868, CAST('{"attempt":1,"nodeId":"b","typeId":"core.identity"}' AS BLOB), 'b', NULL, 1, 1);
INSERT INTO events VALUES (134217732, 'cadaab06e85c55d90166a227', 'node.completed', 1794852970868, CAST('{"nodeId":"b","outputs":{"secret":"[REDACTED:b.secret]","word":"[REDACTED:b.word]"}}' AS BLOB), 'b', NULL, 1, 1);
INSERT INTO events VALUES (134217733, '90d980206a888e2429df0b4a', 'node.started', 1794852970868, CAST('{"attempt":1,"nodeId":"c","typeId":"core.identity"}' AS BLOB), 'c', NULL, 1, 1);
INSERT INTO events VALUES (134217734, '0531b84f59e49f3423aeb173', 'node.completed', 1794852970868, CAST('{"nodeId":"c","outputs":{"word":"[REDACTED:c.word]"}}' AS BLOB), 'c', NULL, 1, 1);
INSERT INTO events VALUES (134217735, 'ca1a5a1afdc2cd6f02f5d25e', 'run.completed', 1794852970868, CAST('{"outputs":{"c":{"word":"[REDACTED:c.word]"}}}' AS BLOB), NULL, NULL, 1, 1);
INSERT INTO events VALUES (201326592, '6cde70cdd82d06576bb258e9', 'run.started', 1794852970881, CAST('{"inputs":{},"owner":{"principal":"key_73d8f9f955892697","tenant":"acme"},"workflowId":"fails"}' AS BLOB), NULL, NULL, 1, 1);
INSERT INTO events VALUES (201326593, '24c8b94c0e73121ec8090296', 'node.started', 1794852970881, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1);
INSERT INTO events VALUES (201326594, '47530cbf6e161f44e084eb0e', 'node.completed', 1794852970881, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1);
INSERT INTO events VALUES (201326595, '93edc73a9a641112fb8b277d', 'node.started', 1794852970881, CAST('{"attempt":1,"nodeId":"b","typeId":"core.fail"}' AS BLOB), 'b', NULL, 1, 1);
INSERT INTO events VALUES (201326596, 'a6f641dc326d9f86e0f3688d', 'node.failed', 1794852970881, CAST('{"error":{"code":"conformance_test_failure","message":"Intentional conformance failure"},"nodeId":"b"}' AS BLOB), 'b', NULL, 1, 1);
INSERT INTO events VALUES (201326597, 'a3d6fee32153115660b935c1', 'run.failed', 1794852970881, CAST('{"error":{"code":"conformance_test_failure","message":"Intentional conformance failure"},"failedNodeId":"b"}' AS BLOB), NULL, NULL, 1, 1);
INSERT INTO events VALUES (268435456, 'a9186905c1fb469d64cc6d9a', 'run.started', 1794852970889, CAST('{"inputs":{},"owner":{"principal":"key_73d8f9f955892697","tenant":"acme"},"workflowId":"delays"}' AS BLOB), NULL, NULL, 1, 1);
INSERT INTO events VALUES (268435457, '1ad2bfc655e09d49f0da4364', 'node.started', 1794852970889, CAST('{"attempt":1,"nodeId":"a","typeId":"core.identity"}' AS BLOB), 'a', NULL, 1, 1);
INSERT INTO events VALUES (268435458, '8d4918e176fee6fa1b6b9674', 'node.completed', 1794852970889, CAST('{"nodeId":"a","outputs":{"secret":"[REDACTED:a.secret]"}}' AS BLOB), 'a', NULL, 1, 1);
INSERT INTO events VALUES (268435459, '1d6824de0bee8bc303db85aa', 'node.started', 1794852970889, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1);
INSERT INTO events VALUES (335544320, '35cae1032aec4c8f3eeff1b4', 'run.started', 1794852970908, CAST('{"inputs":{},"owner":{"principal":"key_73d8f9f955892697","tenant":"acme"},"workflowId":"delays"}' AS BLOB), NULL, NULL, 1, 1);
INSERT INTO events VALUES (335544321, 'e65c402a3d9205717a9a9f1d', 'node.started', 1794852970908, CAST('{"attempt":1,"nodeId":"a","typeId":"core.identity"}' AS BLOB), 'a', NULL, 1, 1);
INSERT INTO events VALUES (335544322, '38eb2e1d3a0601ce8dea26a2', 'node.completed', 1794852970908, CAST('{"nodeId":"a","outputs":{"secret":"[REDACTED:a.secret]"}}' AS BLOB), 'a', NULL, 1, 1);
INSERT INTO events VALUES (335544323, 'a0881cfefc6d07ecbdf9059a', 'node.started', 1794852970908, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1);
INSERT INTO events VALUES (335544324, '7750e2376e4e581443bd6623', 'weftwork.run.cancel-requested', 1794852971220, CAST('{"reason":"changed my mind"}' AS BLOB), NULL, NULL, 1, 1);
INSERT INTO events VALUES (335544325, '7fc47dbea45c27759e0c1ecf', 'node.cancelled', 1794852971225, CAST('{"nodeId":"d"}' AS BLOB), 'd', NULL, 1, 1);
INSERT INTO events VALUES (335544326, '758f87f37c857a520333a7a0', 'run.cancelled', 1794852971225, CAST('{"reason":"changed my mind"}' AS BLOB), NULL, NULL, 1, 1);
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
INSERT INTO hidden VALUES (1, 1, 4, '/outputs/word', CAST('"xxx"' AS BLOB));
INSERT INTO hidden VALUES (2, 1, 4, '/outputs/secret', CAST('"xxxx"' AS BLOB));
INSERT INTO hidden VALUES (3, 1, 6, '/outputs/word', CAST('"xxx"' AS BLOB));
INSERT INTO hidden VALUES (4, 1, 7, '/outputs/c/word', CAST('"xxx"' AS BLOB));
INSERT INTO hidden VALUES (5, 2, 4, '/outputs/word', CAST('"xxxxxxxx"' AS BLOB));
INSERT INTO hidden VALUES (6, 2, 4, '/outputs/secret', CAST('"xxxx"' AS BLOB));
INSERT INTO hidden VALUES (7, 2, 6, '/outputs/word', CAST('"xxxxxxxx"' AS BLOB));
INSERT INTO hidden VALUES (8, 2, 7, '/outputs/c/word', CAST('"xxxxxxxx"' AS BLOB));
INSERT INTO hidden VALUES (9, 4, 2, '/outputs/secret', CAST('"xxxx"' AS BLOB));
INSERT INTO hidden VALUES (10, 5, 2, '/outputs/secret', CAST('"xxxx"' AS BLOB));
INSERT INTO run_tags VALUES ('live:acme', 'cancel', 5);
INSERT INTO run_tags VALUES ('live:acme', 'plain', 1);
INSERT INTO run_tags VALUES ('live:acme', 'plain', 2);
INSERT INTO run_tags VALUES ('live:acme', 'plain', 3);
INSERT INTO run_tags VALUES ('live:acme', 'plain', 4);
INSERT INTO run_tags VALUES ('live:acme', 'recorded', 1);
INSERT INTO run_tags VALUES ('live:acme', 'recorded', 2);
INSERT INTO run_tags VALUES ('live:acme', 'recorded', 3);
INSERT INTO run_tags VALUES ('live:acme', 'recorded', 4);
INSERT INTO run_tags VALUES ('live:acme', 'recorded', 5);
INSERT INTO idempotency VALUES (1, 'live:acme', '61a985f870cc6e41f93abf2c7b2511e14c15b86e671537a8792ca3271a428477', 'bea331ee4f5f0b1a569ecda7bbe1e96ce82eba15e24f4b1fa0a4322da4b1646b', CAST('{"run_id":"01m7js5rb9pcm98sgw19nv2x8n","status":"pending","replayed":false}' AS BLOB), 1794852970857);
INSERT INTO idempotency VALUES (2, 'live:acme', 'dfce0f4614e6373d7ac9bbf429dd89680e0127c208fba439cfe3ccd5d23c98ec', '410d8cc13960308047f90d0c1dec055eb74b241f8998df1dfd07cea4c11c40ee', CAST('{"run_id":"01m7js5rbme6x97gqrbda2me5d","status":"pending","replayed":false}' AS BLOB), 1794852970868);
INSERT INTO idempotency VALUES (3, 'live:acme', '8e3ec313a4420d425f5a0a6547b4f49e9c2fd2f2101c752a6982d28eed7ed7b2', '7d41ae182720cd4e7f96fe02996dd1311b613fdf6b743aa121da166959dbde3e', CAST('{"run_id":"01m7js5rc1z7xc1ek87aybtvb7","status":"pending","replayed":false}' AS BLOB), 1794852970881);
INSERT INTO idempotency VALUES (4, 'live:acme', '2dd923e5d6c5b95437f27bcbbb78858e459ca89f8a8cc26c61a0977dda6e5535', '294cb31a28ff3950c8e69947a62e65264bf09459769432db303ca6457b5823e9', CAST('{"run_id":"01m7js5rc8mfbdsde39q51a3cm","status":"pending","replayed":false}' AS BLOB), 1794852970888);
INSERT INTO idempotency VALUES (5, 'live:acme', '19f12c22be65e06a90e64b855f7419dcf205317475868848cc1f69ebf360f32a', '4e9585cdffde56256d715dbefdbecadda83655d126fc4191b4c740e9dde2820d', CAST('{"run_id":"01m7js5rcvnk6w4qbcfra0vz3v","status":"pending","replayed":false}' AS BLOB), 1794852970907);
INSERT INTO definitions VALUES ('2104b2443464777c07d85868e1802c0005d2c4770e716a133ab045c91cb47eeb', CAST('{"edges":[{"id":"e0","sourceNodeId":"a","targetNodeId":"d"},{"id":"e1","sourceNodeId":"d","targetNodeId":"c"}],"id":"delays","metadata":{},"name":"delays","nodes":[{"config":{},"id":"a","inputs":{"secret":{"type":"variable","variableName":"secret"}},"name":"a","position":{"x":0,"y":0},"typeId":"core.identity"},{"config":{},"id":"d","inputs":{"delayMs":{"type":"static","value":60000}},"name":"d","position":{"x":0,"y":0},"typeId":"core.delay"},{"config":{},"id":"c","inputs":{"secret":{"nodeId":"a","outputKey":"secret","type":"connection"}},"name":"c","position":{"x":0,"y":0},"typeId":"core.identity"}],"settings":{},"triggers":[{"enabled":true,"id":"manual","type":"manual"}],"variables":[{"defaultValue":"hush","name":"secret","sensitive":true,"type":"string"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('37e817ed77308de4adaee01108c78821f552150fe061b60e75c59952fd28e54f', CAST('{"edges":[{"id":"e0","sourceNodeId":"a","targetNodeId":"b"},{"id":"e1","sourceNodeId":"b","targetNodeId":"c"}],"id":"steps","metadata":{},"name":"steps","nodes":[{"config":{},"id":"a","inputs":{},"name":"a","position":{"x":0,"y":0},"typeId":"core.noop"},{"config":{},"id":"b","inputs":{"secret":{"type":"variable","variableName":"secret"},"word":{"type":"variable","variableName":"word"}},"name":"b","position":{"x":0,"y":0},"typeId":"core.identity"},{"config":{},"id":"c","inputs":{"word":{"nodeId":"b","outputKey":"word","type":"connection"}},"name":"c","position":{"x":0,"y":0},"typeId":"core.identity"}],"settings":{},"triggers":[{"enabled":true,"id":"manual","type":"manual"}],"variables":[{"defaultValue":"owl","name":"word","type":"string"},{"defaultValue":"hush","name":"secret","sensitive":true,"type":"string"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('6aa4e5ff4ef8090e3ae2db68089f63c27d179f826e33286017859a5f668d2376', CAST('{"edges":[{"id":"e0","sourceNodeId":"a","targetNodeId":"b"}],"id":"fails","metadata":{},"name":"fails","nodes":[{"config":{},"id":"a","inputs":{},"name":"a","position":{"x":0,"y":0},"typeId":"core.noop"},{"config":{},"id":"b","inputs":{},"name":"b","position":{"x":0,"y":0},"typeId":"core.fail"}],"settings":{},"triggers":[{"enabled":true,"id":"manual","type":"manual"}],"variables":[],"version":"1.0"}' AS BLOB));
CREATE INDEX runs_by_status ON runs (partition, status, run_no);
CREATE INDEX runs_by_workflow ON runs (partition, workflow_id, status, run_no);
CREATE INDEX runs_live ON runs (run_no) WHERE completed_at IS NULL;
CREATE INDEX runs_live_in_scope ON runs (partition, scope_id, run_no) WHERE completed_at IS NULL;
CREATE INDEX hidden_by_run ON hidden (run_no, sequence);
CREATE INDEX idempotency_by_age ON idempotency (created_at);
COMMIT;
