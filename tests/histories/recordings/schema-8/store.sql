PRAGMA user_version = 8;
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
  outputs BLOB, parked INTEGER NOT NULL DEFAULT 0, wake_at INTEGER, is_child INTEGER NOT NULL DEFAULT 0, has_children INTEGER NOT NULL DEFAULT 0,
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
CREATE TABLE kinship (
  run_no INTEGER PRIMARY KEY,
  parent_no INTEGER NOT NULL,
  partition TEXT NOT NULL,
  root TEXT NOT NULL,
  awaited INTEGER NOT NULL,
  cascades INTEGER NOT NULL
) STRICT;
CREATE TABLE news (
  run_no INTEGER PRIMARY KEY,
  parent_no INTEGER NOT NULL,
  node_id TEXT NOT NULL,
  key TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  status TEXT NOT NULL,
  outcome BLOB NOT NULL
) STRICT;
CREATE TABLE orders (
  run_no INTEGER PRIMARY KEY,
  parent TEXT NOT NULL,
  reason TEXT NOT NULL
) STRICT;
INSERT INTO runs VALUES (1, 'live:acme', '01m7jvwsj6ccrve4ey88eg5x80', 'steps', NULL, 'completed', 7, 1794855822938, 1794855822938, NULL, 3, NULL, CAST('{"c":{"word":"[REDACTED:c.word]"}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (2, 'live:acme', '01m7jvwskke3xqw1tk40mgv8d2', 'steps', NULL, 'completed', 7, 1794855822964, 1794855822964, NULL, 3, NULL, CAST('{"c":{"word":"[REDACTED:c.word]"}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (3, 'live:acme', '01m7jvwsmj8smt8vh330z2ewem', 'fails', NULL, 'failed', 5, 1794855823003, 1794855823003, NULL, 2, CAST('{"code":"conformance_test_failure","message":"Intentional conformance failure"}' AS BLOB), NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (4, 'live:acme', '01m7jvwsnbzwxtm0fn0fmnkdp1', 'delays', NULL, 'running', 3, 1794855823027, NULL, 'd', 2, NULL, NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (5, 'live:acme', '01m7jvwsp1nenmsr26zbx1h8z5', 'delays', NULL, 'cancelled', 6, 1794855823042, 1794855824031, NULL, 2, NULL, NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (6, 'live:acme', '01m7jvwspet7beb4yb4g81fvea', 'graph', NULL, 'running', 5, 1794855823062, NULL, 'ship', 3, NULL, NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (7, 'live:acme', '01m7jvwsqa5j1q5kqkma1th99d', 'loop', NULL, 'running', 12, 1794855823100, NULL, 'wait', 6, NULL, NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (8, 'live:acme', '01m7jvwsrcbmph6zz0pwmffq9c', 'asks', NULL, 'waiting-input', 3, 1794855823118, NULL, 'ask', 1, NULL, NULL, 1, NULL, 0, 0);
INSERT INTO runs VALUES (9, 'live:acme', '01m7jvwss82nc5mhn3bxeva1eg', 'asks', NULL, 'completed', 10, 1794855823149, 1794855824035, NULL, 2, NULL, CAST('{"keep":{"artifactId":"keep","artifactType":"order","output":{"supplier":"north"}}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (10, 'live:acme', '01m7jvwsstmbcgx8rgqardygd7', 'delays', NULL, 'running', 4, 1794855823164, NULL, 'd', 2, NULL, NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (11, 'live:acme', '01m7jvwstmxvwn1fmfnz0jek5p', 'steps', NULL, 'completed', 7, 1794855823189, 1794855823189, NULL, 3, NULL, CAST('{"c":{"word":"[REDACTED:c.word]"}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (13, 'live:acme', '01m7jvwsw7wjz3pbe7e8kmjrzc', 'approval', NULL, 'waiting-approval', 4, 1794855823248, NULL, 'gate', 1, NULL, NULL, 1, 1794942223248, 0, 0);
INSERT INTO runs VALUES (14, 'live:acme', '01m7jvwsxk3tv370kcbf5y1yzn', 'approval', NULL, 'completed', 12, 1794855823291, 1794855824146, NULL, 2, NULL, CAST('{"paid":{"output":"a chair is paid: 100"}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (15, 'live:acme', '01m7jvwsyfekhk72adz7m03v1p', 'approval', NULL, 'completed', 12, 1794855823314, 1794855824163, NULL, 2, NULL, CAST('{"kept":{"output":"a chair is not paid"}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (16, 'live:acme', '01m7jvwszr16n18brqenye59r1', 'quorum', NULL, 'waiting-approval', 5, 1794855823370, NULL, 'gate', 1, NULL, NULL, 1, NULL, 0, 0);
INSERT INTO runs VALUES (17, 'live:acme', '01m7jvwt11fpq2wp4dxp57em88', 'event', NULL, 'waiting-external', 3, 1794855823395, NULL, 'wait', 1, NULL, NULL, 1, 1794859423395, 0, 0);
INSERT INTO runs VALUES (18, 'live:acme', '01m7jvwt1mjkq0q0zkvqj7wzz8', 'form', NULL, 'waiting-input', 4, 1794855823414, NULL, 'ask', 1, NULL, NULL, 1, 1794942223414, 0, 0);
INSERT INTO runs VALUES (19, 'live:acme', '01m7jvwt2rw7r4d8nhw4ckyrer', 'talks', NULL, 'waiting-approval', 6, 1794855823454, NULL, 't', 1, NULL, NULL, 1, NULL, 0, 0);
INSERT INTO runs VALUES (20, 'live:acme', '01m7jvwt4bj7jybz12r74h5ese', 'order', NULL, 'completed', 8, 1794855823500, 1794855823587, NULL, 2, NULL, CAST('{"offer":{"output":"12 chairs for 384"}}' AS BLOB), 0, NULL, 0, 1);
INSERT INTO runs VALUES (21, 'live:acme', '01m7jvwt53msf49z3zke4jpand', 'price', NULL, 'completed', 4, 1794855823545, 1794855823545, NULL, 1, NULL, CAST('{"total":{"output":384}}' AS BLOB), 0, NULL, 1, 0);
INSERT INTO runs VALUES (22, 'live:acme', '01m7jvwt5ehwnq87n2m037tq6k', 'article', NULL, 'completed', 33, 1794855823535, 1794855823771, NULL, 6, NULL, CAST('{"result":{"decisions":3,"text":"Did you know that owls see in the dark?"}}' AS BLOB), 0, NULL, 0, 1);
INSERT INTO runs VALUES (23, 'live:acme', '01m7jvwt6570crbztm3t95r023', 'parcels', NULL, 'running', 6, 1794855823582, NULL, 'pack', 1, NULL, NULL, 1, NULL, 0, 1);
INSERT INTO runs VALUES (24, 'live:acme', '01m7jvwt730wzcwd5k7jcftvqf', 'research', NULL, 'completed', 6, 1794855823607, 1794855823607, NULL, 2, NULL, CAST('{"keep":{"output":"owls see in the dark"}}' AS BLOB), 0, NULL, 1, 0);
INSERT INTO runs VALUES (25, 'live:acme', '01m7jvwt7axbpp098bm05mbgq5', 'parcel', NULL, 'completed', 8, 1794855823614, 1794855823628, NULL, 3, NULL, CAST('{"stick":{"output":"1: Ada"}}' AS BLOB), 0, NULL, 1, 0);
INSERT INTO runs VALUES (26, 'live:acme', '01m7jvwt7db3h8fpc7d881v0r2', 'parcel', NULL, 'running', 1, 1794855823614, NULL, 'fill', 1, NULL, NULL, 0, NULL, 1, 0);
INSERT INTO runs VALUES (27, 'live:acme', '01m7jvwt7macnseqhdwd1c2dq1', 'parent', NULL, 'running', 2, 1794855823615, NULL, 's', 1, NULL, NULL, 1, NULL, 0, 1);
INSERT INTO runs VALUES (28, 'live:acme', '01m7jvwt8c2wn7175xpe80an5p', 'parent', NULL, 'cancelled', 4, 1794855823636, 1794855824527, NULL, 1, NULL, NULL, 0, NULL, 0, 1);
INSERT INTO runs VALUES (29, 'live:acme', '01m7jvwt87wd7p6w74vsas9e99', 'delays', NULL, 'running', 3, 1794855823651, NULL, 'd', 2, NULL, NULL, 0, NULL, 1, 0);
INSERT INTO runs VALUES (30, 'live:acme', '01m7jvwt93zpwd9h57jmt2qn2r', 'delays', NULL, 'cancelled', 6, 1794855823676, 1794855824548, NULL, 2, NULL, NULL, 0, NULL, 1, 0);
INSERT INTO runs VALUES (31, 'live:acme', '01m7jvwt97g6r41aap93pr8ptf', 'parent-asks', NULL, 'waiting-approval', 3, 1794855823659, NULL, 's', 1, NULL, NULL, 1, NULL, 0, 1);
INSERT INTO runs VALUES (32, 'live:acme', '01m7jvwt9ksc9rc0zzx1sexy3m', 'parcel', NULL, 'completed', 8, 1794855823690, 1794855823718, NULL, 3, NULL, CAST('{"stick":{"output":"3: Eve"}}' AS BLOB), 0, NULL, 1, 0);
INSERT INTO runs VALUES (33, 'live:acme', '01m7jvwt9xv7c1v9p5e5q2a9dt', 'approval', NULL, 'waiting-approval', 4, 1794855823709, NULL, 'gate', 1, NULL, NULL, 1, 1794942223709, 1, 0);
INSERT INTO runs VALUES (34, 'live:acme', '01m7jvwta3yagyr112v8jcd7zf', 'list', NULL, 'running', 6, 1794855823691, NULL, 'm', 2, NULL, NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (35, 'live:acme', '01m7jvwtb77jn2h7dbnvyx41ax', 'write', NULL, 'completed', 6, 1794855823735, 1794855823735, NULL, 2, NULL, CAST('{"keep":{"output":"Did you know that owls see in the dark?"}}' AS BLOB), 0, NULL, 1, 0);
INSERT INTO run_headers VALUES (1, CAST('{"run_id":"01m7jvwsj6ccrve4ey88eg5x80","partition":"live:acme","owner":{"tenant":"acme","principal":"key_e9e1fc1b52656f73"},"workflow_id":"steps","definition":"f135f29a3129ebc717f3388f8c37bc9dd7911ea39123eaed282626c4376ac89c","created_at":1794855822918,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (2, CAST(X'7b2272756e5f6964223a2230316d376a7677736b6b653378717731746b34306d6776386432222c22706172746974696f6e223a226c6976653a61636d65222c226f776e6572223a7b2274656e616e74223a2261636d65222c227072696e636970616c223a226b65795f65396531666331623532363536663733227d2c22776f726b666c6f775f6964223a227374657073222c22646566696e6974696f6e223a2266313335663239613331323965626337313766333338386638633337626339646437393131656133393132336561656432383236323663343337366163383963222c22637265617465645f6174223a313739343835353832323936332c22696e70757473223a7b22776f7264223a22c3a96c616e20e280a820e29882227d2c2274616773223a5b227265636f72646564222c22706c61696e225d7d' AS BLOB));
INSERT INTO run_headers VALUES (3, CAST('{"run_id":"01m7jvwsmj8smt8vh330z2ewem","partition":"live:acme","owner":{"tenant":"acme","principal":"key_e9e1fc1b52656f73"},"workflow_id":"fails","definition":"6aa4e5ff4ef8090e3ae2db68089f63c27d179f826e33286017859a5f668d2376","created_at":1794855822994,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (4, CAST('{"run_id":"01m7jvwsnbzwxtm0fn0fmnkdp1","partition":"live:acme","owner":{"tenant":"acme","principal":"key_e9e1fc1b52656f73"},"workflow_id":"delays","definition":"2104b2443464777c07d85868e1802c0005d2c4770e716a133ab045c91cb47eeb","created_at":1794855823019,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (5, CAST('{"run_id":"01m7jvwsp1nenmsr26zbx1h8z5","partition":"live:acme","owner":{"tenant":"acme","principal":"key_e9e1fc1b52656f73"},"workflow_id":"delays","definition":"2104b2443464777c07d85868e1802c0005d2c4770e716a133ab045c91cb47eeb","created_at":1794855823041,"tags":["recorded","cancel"]}' AS BLOB));
INSERT INTO run_headers VALUES (6, CAST('{"run_id":"01m7jvwspet7beb4yb4g81fvea","partition":"live:acme","owner":{"tenant":"acme","principal":"key_e9e1fc1b52656f73"},"workflow_id":"graph","definition":"ab91191d59ff8f9734d0ff7341ee3569b6ad9ff6ca96631810906aed3b0f99fd","created_at":1794855823054,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (7, CAST('{"run_id":"01m7jvwsqa5j1q5kqkma1th99d","partition":"live:acme","owner":{"tenant":"acme","principal":"key_e9e1fc1b52656f73"},"workflow_id":"loop","definition":"55fa38846b98bac0d4277e240e539eecfaa2e1e9e0c6ff70fd268c29c761cbef","created_at":1794855823082,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (8, CAST('{"run_id":"01m7jvwsrcbmph6zz0pwmffq9c","partition":"live:acme","owner":{"tenant":"acme","principal":"key_e9e1fc1b52656f73"},"workflow_id":"asks","definition":"210403c04c63e6d326493908fce767f01a257d7e9887af7c9784e8f1ef85b1b1","created_at":1794855823116,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (9, CAST('{"run_id":"01m7jvwss82nc5mhn3bxeva1eg","partition":"live:acme","owner":{"tenant":"acme","principal":"key_e9e1fc1b52656f73"},"workflow_id":"asks","definition":"210403c04c63e6d326493908fce767f01a257d7e9887af7c9784e8f1ef85b1b1","created_at":1794855823144,"tags":["recorded","answer"]}' AS BLOB));
INSERT INTO run_headers VALUES (10, CAST('{"run_id":"01m7jvwsstmbcgx8rgqardygd7","partition":"live:acme","owner":{"tenant":"acme","principal":"key_e9e1fc1b52656f73"},"workflow_id":"delays","definition":"2104b2443464777c07d85868e1802c0005d2c4770e716a133ab045c91cb47eeb","created_at":1794855823162,"tags":["recorded","pause"]}' AS BLOB));
INSERT INTO run_headers VALUES (11, CAST('{"run_id":"01m7jvwstmxvwn1fmfnz0jek5p","partition":"live:acme","owner":{"tenant":"acme","principal":"key_e9e1fc1b52656f73"},"workflow_id":"steps","definition":"f135f29a3129ebc717f3388f8c37bc9dd7911ea39123eaed282626c4376ac89c","created_at":1794855823188,"tags":["recorded","annotate"]}' AS BLOB));
INSERT INTO run_headers VALUES (13, CAST('{"run_id":"01m7jvwsw7wjz3pbe7e8kmjrzc","partition":"live:acme","owner":{"tenant":"acme","principal":"key_e9e1fc1b52656f73"},"workflow_id":"approval","definition":"bacdd63a00f3c50e359a39db4fe7e8ff55b87b9799706626ad70cd5946790078","created_at":1794855823239,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (14, CAST('{"run_id":"01m7jvwsxk3tv370kcbf5y1yzn","partition":"live:acme","owner":{"tenant":"acme","principal":"key_e9e1fc1b52656f73"},"workflow_id":"approval","definition":"bacdd63a00f3c50e359a39db4fe7e8ff55b87b9799706626ad70cd5946790078","created_at":1794855823283,"tags":["recorded","accept"]}' AS BLOB));
INSERT INTO run_headers VALUES (15, CAST('{"run_id":"01m7jvwsyfekhk72adz7m03v1p","partition":"live:acme","owner":{"tenant":"acme","principal":"key_e9e1fc1b52656f73"},"workflow_id":"approval","definition":"bacdd63a00f3c50e359a39db4fe7e8ff55b87b9799706626ad70cd5946790078","created_at":1794855823311,"tags":["recorded","reject"]}' AS BLOB));
INSERT INTO run_headers VALUES (16, CAST('{"run_id":"01m7jvwszr16n18brqenye59r1","partition":"live:acme","owner":{"tenant":"acme","principal":"key_e9e1fc1b52656f73"},"workflow_id":"quorum","definition":"66389366a5ab12a4055a83795db1e08c233a4a707cd2a41c85c2113722be98c8","created_at":1794855823352,"tags":["recorded","vote"]}' AS BLOB));
INSERT INTO run_headers VALUES (17, CAST('{"run_id":"01m7jvwt11fpq2wp4dxp57em88","partition":"live:acme","owner":{"tenant":"acme","principal":"key_e9e1fc1b52656f73"},"workflow_id":"event","definition":"e667f69a7a9e970bb9291b13ab7a59aa465609b69723478d85f8448f45658e5f","created_at":1794855823393,"inputs":{"orderId":"o-1"},"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (18, CAST('{"run_id":"01m7jvwt1mjkq0q0zkvqj7wzz8","partition":"live:acme","owner":{"tenant":"acme","principal":"key_e9e1fc1b52656f73"},"workflow_id":"form","definition":"df9219a1cca3ff383a253b781b9c78879cdbee9f787cace1165ce0dc2f79e4b6","created_at":1794855823412,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (19, CAST('{"run_id":"01m7jvwt2rw7r4d8nhw4ckyrer","partition":"live:acme","owner":{"tenant":"acme","principal":"key_e9e1fc1b52656f73"},"workflow_id":"talks","definition":"14dbfc7eb701b74aa49048323c0cb93d7ebde6a792f6d4fa618afe9b7d669aa5","created_at":1794855823448,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (20, CAST('{"run_id":"01m7jvwt4bj7jybz12r74h5ese","partition":"live:acme","owner":{"tenant":"acme","principal":"key_e9e1fc1b52656f73"},"workflow_id":"order","definition":"bd0c929534cdf1f2f9f2f6cf0a0109a5128c6c64d3779ae4a6c85175d16a088c","created_at":1794855823499,"inputs":{"amount":12},"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (21, CAST('{"run_id":"01m7jvwt53msf49z3zke4jpand","partition":"live:acme","owner":{"tenant":"acme","principal":"key_e9e1fc1b52656f73"},"workflow_id":"price","definition":"26871ffd9de43d63b96b5c830756850535027b04cd61ba9b7963884d42ab7ff3","created_at":1794855823523,"inputs":{"amount":12},"traceparent":"00-7ab35376bcbf0e546272bfa75466ff5f-9d94853a8f45e95f-01","parent":{"run_id":"01m7jvwt4bj7jybz12r74h5ese","node_id":"price","key":"child","cause":"core.subWorkflow","root":"01m7jvwt4bj7jybz12r74h5ese","variables":["total"],"outputs":true}}' AS BLOB));
INSERT INTO run_headers VALUES (22, CAST('{"run_id":"01m7jvwt5ehwnq87n2m037tq6k","partition":"live:acme","owner":{"tenant":"acme","principal":"key_e9e1fc1b52656f73"},"workflow_id":"article","definition":"f179ef4592407ef4e57c451d33379660c6deac48eb155f72c5f64417074062ee","created_at":1794855823534,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (23, CAST('{"run_id":"01m7jvwt6570crbztm3t95r023","partition":"live:acme","owner":{"tenant":"acme","principal":"key_e9e1fc1b52656f73"},"workflow_id":"parcels","definition":"a3a75611a91931a4e74ce96d70b02cd815477c45686604b0805e87657b2360ca","created_at":1794855823557,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (24, CAST('{"run_id":"01m7jvwt730wzcwd5k7jcftvqf","partition":"live:acme","owner":{"tenant":"acme","principal":"key_e9e1fc1b52656f73"},"workflow_id":"research","definition":"d6b64959f223a5adaf4139ae0946777d86eca73a21718b19042bdda0b07cb747","created_at":1794855823587,"inputs":{"topic":"owls"},"traceparent":"00-f31dea9e68fee581a497a54cc5809e3a-d9ff9ca50df5bdd4-01","parent":{"run_id":"01m7jvwt5ehwnq87n2m037tq6k","node_id":"send","key":"0","cause":"core.dispatch","root":"01m7jvwt5ehwnq87n2m037tq6k","variables":["found"]}}' AS BLOB));
INSERT INTO run_headers VALUES (25, CAST('{"run_id":"01m7jvwt7axbpp098bm05mbgq5","partition":"live:acme","owner":{"tenant":"acme","principal":"key_e9e1fc1b52656f73"},"workflow_id":"parcel","definition":"19baf1664cc61854f33a13a0b3d750172c1f6524018272fa0f55f70e7187828b","created_at":1794855823594,"inputs":{"name":"Ada","number":1},"traceparent":"00-378904d7550954c0b58b269cd62e8ce0-08511dd0e30e81f1-01","parent":{"run_id":"01m7jvwt6570crbztm3t95r023","node_id":"pack","key":"0","cause":"core.subWorkflow","root":"01m7jvwt6570crbztm3t95r023","variables":["label"]}}' AS BLOB));
INSERT INTO run_headers VALUES (26, CAST('{"run_id":"01m7jvwt7db3h8fpc7d881v0r2","partition":"live:acme","owner":{"tenant":"acme","principal":"key_e9e1fc1b52656f73"},"workflow_id":"parcel","definition":"19baf1664cc61854f33a13a0b3d750172c1f6524018272fa0f55f70e7187828b","created_at":1794855823597,"inputs":{"name":"Bob","number":2},"traceparent":"00-378904d7550954c0b58b269cd62e8ce0-08511dd0e30e81f1-01","parent":{"run_id":"01m7jvwt6570crbztm3t95r023","node_id":"pack","key":"1","cause":"core.subWorkflow","root":"01m7jvwt6570crbztm3t95r023","variables":["label"]}}' AS BLOB));
INSERT INTO run_headers VALUES (27, CAST('{"run_id":"01m7jvwt7macnseqhdwd1c2dq1","partition":"live:acme","owner":{"tenant":"acme","principal":"key_e9e1fc1b52656f73"},"workflow_id":"parent","definition":"12b16dcc72e3958fef70eff45a8bfec36b843a509542597c4b2f586d0051f185","created_at":1794855823604,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (28, CAST('{"run_id":"01m7jvwt8c2wn7175xpe80an5p","partition":"live:acme","owner":{"tenant":"acme","principal":"key_e9e1fc1b52656f73"},"workflow_id":"parent","definition":"12b16dcc72e3958fef70eff45a8bfec36b843a509542597c4b2f586d0051f185","created_at":1794855823628,"tags":["recorded","cancel"]}' AS BLOB));
INSERT INTO run_headers VALUES (29, CAST('{"run_id":"01m7jvwt87wd7p6w74vsas9e99","partition":"live:acme","owner":{"tenant":"acme","principal":"key_e9e1fc1b52656f73"},"workflow_id":"delays","definition":"2104b2443464777c07d85868e1802c0005d2c4770e716a133ab045c91cb47eeb","created_at":1794855823623,"traceparent":"00-3f0f9869427e134ccc4f7759816ed6fb-eeef62f39401d13f-01","parent":{"run_id":"01m7jvwt7macnseqhdwd1c2dq1","node_id":"s","key":"child","cause":"core.subWorkflow","root":"01m7jvwt7macnseqhdwd1c2dq1","outputs":true}}' AS BLOB));
INSERT INTO run_headers VALUES (30, CAST('{"run_id":"01m7jvwt93zpwd9h57jmt2qn2r","partition":"live:acme","owner":{"tenant":"acme","principal":"key_e9e1fc1b52656f73"},"workflow_id":"delays","definition":"2104b2443464777c07d85868e1802c0005d2c4770e716a133ab045c91cb47eeb","created_at":1794855823651,"traceparent":"00-e6171c3de485f755f2506b306f2e9683-ee69ee55adc66f86-01","parent":{"run_id":"01m7jvwt8c2wn7175xpe80an5p","node_id":"s","key":"child","cause":"core.subWorkflow","root":"01m7jvwt8c2wn7175xpe80an5p","outputs":true}}' AS BLOB));
INSERT INTO run_headers VALUES (31, CAST('{"run_id":"01m7jvwt97g6r41aap93pr8ptf","partition":"live:acme","owner":{"tenant":"acme","principal":"key_e9e1fc1b52656f73"},"workflow_id":"parent-asks","definition":"ab1d14801d1838949bf03d51c0253e5200a8fcd6a7ecfb97d9215e2f1a23b293","created_at":1794855823655,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (32, CAST('{"run_id":"01m7jvwt9ksc9rc0zzx1sexy3m","partition":"live:acme","owner":{"tenant":"acme","principal":"key_e9e1fc1b52656f73"},"workflow_id":"parcel","definition":"19baf1664cc61854f33a13a0b3d750172c1f6524018272fa0f55f70e7187828b","created_at":1794855823667,"inputs":{"name":"Eve","number":3},"traceparent":"00-378904d7550954c0b58b269cd62e8ce0-08511dd0e30e81f1-01","parent":{"run_id":"01m7jvwt6570crbztm3t95r023","node_id":"pack","key":"2","cause":"core.subWorkflow","root":"01m7jvwt6570crbztm3t95r023","variables":["label"]}}' AS BLOB));
INSERT INTO run_headers VALUES (33, CAST('{"run_id":"01m7jvwt9xv7c1v9p5e5q2a9dt","partition":"live:acme","owner":{"tenant":"acme","principal":"key_e9e1fc1b52656f73"},"workflow_id":"approval","definition":"bacdd63a00f3c50e359a39db4fe7e8ff55b87b9799706626ad70cd5946790078","created_at":1794855823677,"traceparent":"00-dc0d3bf66017822c3be0b4c0a9869199-94ae1ac64a3f2d58-01","parent":{"run_id":"01m7jvwt97g6r41aap93pr8ptf","node_id":"s","key":"child","cause":"core.subWorkflow","root":"01m7jvwt97g6r41aap93pr8ptf","outputs":true}}' AS BLOB));
INSERT INTO run_headers VALUES (34, CAST('{"run_id":"01m7jvwta3yagyr112v8jcd7zf","partition":"live:acme","owner":{"tenant":"acme","principal":"key_e9e1fc1b52656f73"},"workflow_id":"list","definition":"1d2a1ee644677f92561014341fc1db3f86972df42f1b3df3ed081fe2a577242d","created_at":1794855823683,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (35, CAST('{"run_id":"01m7jvwtb77jn2h7dbnvyx41ax","partition":"live:acme","owner":{"tenant":"acme","principal":"key_e9e1fc1b52656f73"},"workflow_id":"write","definition":"203267bc7c464bace318e2e58c84ee2f39c182751c7b7315632bd0490025c7b8","created_at":1794855823719,"inputs":{"facts":"owls see in the dark"},"traceparent":"00-f31dea9e68fee581a497a54cc5809e3a-bc0f830a0cf306d5-01","parent":{"run_id":"01m7jvwt5ehwnq87n2m037tq6k","node_id":"send","key":"0","cause":"core.dispatch","root":"01m7jvwt5ehwnq87n2m037tq6k","variables":["text"]}}' AS BLOB));
INSERT INTO events VALUES (67108864, 'ea70f2beb51ffe33dc21c9e2', 'run.started', 1794855822938, CAST('{"inputs":{},"owner":{"principal":"key_e9e1fc1b52656f73","tenant":"acme"},"workflowId":"steps"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (67108865, '990bc3c34d57ecda09602b4f', 'node.started', 1794855822938, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (67108866, '40ce3aebbcdf3e2958b7a2a0', 'node.completed', 1794855822938, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (67108867, '20347d35a77ff3750a06f2dc', 'node.started', 1794855822938, CAST('{"attempt":1,"nodeId":"b","typeId":"core.identity"}' AS BLOB), 'b', NULL, 1, 1, NULL);
INSERT INTO events VALUES (67108868, 'f91ffe1c076fa6ae552d31ae', 'node.completed', 1794855822938, CAST('{"nodeId":"b","outputs":{"secret":"[REDACTED:b.secret]","word":"[REDACTED:b.word]"}}' AS BLOB), 'b', NULL, 1, 1, NULL);
INSERT INTO events VALUES (67108869, '7f52d8ea1e9dc967ba634200', 'node.started', 1794855822938, CAST('{"attempt":1,"nodeId":"c","typeId":"core.identity"}' AS BLOB), 'c', NULL, 1, 1, NULL);
INSERT INTO events VALUES (67108870, '8e48d09fe93ebf412e9160b9', 'node.completed', 1794855822938, CAST('{"nodeId":"c","outputs":{"word":"[REDACTED:c.word]"}}' AS BLOB), 'c', NULL, 1, 1, NULL);
INSERT INTO events VALUES (67108871, 'd8b450f6f4bd2eb9e12af941', 'run.completed', 1794855822938, CAST('{"outputs":{"c":{"word":"[REDACTED:c.word]"}}}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (134217728, 'bcc670610599257bc964ac60', 'run.started', 1794855822964, CAST(X'7b22696e70757473223a7b22776f7264223a22c3a96c616e20e280a820e29882227d2c226f776e6572223a7b227072696e636970616c223a226b65795f65396531666331623532363536663733222c2274656e616e74223a2261636d65227d2c22776f726b666c6f774964223a227374657073227d' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (134217729, 'cb2775fc4a71e1ac80e91aa3', 'node.started', 1794855822964, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (134217730, '06323572f0c8dfc87d9c1f4d', 'node.completed', 1794855822964, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (134217731, 'a5d610defb85ad6f2509889f', 'node.started', 1794855822964, CAST('{"attempt":1,"nodeId":"b","typeId":"core.identity"}' AS BLOB), 'b', NULL, 1, 1, NULL);
INSERT INTO events VALUES (134217732, 'c0e2aeef902776b037db2155', 'node.completed', 1794855822964, CAST('{"nodeId":"b","outputs":{"secret":"[REDACTED:b.secret]","word":"[REDACTED:b.word]"}}' AS BLOB), 'b', NULL, 1, 1, NULL);
INSERT INTO events VALUES (134217733, '5a0806b0c71fd010fa593299', 'node.started', 1794855822964, CAST('{"attempt":1,"nodeId":"c","typeId":"core.identity"}' AS BLOB), 'c', NULL, 1, 1, NULL);
INSERT INTO events VALUES (134217734, '0b201ed54cdb3e22bb85ab74', 'node.completed', 1794855822964, CAST('{"nodeId":"c","outputs":{"word":"[REDACTED:c.word]"}}' AS BLOB), 'c', NULL, 1, 1, NULL);
INSERT INTO events VALUES (134217735, 'e6f58035a3370f65112246e5', 'run.completed', 1794855822964, CAST('{"outputs":{"c":{"word":"[REDACTED:c.word]"}}}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (201326592, '1ab72db80fc76707b73c1b09', 'run.started', 1794855823003, CAST('{"inputs":{},"owner":{"principal":"key_e9e1fc1b52656f73","tenant":"acme"},"workflowId":"fails"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (201326593, '7f5621d765500b9603fdabbe', 'node.started', 1794855823003, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (201326594, 'c81cfad793dfcbbd5c717faa', 'node.completed', 1794855823003, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (201326595, '4f6e495333bb699bc13d737f', 'node.started', 1794855823003, CAST('{"attempt":1,"nodeId":"b","typeId":"core.fail"}' AS BLOB), 'b', NULL, 1, 1, NULL);
INSERT INTO events VALUES (201326596, '1e6323af45512c8e8d69b468', 'node.failed', 1794855823003, CAST('{"error":{"code":"conformance_test_failure","message":"Intentional conformance failure"},"nodeId":"b"}' AS BLOB), 'b', NULL, 1, 1, NULL);
INSERT INTO events VALUES (201326597, '4abf8a80f0ed40ae1688f575', 'run.failed', 1794855823003, CAST('{"error":{"code":"conformance_test_failure","message":"Intentional conformance failure"},"failedNodeId":"b"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (268435456, '648152c9adeaead218cfd981', 'run.started', 1794855823027, CAST('{"inputs":{},"owner":{"principal":"key_e9e1fc1b52656f73","tenant":"acme"},"workflowId":"delays"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (268435457, '38137c07f2d0c5bda359d3fd', 'node.started', 1794855823027, CAST('{"attempt":1,"nodeId":"a","typeId":"core.identity"}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (268435458, '9a1ad5a76bdceb9013c55fc5', 'node.completed', 1794855823027, CAST('{"nodeId":"a","outputs":{"secret":"[REDACTED:a.secret]"}}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (268435459, 'aa875dafa4526821e55434a5', 'node.started', 1794855823027, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL);
INSERT INTO events VALUES (335544320, '213a0e60456d92ecc8c84fa3', 'run.started', 1794855823042, CAST('{"inputs":{},"owner":{"principal":"key_e9e1fc1b52656f73","tenant":"acme"},"workflowId":"delays"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (335544321, 'da16b7a84d8cbc392ec49b58', 'node.started', 1794855823042, CAST('{"attempt":1,"nodeId":"a","typeId":"core.identity"}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (335544322, '22081d25f2ca01bec94927f4', 'node.completed', 1794855823042, CAST('{"nodeId":"a","outputs":{"secret":"[REDACTED:a.secret]"}}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (335544323, '6a73d235fdb965efd4cd578a', 'node.started', 1794855823042, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL);
INSERT INTO events VALUES (335544324, '9c0e3fdf1677b36bc9459fdb', 'weftwork.run.cancel-requested', 1794855824015, CAST('{"reason":"changed my mind"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (335544325, 'b23b17b1b825d23066f85378', 'node.cancelled', 1794855824031, CAST('{"nodeId":"d"}' AS BLOB), 'd', NULL, 1, 1, NULL);
INSERT INTO events VALUES (335544326, '55ff395621a0b58b4061cf8c', 'run.cancelled', 1794855824031, CAST('{"reason":"changed my mind"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (402653184, '1d3518f00e98f0c04287521a', 'run.started', 1794855823062, CAST('{"inputs":{},"owner":{"principal":"key_e9e1fc1b52656f73","tenant":"acme"},"workflowId":"graph"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (402653185, 'c4746ef8b3363a756149e26a', 'node.started', 1794855823062, CAST('{"attempt":1,"nodeId":"order","typeId":"core.identity"}' AS BLOB), 'order', NULL, 1, 1, NULL);
INSERT INTO events VALUES (402653186, '34819fd4aaa9bfcbb51fc00a', 'node.completed', 1794855823062, CAST('{"nodeId":"order","outputs":{"price":120}}' AS BLOB), 'order', NULL, 1, 1, NULL);
INSERT INTO events VALUES (402653187, '892dc791bcbce211c8eef1d2', 'node.started', 1794855823062, CAST('{"attempt":1,"nodeId":"ship","typeId":"core.delay"}' AS BLOB), 'ship', NULL, 1, 1, NULL);
INSERT INTO events VALUES (402653188, 'bb7f995a114edf2fde693e03', 'node.started', 1794855823062, CAST('{"attempt":1,"nodeId":"tax","typeId":"core.transform"}' AS BLOB), 'tax', NULL, 1, 1, NULL);
INSERT INTO events VALUES (402653189, '3e15838b939eafc1d56f3ac0', 'node.completed', 1794855823062, CAST('{"nodeId":"tax","outputs":{"output":30}}' AS BLOB), 'tax', NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762048, '10471e6f21acc721e2e44364', 'run.started', 1794855823100, CAST('{"inputs":{},"owner":{"principal":"key_e9e1fc1b52656f73","tenant":"acme"},"workflowId":"loop"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762049, '6388d99179919aec65ad9540', 'node.started', 1794855823100, CAST('{"attempt":1,"nodeId":"head","typeId":"core.loop"}' AS BLOB), 'head', NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762050, 'a968580aa47c11b561d6ccc3', 'node.completed', 1794855823100, CAST('{"nodeId":"head","outputs":{"body":0,"iteration":0}}' AS BLOB), 'head', NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762051, '61d464904aed425a184d84de', 'node.started', 1794855823100, CAST('{"attempt":1,"nodeId":"wait","typeId":"core.delay"}' AS BLOB), 'wait', NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762052, '5532dff1922d49c4d93e18a8', 'node.completed', 1794855823111, CAST('{"nodeId":"wait","outputs":{}}' AS BLOB), 'wait', NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762053, 'af34e2f6ef854ad4f3f5f7dd', 'node.started', 1794855823111, CAST('{"attempt":1,"nodeId":"sum","typeId":"core.transform"}' AS BLOB), 'sum', NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762054, '0adb91e4f20de494bb0534da', 'node.completed', 1794855823111, CAST('{"nodeId":"sum","outputs":{"output":1}}' AS BLOB), 'sum', NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762055, '1ed5941a2646f82f32a32ade', 'node.started', 1794855823111, CAST('{"attempt":1,"nodeId":"keep","typeId":"core.setVariable"}' AS BLOB), 'keep', NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762056, 'ac423291effcd9d0d5788477', 'variable.changed', 1794855823111, CAST('{"name":"n","next":1,"nodeId":"keep"}' AS BLOB), 'keep', NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762057, '7a92495f1a2bd0a08bb51787', 'node.completed', 1794855823111, CAST('{"nodeId":"keep","outputs":{"output":1}}' AS BLOB), 'keep', NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762058, '158d1ece9ce3be4c0b46b46b', 'node.started', 1794855823111, CAST('{"attempt":1,"nodeId":"head","typeId":"core.loop"}' AS BLOB), 'head', NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762059, '0c4fd6bac39f104affe62b39', 'node.completed', 1794855823111, CAST('{"nodeId":"head","outputs":{"body":1,"iteration":1}}' AS BLOB), 'head', NULL, 1, 1, NULL);
INSERT INTO events VALUES (469762060, 'c3bac17c8c3d7776d948e380', 'node.started', 1794855823111, CAST('{"attempt":1,"nodeId":"wait","typeId":"core.delay"}' AS BLOB), 'wait', NULL, 1, 1, NULL);
INSERT INTO events VALUES (536870912, 'e5db2039249b195c9ea745e8', 'run.started', 1794855823118, CAST('{"inputs":{},"owner":{"principal":"key_e9e1fc1b52656f73","tenant":"acme"},"workflowId":"asks"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (536870913, '2d8ccd4d061f755dcd029e7e', 'node.started', 1794855823118, CAST('{"attempt":1,"nodeId":"ask","typeId":"core.interrupt"}' AS BLOB), 'ask', NULL, 1, 1, NULL);
INSERT INTO events VALUES (536870914, '79560c586a45c47b0472f849', 'interrupt.requested', 1794855823118, CAST('{"data":{"customKind":"supplier","payload":["north","south"]},"key":"ask","kind":"custom"}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1');
INSERT INTO events VALUES (536870915, '7d98563cfa08a6e1a1c4a1e4', 'node.suspended', 1794855823118, CAST('{"interruptId":"ask.1","key":"ask","kind":"custom","nodeId":"ask"}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1');
INSERT INTO events VALUES (603979776, '665e1128beb8c6e767e88fa6', 'run.started', 1794855823149, CAST('{"inputs":{},"owner":{"principal":"key_e9e1fc1b52656f73","tenant":"acme"},"workflowId":"asks"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (603979777, '93593b91aaab668d11431afb', 'node.started', 1794855823149, CAST('{"attempt":1,"nodeId":"ask","typeId":"core.interrupt"}' AS BLOB), 'ask', NULL, 1, 1, NULL);
INSERT INTO events VALUES (603979778, 'ca3017f14867e1b36da0c2ea', 'interrupt.requested', 1794855823149, CAST('{"data":{"customKind":"supplier","payload":["north","south"]},"key":"ask","kind":"custom"}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1');
INSERT INTO events VALUES (603979779, '9772f3d4f0e2a9adb4446387', 'node.suspended', 1794855823149, CAST('{"interruptId":"ask.1","key":"ask","kind":"custom","nodeId":"ask"}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1');
INSERT INTO events VALUES (603979780, '21b470aa3d16ac2620273c7c', 'interrupt.resolved', 1794855824035, CAST('{"interruptId":"ask.1","kind":"custom","nodeId":"ask","resolvedBy":"key_e9e1fc1b52656f73","resumeValue":{"supplier":"north"}}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1');
INSERT INTO events VALUES (603979781, '643c4e07adfbfa7ef9dd13dc', 'node.resumed', 1794855824035, CAST('{"interruptId":"ask.1","nodeId":"ask"}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1');
INSERT INTO events VALUES (603979782, '57e4b27dafdb6c124f3cd2c2', 'node.completed', 1794855824035, CAST('{"nodeId":"ask","outputs":{"output":{"supplier":"north"}}}' AS BLOB), 'ask', NULL, 1, 1, NULL);
INSERT INTO events VALUES (603979783, 'd1e8d58780f0ca7d3df0fb7c', 'node.started', 1794855824035, CAST('{"attempt":1,"nodeId":"keep","typeId":"core.artifact.emit"}' AS BLOB), 'keep', NULL, 1, 1, NULL);
INSERT INTO events VALUES (603979784, 'ed267a2bb74d5a7a9ffefa65', 'artifact.created', 1794855824035, CAST('{"artifactId":"keep","artifactType":"order","data":{"supplier":"north"},"nodeId":"keep","version":"1"}' AS BLOB), 'keep', NULL, 1, 1, NULL);
INSERT INTO events VALUES (603979785, 'b3f8d384c3c7193650bce21d', 'node.completed', 1794855824035, CAST('{"nodeId":"keep","outputs":{"artifactId":"keep","artifactType":"order","output":{"supplier":"north"}}}' AS BLOB), 'keep', NULL, 1, 1, NULL);
INSERT INTO events VALUES (603979786, '3def503bb44ebe4bcbaf3cca', 'run.completed', 1794855824035, CAST('{"outputs":{"keep":{"artifactId":"keep","artifactType":"order","output":{"supplier":"north"}}}}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (671088640, '39a9f65c4e15dfde1546fa3c', 'run.started', 1794855823164, CAST('{"inputs":{},"owner":{"principal":"key_e9e1fc1b52656f73","tenant":"acme"},"workflowId":"delays"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (671088641, 'fe76e2fa29e7b92f1eb97cb7', 'node.started', 1794855823164, CAST('{"attempt":1,"nodeId":"a","typeId":"core.identity"}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (671088642, 'a972200ceeaae28bdff615cf', 'node.completed', 1794855823164, CAST('{"nodeId":"a","outputs":{"secret":"[REDACTED:a.secret]"}}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (671088643, 'b4e1a9b6244b491c7189c414', 'node.started', 1794855823164, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL);
INSERT INTO events VALUES (671088644, '15bd400274f845b008df3dcd', 'weftwork.run.pause-requested', 1794855824046, CAST('{"drainPolicy":"drain-current-node"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (738197504, '9884042f61cd6c66be1db28f', 'run.started', 1794855823189, CAST('{"inputs":{},"owner":{"principal":"key_e9e1fc1b52656f73","tenant":"acme"},"workflowId":"steps"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (738197505, 'b96fd4061ba9a7cb9a717315', 'node.started', 1794855823189, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (738197506, '38ac1663a10aa7cc9d5113b1', 'node.completed', 1794855823189, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (738197507, '0a5630fe018d142537dcd942', 'node.started', 1794855823189, CAST('{"attempt":1,"nodeId":"b","typeId":"core.identity"}' AS BLOB), 'b', NULL, 1, 1, NULL);
INSERT INTO events VALUES (738197508, '491a00ea7ffeb27f00e468d7', 'node.completed', 1794855823189, CAST('{"nodeId":"b","outputs":{"secret":"[REDACTED:b.secret]","word":"[REDACTED:b.word]"}}' AS BLOB), 'b', NULL, 1, 1, NULL);
INSERT INTO events VALUES (738197509, 'b8b8e2decdaa53364638caaf', 'node.started', 1794855823189, CAST('{"attempt":1,"nodeId":"c","typeId":"core.identity"}' AS BLOB), 'c', NULL, 1, 1, NULL);
INSERT INTO events VALUES (738197510, '2ffc0107021c8cf060fb0d08', 'node.completed', 1794855823189, CAST('{"nodeId":"c","outputs":{"word":"[REDACTED:c.word]"}}' AS BLOB), 'c', NULL, 1, 1, NULL);
INSERT INTO events VALUES (738197511, '0dcb1478e352454daef26619', 'run.completed', 1794855823189, CAST('{"outputs":{"c":{"word":"[REDACTED:c.word]"}}}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (872415232, 'ddf55541629b9c26947f9172', 'run.started', 1794855823248, CAST('{"inputs":{},"owner":{"principal":"key_e9e1fc1b52656f73","tenant":"acme"},"workflowId":"approval"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (872415233, '24cf5db7377208b678ec1b60', 'node.started', 1794855823248, CAST('{"attempt":1,"nodeId":"gate","typeId":"core.approvalGate"}' AS BLOB), 'gate', NULL, 1, 1, NULL);
INSERT INTO events VALUES (872415234, '0a8e04101783213ff8ef4d91', 'interrupt.requested', 1794855823248, CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","description":"Asked once; a reminder follows after a day.","title":"Pay 100 for a chair?"},"key":"gate","kind":"approval","timeoutMs":259200000}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (872415235, '35f20b277b8b2f441f155703', 'approval.requested', 1794855823248, CAST('{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","interruptId":"gate.1","nodeId":"gate","title":"Pay 100 for a chair?"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (872415236, '1c1aaf7b901e789304dcabc5', 'node.suspended', 1794855823248, CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","remindAfterMs":[86400000]}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (939524096, '7f9540830aca083d851ec895', 'run.started', 1794855823291, CAST('{"inputs":{},"owner":{"principal":"key_e9e1fc1b52656f73","tenant":"acme"},"workflowId":"approval"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (939524097, 'e80ee415a75f46a7b78759f5', 'node.started', 1794855823291, CAST('{"attempt":1,"nodeId":"gate","typeId":"core.approvalGate"}' AS BLOB), 'gate', NULL, 1, 1, NULL);
INSERT INTO events VALUES (939524098, '273f2997c6982c6142301898', 'interrupt.requested', 1794855823291, CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","description":"Asked once; a reminder follows after a day.","title":"Pay 100 for a chair?"},"key":"gate","kind":"approval","timeoutMs":259200000}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (939524099, '83dabc8754c126cb9af323b1', 'approval.requested', 1794855823291, CAST('{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","interruptId":"gate.1","nodeId":"gate","title":"Pay 100 for a chair?"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (939524100, 'b38b48b14daa89edb4f97f0d', 'node.suspended', 1794855823291, CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","remindAfterMs":[86400000]}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (939524101, 'df6b1f5433fdeea86b2859f1', 'interrupt.resolved', 1794855824146, CAST('{"interruptId":"gate.1","kind":"approval","nodeId":"gate","outcome":"accepted","resolvedBy":"key_e9e1fc1b52656f73","resumeValue":{"action":"accept","decidedBy":"key_e9e1fc1b52656f73"}}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (939524102, 'b3951a59036458733996ef4b', 'approval.received', 1794855824146, CAST('{"action":"accept","decidedBy":"key_e9e1fc1b52656f73","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (939524103, '72ea81c904c2bea069dd9a40', 'node.resumed', 1794855824146, CAST('{"interruptId":"gate.1","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (939524104, 'c8e1d9b36b60e17cf6c951d5', 'node.completed', 1794855824146, CAST('{"nodeId":"gate","outputs":{"action":"accept","approved":true,"decidedBy":"key_e9e1fc1b52656f73"}}' AS BLOB), 'gate', NULL, 1, 1, NULL);
INSERT INTO events VALUES (939524105, '0c33d4f79b2dbf15a6f9f900', 'node.skipped', 1794855824146, CAST('{"nodeId":"kept","reason":"trigger-rule"}' AS BLOB), 'kept', NULL, 1, 1, NULL);
INSERT INTO events VALUES (939524106, '50d2807a1875131717b75f1a', 'node.started', 1794855824146, CAST('{"attempt":1,"nodeId":"paid","typeId":"core.template"}' AS BLOB), 'paid', NULL, 1, 1, NULL);
INSERT INTO events VALUES (939524107, 'e484d3f026faafd400b4ee40', 'node.completed', 1794855824146, CAST('{"nodeId":"paid","outputs":{"output":"a chair is paid: 100"}}' AS BLOB), 'paid', NULL, 1, 1, NULL);
INSERT INTO events VALUES (939524108, '3108cb8177f1ce4a082de559', 'run.completed', 1794855824146, CAST('{"outputs":{"paid":{"output":"a chair is paid: 100"}}}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (1006632960, 'a553af6971a3a5d779b3836d', 'run.started', 1794855823314, CAST('{"inputs":{},"owner":{"principal":"key_e9e1fc1b52656f73","tenant":"acme"},"workflowId":"approval"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (1006632961, '0b55b81b2413430e5b24b6d7', 'node.started', 1794855823314, CAST('{"attempt":1,"nodeId":"gate","typeId":"core.approvalGate"}' AS BLOB), 'gate', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1006632962, '5ed757277c51f1dcd43034a1', 'interrupt.requested', 1794855823314, CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","description":"Asked once; a reminder follows after a day.","title":"Pay 100 for a chair?"},"key":"gate","kind":"approval","timeoutMs":259200000}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (1006632963, 'f67079f2f6fdc25ffdd8c484', 'approval.requested', 1794855823314, CAST('{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","interruptId":"gate.1","nodeId":"gate","title":"Pay 100 for a chair?"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (1006632964, 'a7e25d79981926e5f1373779', 'node.suspended', 1794855823314, CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","remindAfterMs":[86400000]}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (1006632965, '9fe0dc6e3a90bc0f8875eb33', 'interrupt.resolved', 1794855824163, CAST('{"interruptId":"gate.1","kind":"approval","nodeId":"gate","outcome":"rejected","resolvedBy":"key_e9e1fc1b52656f73","resumeValue":{"action":"reject","decidedBy":"key_e9e1fc1b52656f73"}}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (1006632966, 'bfe660e175bb2a54c68dffa7', 'approval.received', 1794855824163, CAST('{"action":"reject","decidedBy":"key_e9e1fc1b52656f73","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (1006632967, '404e1f450452c69546e5e1d2', 'node.resumed', 1794855824163, CAST('{"interruptId":"gate.1","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (1006632968, 'a938f0b89bc40850b348fa38', 'node.failed', 1794855824163, CAST('{"error":{"code":"interrupt_rejected","details":{"decidedBy":"key_e9e1fc1b52656f73","reason":"rejected"},"message":"The approval was refused."},"nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1006632969, '206732582a5710d00b689f42', 'node.skipped', 1794855824163, CAST('{"nodeId":"paid","reason":"trigger-rule"}' AS BLOB), 'paid', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1006632970, '6f206d4f6fa61d7d79d286be', 'node.started', 1794855824163, CAST('{"attempt":1,"nodeId":"kept","typeId":"core.template"}' AS BLOB), 'kept', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1006632971, 'b3d13e82cda18c88e9c938e5', 'node.completed', 1794855824163, CAST('{"nodeId":"kept","outputs":{"output":"a chair is not paid"}}' AS BLOB), 'kept', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1006632972, '284c7d9521ce87d127681f48', 'run.completed', 1794855824163, CAST('{"outputs":{"kept":{"output":"a chair is not paid"}}}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (1073741824, '6279056f9a43f851f1e69eca', 'run.started', 1794855823370, CAST('{"inputs":{},"owner":{"principal":"key_e9e1fc1b52656f73","tenant":"acme"},"workflowId":"quorum"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (1073741825, 'd303523c54606be1d66c759d', 'node.started', 1794855823370, CAST('{"attempt":1,"nodeId":"gate","typeId":"core.approvalGate"}' AS BLOB), 'gate', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1073741826, 'd708e312da80de23688e1298', 'interrupt.requested', 1794855823370, CAST('{"data":{"actions":["accept","reject"],"approversList":[],"artifactId":"gate","artifactType":"approval","requiredApprovals":2,"title":"Release?"},"key":"gate","kind":"approval"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (1073741827, 'da15af0b77bd349fbafcf11c', 'approval.requested', 1794855823370, CAST('{"actions":["accept","reject"],"approversList":[],"artifactId":"gate","artifactType":"approval","interruptId":"gate.1","nodeId":"gate","requiredApprovals":2,"title":"Release?"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (1073741828, '87f8c63cff0dfda445fe357d', 'node.suspended', 1794855823370, CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (1073741829, '20ae59ed93efbb681a7973d0', 'approval.granted', 1794855824204, CAST('{"gateId":"gate","principal":"key_e9e1fc1b52656f73","quorumProgress":{"granted":1,"required":2}}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (1140850688, 'd409ccb89632007149705fb8', 'run.started', 1794855823395, CAST('{"inputs":{"orderId":"o-1"},"owner":{"principal":"key_e9e1fc1b52656f73","tenant":"acme"},"workflowId":"event"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (1140850689, 'b7c67b82478f62cb116916e8', 'node.started', 1794855823395, CAST('{"attempt":1,"nodeId":"wait","typeId":"core.interrupt"}' AS BLOB), 'wait', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1140850690, '1270a8801f7e32f393ce23b2', 'interrupt.requested', 1794855823395, CAST('{"data":{"correlation":{"orderId":"o-1","status":"paid"},"eventType":"shop.order.paid"},"key":"wait","kind":"external-event","timeoutMs":3600000}' AS BLOB), 'wait', NULL, 1, 1, 'wait.1');
INSERT INTO events VALUES (1140850691, '914cf7c13921b98656b9a1e5', 'node.suspended', 1794855823395, CAST('{"interruptId":"wait.1","key":"wait","kind":"external-event","nodeId":"wait"}' AS BLOB), 'wait', NULL, 1, 1, 'wait.1');
INSERT INTO events VALUES (1207959552, 'a487c792aed6633b7aae4ef7', 'run.started', 1794855823414, CAST('{"inputs":{},"owner":{"principal":"key_e9e1fc1b52656f73","tenant":"acme"},"workflowId":"form"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (1207959553, 'd2b14d174bb4c5b54be27b51', 'node.started', 1794855823414, CAST('{"attempt":1,"nodeId":"ask","typeId":"core.clarificationGate"}' AS BLOB), 'ask', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1207959554, '82bb9819d2b789d5f19e1742', 'interrupt.requested', 1794855823414, CAST('{"data":{"questions":[{"id":"day","question":"When do you come to Bern?","schema":{"minLength":3,"type":"string"}},{"id":"people","question":"How many are you?","schema":{"maximum":8,"minimum":1,"type":"integer"}},{"id":"lunch","question":"With lunch?","schema":{"type":"boolean"}}]},"key":"ask","kind":"clarification","timeoutMs":86400000}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1');
INSERT INTO events VALUES (1207959555, '7833ac4258f1083e075f2f7a', 'clarification.requested', 1794855823414, CAST('{"interruptId":"ask.1","nodeId":"ask","questions":[{"id":"day","question":"When do you come to Bern?","schema":{"minLength":3,"type":"string"}},{"id":"people","question":"How many are you?","schema":{"maximum":8,"minimum":1,"type":"integer"}},{"id":"lunch","question":"With lunch?","schema":{"type":"boolean"}}]}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1');
INSERT INTO events VALUES (1207959556, 'c51701b42d1e86218736d4a2', 'node.suspended', 1794855823414, CAST('{"interruptId":"ask.1","key":"ask","kind":"clarification","nodeId":"ask"}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1');
INSERT INTO events VALUES (1275068416, '222bed19f892e71cb7e5ab66', 'run.started', 1794855823454, CAST('{"inputs":{},"owner":{"principal":"key_e9e1fc1b52656f73","tenant":"acme"},"workflowId":"talks"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (1275068417, 'd702a23fd6c584ef1cc9fa44', 'node.started', 1794855823454, CAST('{"attempt":1,"nodeId":"t","typeId":"core.conversationGate"}' AS BLOB), 't', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1275068418, 'eef708d4ee9ced93f8bd65cb', 'interrupt.requested', 1794855823488, CAST('{"data":{"conversationId":"01m7jvwt2rw7r4d8nhw4ckyrer:t:0","title":"Conversation"},"key":"t:start","kind":"conversation.start"}' AS BLOB), 't', NULL, 1, 1, 't.1');
INSERT INTO events VALUES (1275068419, 'ab41c0565e1e69542698ddd2', 'conversation.opened', 1794855823488, CAST('{"capabilities":["multi-turn"],"conversationId":"01m7jvwt2rw7r4d8nhw4ckyrer:t:0","initialTurn":{"content":"Conversation","from":"t","messageId":"t.0.0","role":"system","ts":1794855823488,"turnIndex":0}}' AS BLOB), 't', NULL, 1, 1, 't.1');
INSERT INTO events VALUES (1275068420, '8628c0150c89e7ea6188994a', 'interrupt.resolved', 1794855823488, CAST('{"interruptId":"t.1","kind":"conversation.start","nodeId":"t","resumeValue":null}' AS BLOB), 't', NULL, 1, 1, 't.1');
INSERT INTO events VALUES (1275068421, '5d77dc25367016b8bee0ff54', 'interrupt.requested', 1794855823506, CAST('{"data":{"conversationId":"01m7jvwt2rw7r4d8nhw4ckyrer:t:0","prompt":"Please answer.","turnIndex":1},"key":"t:1","kind":"conversation.exchange"}' AS BLOB), 't', NULL, 1, 1, 't.2');
INSERT INTO events VALUES (1275068422, 'ffcca94a5b10fe3dcbc2fac5', 'node.suspended', 1794855823506, CAST('{"interruptId":"t.2","key":"t:1","kind":"conversation.exchange","nodeId":"t","reason":"conversation-input"}' AS BLOB), 't', NULL, 1, 1, 't.2');
INSERT INTO events VALUES (1342177280, '5c844bd9cde795a1b784b497', 'run.started', 1794855823500, CAST('{"inputs":{"amount":12},"owner":{"principal":"key_e9e1fc1b52656f73","tenant":"acme"},"workflowId":"order"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (1342177281, '6210d15e9e93c1c8a45bc918', 'node.started', 1794855823500, CAST('{"attempt":1,"nodeId":"price","typeId":"core.subWorkflow"}' AS BLOB), 'price', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1342177282, '960a9d4bd4456fbe9a559115', 'weftwork.child.started', 1794855823524, CAST('{"awaited":true,"childRunId":"01m7jvwt53msf49z3zke4jpand","key":"child","workflowId":"price"}' AS BLOB), 'price', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1342177283, 'dbc4e1ce5061fac3f9d9241f', 'weftwork.child.ended', 1794855823575, CAST('{"childRunId":"01m7jvwt53msf49z3zke4jpand","key":"child","outputs":{"total":{"output":384}},"status":"completed","variables":{"total":384}}' AS BLOB), 'price', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1342177284, '3135a805b2ad69f8203baa29', 'variable.changed', 1794855823587, CAST('{"name":"total","next":384,"nodeId":"price"}' AS BLOB), 'price', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1342177285, 'b264c32bc25d949cb695a4d1', 'node.completed', 1794855823587, CAST('{"nodeId":"price","outputs":{"childRunId":"01m7jvwt53msf49z3zke4jpand","childStatus":"completed","outputs":{"total":{"output":384}}}}' AS BLOB), 'price', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1342177286, '7c8c33b3bb80ed6c1e9c2a7a', 'node.started', 1794855823587, CAST('{"attempt":1,"nodeId":"offer","typeId":"core.template"}' AS BLOB), 'offer', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1342177287, 'a06e528544243cd0a2ff13fe', 'node.completed', 1794855823587, CAST('{"nodeId":"offer","outputs":{"output":"12 chairs for 384"}}' AS BLOB), 'offer', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1342177288, '343923dbe8b6c590cafb98be', 'run.completed', 1794855823587, CAST('{"outputs":{"offer":{"output":"12 chairs for 384"}}}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (1409286144, 'b65ff9d7f9b0a6b5a06ccb96', 'run.started', 1794855823545, CAST('{"inputs":{"amount":12},"owner":{"principal":"key_e9e1fc1b52656f73","tenant":"acme"},"workflowId":"price"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (1409286145, '62f04fb84ff6e5b59b25608f', 'node.started', 1794855823545, CAST('{"attempt":1,"nodeId":"total","typeId":"core.setVariable"}' AS BLOB), 'total', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1409286146, 'de2c8a7b89c6053876590d10', 'variable.changed', 1794855823545, CAST('{"name":"total","next":384,"nodeId":"total"}' AS BLOB), 'total', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1409286147, '70a5d54c4a1d1f0fc111d97e', 'node.completed', 1794855823545, CAST('{"nodeId":"total","outputs":{"output":384}}' AS BLOB), 'total', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1409286148, 'c9793151c68aca3a8d737cf3', 'run.completed', 1794855823545, CAST('{"outputs":{"total":{"output":384}}}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (1476395008, '7bcb6588809e391da293fd7a', 'run.started', 1794855823535, CAST('{"inputs":{},"owner":{"principal":"key_e9e1fc1b52656f73","tenant":"acme"},"workflowId":"article"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (1476395009, '01d309b80a74a50e02977048', 'node.started', 1794855823535, CAST('{"attempt":1,"nodeId":"lead","typeId":"core.orchestrator.supervisor"}' AS BLOB), 'lead', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1476395010, '36f6276cd9b8151811ea4b78', 'runOrchestrator.decided', 1794855823557, CAST('{"agentId":"host:editor","decision":{"kind":"next-worker","nextWorkerIds":["research"]}}' AS BLOB), 'lead', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1476395011, 'f43c0b45ff5035e475f169de', 'node.completed', 1794855823557, CAST('{"nodeId":"lead","outputs":{"decision":{"kind":"next-worker","nextWorkerIds":["research"]},"iteration":0,"kind":"next-worker"}}' AS BLOB), 'lead', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1476395012, '42b64a526c0662b11277e842', 'node.started', 1794855823557, CAST('{"attempt":1,"nodeId":"send","typeId":"core.dispatch"}' AS BLOB), 'send', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1476395013, 'a9c26d7ac4e52b9667b572d7', 'core.workflowChain.event', 1794855823590, CAST('{"parentRunId":"01m7jvwt5ehwnq87n2m037tq6k","phase":"dispatch.began","workerId":"research"}' AS BLOB), 'send', '36f6276cd9b8151811ea4b78', 1, 1, NULL);
INSERT INTO events VALUES (1476395014, 'c491b5ffce4cc026cef2e2e9', 'weftwork.child.started', 1794855823590, CAST('{"awaited":true,"childRunId":"01m7jvwt730wzcwd5k7jcftvqf","key":"0","workflowId":"research"}' AS BLOB), 'send', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1476395015, 'e24a4366bb038b9634476803', 'node.dispatched', 1794855823590, CAST('{"childRunId":"01m7jvwt730wzcwd5k7jcftvqf","childWorkflowId":"research"}' AS BLOB), 'send', '36f6276cd9b8151811ea4b78', 1, 1, NULL);
INSERT INTO events VALUES (1476395016, '3d42219a92796bd04a5df9a2', 'core.workflowChain.event', 1794855823590, CAST('{"childRunId":"01m7jvwt730wzcwd5k7jcftvqf","parentRunId":"01m7jvwt5ehwnq87n2m037tq6k","phase":"dispatch.succeeded","workerId":"research"}' AS BLOB), 'send', '36f6276cd9b8151811ea4b78', 1, 1, NULL);
INSERT INTO events VALUES (1476395017, '7d889e0c335891006351e010', 'weftwork.child.ended', 1794855823632, CAST('{"childRunId":"01m7jvwt730wzcwd5k7jcftvqf","key":"0","status":"completed","variables":{"found":"owls see in the dark"}}' AS BLOB), 'send', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1476395018, '9e03ea6c7464d7b7db4114b6', 'core.workflowChain.event', 1794855823652, CAST('{"childRunId":"01m7jvwt730wzcwd5k7jcftvqf","parentRunId":"01m7jvwt5ehwnq87n2m037tq6k","phase":"child.completed","workerId":"research"}' AS BLOB), 'send', '36f6276cd9b8151811ea4b78', 1, 1, NULL);
INSERT INTO events VALUES (1476395019, '1e37b0c6549b259446660853', 'variable.changed', 1794855823652, CAST('{"name":"facts","next":"owls see in the dark","nodeId":"send"}' AS BLOB), 'send', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1476395020, 'c1a98b516112216439dc04f5', 'core.workflowChain.event', 1794855823652, CAST('{"childRunId":"01m7jvwt730wzcwd5k7jcftvqf","harvestedKeys":["facts"],"parentRunId":"01m7jvwt5ehwnq87n2m037tq6k","phase":"output.harvested","workerId":"research"}' AS BLOB), 'send', '36f6276cd9b8151811ea4b78', 1, 1, NULL);
INSERT INTO events VALUES (1476395021, '8ff2e6f8d75f52684197c6c6', 'node.completed', 1794855823652, CAST('{"nodeId":"send","outputs":{"childRunId":"01m7jvwt730wzcwd5k7jcftvqf","childStatus":"completed","kind":"next-worker","results":[{"childRunId":"01m7jvwt730wzcwd5k7jcftvqf","childStatus":"completed","workerId":"research"}]}}' AS BLOB), 'send', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1476395022, 'e01a392fac533baa9df40124', 'node.started', 1794855823652, CAST('{"attempt":1,"nodeId":"lead","typeId":"core.orchestrator.supervisor"}' AS BLOB), 'lead', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1476395023, '57a0d8fe80719f983b768d58', 'runOrchestrator.decided', 1794855823683, CAST('{"agentId":"host:editor","decision":{"kind":"next-worker","nextWorkerIds":["write"]}}' AS BLOB), 'lead', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1476395024, '2cbf42022d4b3c921d22ea5d', 'node.completed', 1794855823683, CAST('{"nodeId":"lead","outputs":{"decision":{"kind":"next-worker","nextWorkerIds":["write"]},"iteration":1,"kind":"next-worker"}}' AS BLOB), 'lead', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1476395025, 'a89a5bde8ee9f979e17953c4', 'node.started', 1794855823683, CAST('{"attempt":1,"nodeId":"send","typeId":"core.dispatch"}' AS BLOB), 'send', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1476395026, '1de1856dd7929bd85a6abaea', 'core.workflowChain.event', 1794855823719, CAST('{"parentRunId":"01m7jvwt5ehwnq87n2m037tq6k","phase":"dispatch.began","workerId":"write"}' AS BLOB), 'send', '57a0d8fe80719f983b768d58', 1, 1, NULL);
INSERT INTO events VALUES (1476395027, '002c3f74c165a28eb08727e2', 'weftwork.child.started', 1794855823719, CAST('{"awaited":true,"childRunId":"01m7jvwtb77jn2h7dbnvyx41ax","key":"0","workflowId":"write"}' AS BLOB), 'send', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1476395028, '0f9de90c81d7a686303ad68c', 'node.dispatched', 1794855823719, CAST('{"childRunId":"01m7jvwtb77jn2h7dbnvyx41ax","childWorkflowId":"write"}' AS BLOB), 'send', '57a0d8fe80719f983b768d58', 1, 1, NULL);
INSERT INTO events VALUES (1476395029, 'e9cf90805a9b963540aaa0a8', 'core.workflowChain.event', 1794855823719, CAST('{"childRunId":"01m7jvwtb77jn2h7dbnvyx41ax","parentRunId":"01m7jvwt5ehwnq87n2m037tq6k","phase":"dispatch.succeeded","workerId":"write"}' AS BLOB), 'send', '57a0d8fe80719f983b768d58', 1, 1, NULL);
INSERT INTO events VALUES (1476395030, 'dfd0fb735be6076e2f464bff', 'weftwork.child.ended', 1794855823744, CAST('{"childRunId":"01m7jvwtb77jn2h7dbnvyx41ax","key":"0","status":"completed","variables":{"text":"Did you know that owls see in the dark?"}}' AS BLOB), 'send', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1476395031, '39a8657535cd05189401ee4d', 'core.workflowChain.event', 1794855823756, CAST('{"childRunId":"01m7jvwtb77jn2h7dbnvyx41ax","parentRunId":"01m7jvwt5ehwnq87n2m037tq6k","phase":"child.completed","workerId":"write"}' AS BLOB), 'send', '57a0d8fe80719f983b768d58', 1, 1, NULL);
INSERT INTO events VALUES (1476395032, 'a239c8ffeacebdbfc9bf515e', 'variable.changed', 1794855823756, CAST('{"name":"text","next":"Did you know that owls see in the dark?","nodeId":"send"}' AS BLOB), 'send', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1476395033, '2cc30c31cab3350c90f3679d', 'core.workflowChain.event', 1794855823756, CAST('{"childRunId":"01m7jvwtb77jn2h7dbnvyx41ax","harvestedKeys":["text"],"parentRunId":"01m7jvwt5ehwnq87n2m037tq6k","phase":"output.harvested","workerId":"write"}' AS BLOB), 'send', '57a0d8fe80719f983b768d58', 1, 1, NULL);
INSERT INTO events VALUES (1476395034, 'ba87a0fd620840ad06c70eb8', 'node.completed', 1794855823756, CAST('{"nodeId":"send","outputs":{"childRunId":"01m7jvwtb77jn2h7dbnvyx41ax","childStatus":"completed","kind":"next-worker","results":[{"childRunId":"01m7jvwtb77jn2h7dbnvyx41ax","childStatus":"completed","workerId":"write"}]}}' AS BLOB), 'send', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1476395035, 'f370d4e82eb63f596f541ae6', 'node.started', 1794855823756, CAST('{"attempt":1,"nodeId":"lead","typeId":"core.orchestrator.supervisor"}' AS BLOB), 'lead', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1476395036, '49daab81255906540bc4de4b', 'runOrchestrator.decided', 1794855823771, CAST('{"agentId":"host:editor","decision":{"kind":"terminate","reason":"goal-reached"}}' AS BLOB), 'lead', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1476395037, 'b93bf5c7c9c98622ceb5ac74', 'node.completed', 1794855823771, CAST('{"nodeId":"lead","outputs":{"decision":{"kind":"terminate","reason":"goal-reached"},"iteration":2,"kind":"terminate"}}' AS BLOB), 'lead', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1476395038, '9c24ddf053ac33669ddf4845', 'node.skipped', 1794855823771, CAST('{"nodeId":"send","reason":"trigger-rule"}' AS BLOB), 'send', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1476395039, 'cfbd152487aff7a7b8a01562', 'node.started', 1794855823771, CAST('{"attempt":1,"nodeId":"result","typeId":"core.transform"}' AS BLOB), 'result', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1476395040, 'a4b51419a1a8069e0b7ae610', 'node.completed', 1794855823771, CAST('{"nodeId":"result","outputs":{"decisions":3,"text":"Did you know that owls see in the dark?"}}' AS BLOB), 'result', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1476395041, 'd4db2e2b955bc4e7a7fa050b', 'run.completed', 1794855823771, CAST('{"outputs":{"result":{"decisions":3,"text":"Did you know that owls see in the dark?"}}}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (1543503872, '69fb37204f0377907ec58549', 'run.started', 1794855823582, CAST('{"inputs":{},"owner":{"principal":"key_e9e1fc1b52656f73","tenant":"acme"},"workflowId":"parcels"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (1543503873, '57ddf216f0a823cd8fdda213', 'node.started', 1794855823582, CAST('{"attempt":1,"nodeId":"pack","typeId":"core.flow.map"}' AS BLOB), 'pack', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1543503874, '2fa6b0212f93fa53141a3d5a', 'weftwork.child.started', 1794855823597, CAST('{"awaited":true,"childRunId":"01m7jvwt7axbpp098bm05mbgq5","key":"0","workflowId":"parcel"}' AS BLOB), 'pack', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1543503875, '33cb4a3fb87c3e7f2e1f1069', 'weftwork.child.started', 1794855823597, CAST('{"awaited":true,"childRunId":"01m7jvwt7db3h8fpc7d881v0r2","key":"1","workflowId":"parcel"}' AS BLOB), 'pack', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1543503876, '822427163cf08cf3535d3855', 'weftwork.child.ended', 1794855823647, CAST('{"childRunId":"01m7jvwt7axbpp098bm05mbgq5","key":"0","status":"completed","variables":{"label":"1: Ada"}}' AS BLOB), 'pack', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1543503877, '65550dd8f780f3878861e664', 'weftwork.child.started', 1794855823667, CAST('{"awaited":true,"childRunId":"01m7jvwt9ksc9rc0zzx1sexy3m","key":"2","workflowId":"parcel"}' AS BLOB), 'pack', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1543503878, '5c5aa3f50e249c977d7c86b1', 'weftwork.child.ended', 1794855823736, CAST('{"childRunId":"01m7jvwt9ksc9rc0zzx1sexy3m","key":"2","status":"completed","variables":{"label":"3: Eve"}}' AS BLOB), 'pack', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1610612736, 'c8c7ead96f2c4c4bb006ab25', 'run.started', 1794855823607, CAST('{"inputs":{"topic":"owls"},"owner":{"principal":"key_e9e1fc1b52656f73","tenant":"acme"},"workflowId":"research"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (1610612737, 'f52bbc16c2d8715127b9f9d7', 'node.started', 1794855823607, CAST('{"attempt":1,"nodeId":"say","typeId":"core.template"}' AS BLOB), 'say', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1610612738, 'bcfe5fbdcc541f509a89f7f3', 'node.completed', 1794855823607, CAST('{"nodeId":"say","outputs":{"output":"owls see in the dark"}}' AS BLOB), 'say', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1610612739, '52f5ff30b04f8c8866a3eb4f', 'node.started', 1794855823607, CAST('{"attempt":1,"nodeId":"keep","typeId":"core.setVariable"}' AS BLOB), 'keep', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1610612740, 'a6899d122f5d38d2eea5709d', 'variable.changed', 1794855823607, CAST('{"name":"found","next":"owls see in the dark","nodeId":"keep"}' AS BLOB), 'keep', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1610612741, 'e11bebf9a36c387cd6c24fe8', 'node.completed', 1794855823607, CAST('{"nodeId":"keep","outputs":{"output":"owls see in the dark"}}' AS BLOB), 'keep', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1610612742, 'f6f463b93da8d6222929c3b8', 'run.completed', 1794855823607, CAST('{"outputs":{"keep":{"output":"owls see in the dark"}}}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (1677721600, 'fda00ca9e73c93c867597baa', 'run.started', 1794855823614, CAST('{"inputs":{"name":"Ada","number":1},"owner":{"principal":"key_e9e1fc1b52656f73","tenant":"acme"},"workflowId":"parcel"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (1677721601, 'f93bf99d124f6d2bf52e18bb', 'node.started', 1794855823614, CAST('{"attempt":1,"nodeId":"fill","typeId":"core.delay"}' AS BLOB), 'fill', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1677721602, '9dc8ce220fbbf8071352b1bb', 'node.completed', 1794855823628, CAST('{"nodeId":"fill","outputs":{}}' AS BLOB), 'fill', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1677721603, 'f29f41d1244d7d3ae282c9b0', 'node.started', 1794855823628, CAST('{"attempt":1,"nodeId":"write","typeId":"core.template"}' AS BLOB), 'write', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1677721604, 'f8d4a0ea66f7606daf34a293', 'node.completed', 1794855823628, CAST('{"nodeId":"write","outputs":{"output":"1: Ada"}}' AS BLOB), 'write', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1677721605, '71f2c85bda69d94bd3425910', 'node.started', 1794855823628, CAST('{"attempt":1,"nodeId":"stick","typeId":"core.setVariable"}' AS BLOB), 'stick', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1677721606, '1f99975988ba754539364ec3', 'variable.changed', 1794855823628, CAST('{"name":"label","next":"1: Ada","nodeId":"stick"}' AS BLOB), 'stick', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1677721607, '9cf25fc3159e78505406bfd6', 'node.completed', 1794855823628, CAST('{"nodeId":"stick","outputs":{"output":"1: Ada"}}' AS BLOB), 'stick', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1677721608, '5548ea24b7220d8963907c67', 'run.completed', 1794855823628, CAST('{"outputs":{"stick":{"output":"1: Ada"}}}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (1744830464, '4d8763a720ddd1e25d434aa9', 'run.started', 1794855823614, CAST('{"inputs":{"name":"Bob","number":2},"owner":{"principal":"key_e9e1fc1b52656f73","tenant":"acme"},"workflowId":"parcel"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (1744830465, '5e52cbf25aadf6e81f68e2ec', 'node.started', 1794855823614, CAST('{"attempt":1,"nodeId":"fill","typeId":"core.delay"}' AS BLOB), 'fill', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1811939328, 'e1dd431f9543f178782794db', 'run.started', 1794855823615, CAST('{"inputs":{},"owner":{"principal":"key_e9e1fc1b52656f73","tenant":"acme"},"workflowId":"parent"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (1811939329, '96b74690451ce2bb86c3f385', 'node.started', 1794855823615, CAST('{"attempt":1,"nodeId":"s","typeId":"core.subWorkflow"}' AS BLOB), 's', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1811939330, 'c3e6432c323f290dc318aabf', 'weftwork.child.started', 1794855823637, CAST('{"awaited":true,"childRunId":"01m7jvwt87wd7p6w74vsas9e99","key":"child","workflowId":"delays"}' AS BLOB), 's', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1879048192, 'f4a30b2e071524f2fb751fd5', 'run.started', 1794855823636, CAST('{"inputs":{},"owner":{"principal":"key_e9e1fc1b52656f73","tenant":"acme"},"workflowId":"parent"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (1879048193, 'b3f14a0d00487896ef3d8601', 'node.started', 1794855823636, CAST('{"attempt":1,"nodeId":"s","typeId":"core.subWorkflow"}' AS BLOB), 's', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1879048194, '0a72c5d98287f7b6e2c8d119', 'weftwork.child.started', 1794855823658, CAST('{"awaited":true,"childRunId":"01m7jvwt93zpwd9h57jmt2qn2r","key":"child","workflowId":"delays"}' AS BLOB), 's', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1879048195, '65d0b0fdfde57f43a8c004e7', 'node.cancelled', 1794855824527, CAST('{"nodeId":"s"}' AS BLOB), 's', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1879048196, 'b33a97094e05b4885794b771', 'run.cancelled', 1794855824527, CAST('{"reason":"changed my mind"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (1946157056, 'b62fcf96e08a3f105cdc8186', 'run.started', 1794855823651, CAST('{"inputs":{},"owner":{"principal":"key_e9e1fc1b52656f73","tenant":"acme"},"workflowId":"delays"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (1946157057, 'f5f89ed3690e95cda3b06f10', 'node.started', 1794855823651, CAST('{"attempt":1,"nodeId":"a","typeId":"core.identity"}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1946157058, 'e1ee669088dbacf68603ecb7', 'node.completed', 1794855823651, CAST('{"nodeId":"a","outputs":{"secret":"[REDACTED:a.secret]"}}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (1946157059, '0a60a3f2fe2c59333aec2ea1', 'node.started', 1794855823651, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL);
INSERT INTO events VALUES (2013265920, '4645a17da0111588c0110e35', 'run.started', 1794855823676, CAST('{"inputs":{},"owner":{"principal":"key_e9e1fc1b52656f73","tenant":"acme"},"workflowId":"delays"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (2013265921, '53715a4c9615d59321972b92', 'node.started', 1794855823676, CAST('{"attempt":1,"nodeId":"a","typeId":"core.identity"}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (2013265922, '8c3252e1c4de9c35f0f589f2', 'node.completed', 1794855823676, CAST('{"nodeId":"a","outputs":{"secret":"[REDACTED:a.secret]"}}' AS BLOB), 'a', NULL, 1, 1, NULL);
INSERT INTO events VALUES (2013265923, '03f65a5c67a74a5f577691f4', 'node.started', 1794855823676, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL);
INSERT INTO events VALUES (2013265924, 'bcfb9cfcbb6744daf6414b77', 'weftwork.run.cancel-requested', 1794855824539, CAST('{"parentRunId":"01m7jvwt8c2wn7175xpe80an5p","reason":"parent-cancelled"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (2013265925, '963de41ca2e19ea50fb3db85', 'node.cancelled', 1794855824548, CAST('{"nodeId":"d"}' AS BLOB), 'd', NULL, 1, 1, NULL);
INSERT INTO events VALUES (2013265926, '6f09030fa41b4dbd2898fb0f', 'run.cancelled', 1794855824548, CAST('{"parentRunId":"01m7jvwt8c2wn7175xpe80an5p","reason":"parent-cancelled"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (2080374784, '6a7579c1c901ba6d2bfede4f', 'run.started', 1794855823659, CAST('{"inputs":{},"owner":{"principal":"key_e9e1fc1b52656f73","tenant":"acme"},"workflowId":"parent-asks"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (2080374785, 'cfc469a90fac877769ef773d', 'node.started', 1794855823659, CAST('{"attempt":1,"nodeId":"s","typeId":"core.subWorkflow"}' AS BLOB), 's', NULL, 1, 1, NULL);
INSERT INTO events VALUES (2080374786, '345f26fd6879bd98dbdc2f88', 'weftwork.child.started', 1794855823690, CAST('{"awaited":true,"childRunId":"01m7jvwt9xv7c1v9p5e5q2a9dt","key":"child","workflowId":"approval"}' AS BLOB), 's', NULL, 1, 1, NULL);
INSERT INTO events VALUES (2080374787, '975ccbade104508b42913a8e', 'weftwork.child.status', 1794855823736, CAST('{"childRunId":"01m7jvwt9xv7c1v9p5e5q2a9dt","key":"child","status":"waiting-approval"}' AS BLOB), 's', NULL, 1, 1, NULL);
INSERT INTO events VALUES (2147483648, 'cbafa4c172304ca6b51efb45', 'run.started', 1794855823690, CAST('{"inputs":{"name":"Eve","number":3},"owner":{"principal":"key_e9e1fc1b52656f73","tenant":"acme"},"workflowId":"parcel"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (2147483649, '538666d1436460fdd7a454f6', 'node.started', 1794855823690, CAST('{"attempt":1,"nodeId":"fill","typeId":"core.delay"}' AS BLOB), 'fill', NULL, 1, 1, NULL);
INSERT INTO events VALUES (2147483650, '64bbfaf29b2bf3ebed9aa29e', 'node.completed', 1794855823718, CAST('{"nodeId":"fill","outputs":{}}' AS BLOB), 'fill', NULL, 1, 1, NULL);
INSERT INTO events VALUES (2147483651, '63e76aabbf36e757ba109400', 'node.started', 1794855823718, CAST('{"attempt":1,"nodeId":"write","typeId":"core.template"}' AS BLOB), 'write', NULL, 1, 1, NULL);
INSERT INTO events VALUES (2147483652, '0d48584904c42581d3bf0478', 'node.completed', 1794855823718, CAST('{"nodeId":"write","outputs":{"output":"3: Eve"}}' AS BLOB), 'write', NULL, 1, 1, NULL);
INSERT INTO events VALUES (2147483653, '62c7b0207152d7cb5e6be101', 'node.started', 1794855823718, CAST('{"attempt":1,"nodeId":"stick","typeId":"core.setVariable"}' AS BLOB), 'stick', NULL, 1, 1, NULL);
INSERT INTO events VALUES (2147483654, '6a5690247dfabb1c376d78ea', 'variable.changed', 1794855823718, CAST('{"name":"label","next":"3: Eve","nodeId":"stick"}' AS BLOB), 'stick', NULL, 1, 1, NULL);
INSERT INTO events VALUES (2147483655, '474b45a76d6b2d586f8ecdd7', 'node.completed', 1794855823718, CAST('{"nodeId":"stick","outputs":{"output":"3: Eve"}}' AS BLOB), 'stick', NULL, 1, 1, NULL);
INSERT INTO events VALUES (2147483656, '6866294405209292f7ce9eb8', 'run.completed', 1794855823718, CAST('{"outputs":{"stick":{"output":"3: Eve"}}}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (2214592512, '713e6d0c5b18cd11e3ef9296', 'run.started', 1794855823709, CAST('{"inputs":{},"owner":{"principal":"key_e9e1fc1b52656f73","tenant":"acme"},"workflowId":"approval"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (2214592513, '37c3f7df92fa34e16fda3bab', 'node.started', 1794855823709, CAST('{"attempt":1,"nodeId":"gate","typeId":"core.approvalGate"}' AS BLOB), 'gate', NULL, 1, 1, NULL);
INSERT INTO events VALUES (2214592514, '0ab93c96175b4e636c5e0802', 'interrupt.requested', 1794855823709, CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","description":"Asked once; a reminder follows after a day.","title":"Pay 100 for a chair?"},"key":"gate","kind":"approval","timeoutMs":259200000}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (2214592515, 'cf6fb3c1e1f9009aec4fef09', 'approval.requested', 1794855823709, CAST('{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","interruptId":"gate.1","nodeId":"gate","title":"Pay 100 for a chair?"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (2214592516, '7a638b39024c5a5d2a9d15af', 'node.suspended', 1794855823709, CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","remindAfterMs":[86400000]}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1');
INSERT INTO events VALUES (2281701376, '75a22e1ffd1bd11c9911705e', 'run.started', 1794855823691, CAST('{"inputs":{},"owner":{"principal":"key_e9e1fc1b52656f73","tenant":"acme"},"workflowId":"list"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (2281701377, '023b237c01eed1826a972d7f', 'node.started', 1794855823691, CAST('{"attempt":1,"nodeId":"c","typeId":"core.channelWrite"}' AS BLOB), 'c', NULL, 1, 1, NULL);
INSERT INTO events VALUES (2281701378, 'bbf2ae26a08b7288e29af03a', 'channel.written', 1794855823691, CAST('{"channel":"log","nodeId":"c","reducer":"append","value":"begun","writtenAt":"2026-11-16T19:03:43.691Z"}' AS BLOB), 'c', NULL, 1, 1, NULL);
INSERT INTO events VALUES (2281701379, 'c1eeb9e6544736e88d20ff7e', 'node.completed', 1794855823691, CAST('{"nodeId":"c","outputs":{"output":"begun"}}' AS BLOB), 'c', NULL, 1, 1, NULL);
INSERT INTO events VALUES (2281701380, '59fbfcc7d31d412b4c7579c1', 'node.started', 1794855823691, CAST('{"attempt":1,"nodeId":"m","typeId":"core.flow.map"}' AS BLOB), 'm', NULL, 1, 1, NULL);
INSERT INTO events VALUES (2281701381, 'b0acbdabb3e3e893fa172246', 'weftwork.map.item', 1794855823722, CAST('{"index":0,"output":{}}' AS BLOB), 'm', NULL, 1, 1, NULL);
INSERT INTO events VALUES (2281701382, '9e69a570140af5b2bde5aaff', 'weftwork.map.item', 1794855823751, CAST('{"index":2,"output":{}}' AS BLOB), 'm', NULL, 1, 1, NULL);
INSERT INTO events VALUES (2348810240, 'd2c039556ce47d1a854ac11f', 'run.started', 1794855823735, CAST('{"inputs":{"facts":"owls see in the dark"},"owner":{"principal":"key_e9e1fc1b52656f73","tenant":"acme"},"workflowId":"write"}' AS BLOB), NULL, NULL, 1, 1, NULL);
INSERT INTO events VALUES (2348810241, 'c806762391372311b7f1d6cb', 'node.started', 1794855823735, CAST('{"attempt":1,"nodeId":"say","typeId":"core.template"}' AS BLOB), 'say', NULL, 1, 1, NULL);
INSERT INTO events VALUES (2348810242, '269578bcccd46bd078bf4ba4', 'node.completed', 1794855823735, CAST('{"nodeId":"say","outputs":{"output":"Did you know that owls see in the dark?"}}' AS BLOB), 'say', NULL, 1, 1, NULL);
INSERT INTO events VALUES (2348810243, 'c5408bad526cd0ecb22ded95', 'node.started', 1794855823735, CAST('{"attempt":1,"nodeId":"keep","typeId":"core.setVariable"}' AS BLOB), 'keep', NULL, 1, 1, NULL);
INSERT INTO events VALUES (2348810244, '32522723cf09fa987527ad9c', 'variable.changed', 1794855823735, CAST('{"name":"text","next":"Did you know that owls see in the dark?","nodeId":"keep"}' AS BLOB), 'keep', NULL, 1, 1, NULL);
INSERT INTO events VALUES (2348810245, '6aa316e8b06b08bf137d218e', 'node.completed', 1794855823735, CAST('{"nodeId":"keep","outputs":{"output":"Did you know that owls see in the dark?"}}' AS BLOB), 'keep', NULL, 1, 1, NULL);
INSERT INTO events VALUES (2348810246, 'c9052029b378841d5a966270', 'run.completed', 1794855823735, CAST('{"outputs":{"keep":{"output":"Did you know that owls see in the dark?"}}}' AS BLOB), NULL, NULL, 1, 1, NULL);
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
INSERT INTO run_state VALUES (8, 'interrupt', 'ask.1', CAST('{"data":{"customKind":"supplier","payload":["north","south"]},"interruptId":"ask.1","key":"ask","kind":"custom","nodeId":"ask","requestedAt":"2026-11-16T19:03:43.118Z","status":"open"}' AS BLOB));
INSERT INTO run_state VALUES (8, 'node', 'ask', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (9, 'artifact', 'keep', CAST('{"artifactType":"order","nodeId":"keep","sequence":8,"version":1}' AS BLOB));
INSERT INTO run_state VALUES (9, 'interrupt', 'ask.1', CAST('{"interruptId":"ask.1","key":"ask","kind":"custom","nodeId":"ask","requestedAt":"2026-11-16T19:03:43.149Z","resolvedAt":"2026-11-16T19:03:44.035Z","resolvedBy":"key_e9e1fc1b52656f73","status":"resolved"}' AS BLOB));
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
INSERT INTO run_state VALUES (13, 'interrupt', 'gate.1', CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","description":"Asked once; a reminder follows after a day.","title":"Pay 100 for a chair?"},"dueAt":"2026-11-19T19:03:43.248Z","interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","requestedAt":"2026-11-16T19:03:43.248Z","status":"open","timeoutMs":259200000}' AS BLOB));
INSERT INTO run_state VALUES (13, 'node', 'gate', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (13, 'variable', 'amount', CAST('100' AS BLOB));
INSERT INTO run_state VALUES (13, 'variable', 'purpose', CAST('"a chair"' AS BLOB));
INSERT INTO run_state VALUES (14, 'interrupt', 'gate.1', CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","outcome":"accepted","requestedAt":"2026-11-16T19:03:43.291Z","resolvedAt":"2026-11-16T19:03:44.146Z","resolvedBy":"key_e9e1fc1b52656f73","status":"resolved"}' AS BLOB));
INSERT INTO run_state VALUES (14, 'node', 'gate', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (14, 'node', 'kept', CAST('{"status":"skipped"}' AS BLOB));
INSERT INTO run_state VALUES (14, 'node', 'paid', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (14, 'variable', 'amount', CAST('100' AS BLOB));
INSERT INTO run_state VALUES (14, 'variable', 'purpose', CAST('"a chair"' AS BLOB));
INSERT INTO run_state VALUES (15, 'interrupt', 'gate.1', CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","outcome":"rejected","requestedAt":"2026-11-16T19:03:43.314Z","resolvedAt":"2026-11-16T19:03:44.163Z","resolvedBy":"key_e9e1fc1b52656f73","status":"resolved"}' AS BLOB));
INSERT INTO run_state VALUES (15, 'node', 'gate', CAST('{"attempt":1,"error":{"code":"interrupt_rejected","details":{"decidedBy":"key_e9e1fc1b52656f73","reason":"rejected"},"message":"The approval was refused."},"status":"failed"}' AS BLOB));
INSERT INTO run_state VALUES (15, 'node', 'kept', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (15, 'node', 'paid', CAST('{"status":"skipped"}' AS BLOB));
INSERT INTO run_state VALUES (15, 'variable', 'amount', CAST('100' AS BLOB));
INSERT INTO run_state VALUES (15, 'variable', 'purpose', CAST('"a chair"' AS BLOB));
INSERT INTO run_state VALUES (16, 'interrupt', 'gate.1', CAST('{"data":{"actions":["accept","reject"],"approversList":[],"artifactId":"gate","artifactType":"approval","requiredApprovals":2,"title":"Release?"},"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","requestedAt":"2026-11-16T19:03:43.370Z","status":"open","votes":[{"action":"accept","voter":"key_e9e1fc1b52656f73"}]}' AS BLOB));
INSERT INTO run_state VALUES (16, 'node', 'gate', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (17, 'interrupt', 'wait.1', CAST('{"data":{"correlation":{"orderId":"o-1","status":"paid"},"eventType":"shop.order.paid"},"dueAt":"2026-11-16T20:03:43.395Z","interruptId":"wait.1","key":"wait","kind":"external-event","nodeId":"wait","requestedAt":"2026-11-16T19:03:43.395Z","status":"open","timeoutMs":3600000}' AS BLOB));
INSERT INTO run_state VALUES (17, 'node', 'wait', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (17, 'variable', 'orderId', CAST('"o-1"' AS BLOB));
INSERT INTO run_state VALUES (18, 'interrupt', 'ask.1', CAST('{"data":{"questions":[{"id":"day","question":"When do you come to Bern?","schema":{"minLength":3,"type":"string"}},{"id":"people","question":"How many are you?","schema":{"maximum":8,"minimum":1,"type":"integer"}},{"id":"lunch","question":"With lunch?","schema":{"type":"boolean"}}]},"dueAt":"2026-11-17T19:03:43.414Z","interruptId":"ask.1","key":"ask","kind":"clarification","nodeId":"ask","requestedAt":"2026-11-16T19:03:43.414Z","status":"open","timeoutMs":86400000}' AS BLOB));
INSERT INTO run_state VALUES (18, 'node', 'ask', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (18, 'variable', 'city', CAST('"Bern"' AS BLOB));
INSERT INTO run_state VALUES (19, 'interrupt', 't.1', CAST('{"interruptId":"t.1","key":"t:start","kind":"conversation.start","nodeId":"t","requestedAt":"2026-11-16T19:03:43.488Z","resolvedAt":"2026-11-16T19:03:43.488Z","status":"resolved"}' AS BLOB));
INSERT INTO run_state VALUES (19, 'interrupt', 't.2', CAST('{"data":{"conversationId":"01m7jvwt2rw7r4d8nhw4ckyrer:t:0","prompt":"Please answer.","turnIndex":1},"interruptId":"t.2","key":"t:1","kind":"conversation.exchange","nodeId":"t","requestedAt":"2026-11-16T19:03:43.506Z","status":"open"}' AS BLOB));
INSERT INTO run_state VALUES (19, 'node', 't', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (20, 'kin', 'children', CAST('1' AS BLOB));
INSERT INTO run_state VALUES (20, 'node', 'offer', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (20, 'node', 'price', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (20, 'variable', 'amount', CAST('12' AS BLOB));
INSERT INTO run_state VALUES (20, 'variable', 'total', CAST('384' AS BLOB));
INSERT INTO run_state VALUES (21, 'node', 'total', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (21, 'variable', 'amount', CAST('12' AS BLOB));
INSERT INTO run_state VALUES (21, 'variable', 'each', CAST('40' AS BLOB));
INSERT INTO run_state VALUES (21, 'variable', 'total', CAST('384' AS BLOB));
INSERT INTO run_state VALUES (22, 'agent', 'agent', CAST('{"agentId":"host:editor","name":"The editor"}' AS BLOB));
INSERT INTO run_state VALUES (22, 'agent', 'runOrchestrator', CAST('{"agentId":"host:editor","name":"The editor"}' AS BLOB));
INSERT INTO run_state VALUES (22, 'kin', 'children', CAST('2' AS BLOB));
INSERT INTO run_state VALUES (22, 'node', 'lead', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (22, 'node', 'result', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (22, 'node', 'send', CAST('{"status":"skipped"}' AS BLOB));
INSERT INTO run_state VALUES (22, 'variable', 'facts', CAST('"owls see in the dark"' AS BLOB));
INSERT INTO run_state VALUES (22, 'variable', 'text', CAST('"Did you know that owls see in the dark?"' AS BLOB));
INSERT INTO run_state VALUES (22, 'variable', 'topic', CAST('"owls"' AS BLOB));
INSERT INTO run_state VALUES (23, 'kin', 'children', CAST('3' AS BLOB));
INSERT INTO run_state VALUES (23, 'node', 'pack', CAST('{"attempt":1,"status":"running"}' AS BLOB));
INSERT INTO run_state VALUES (23, 'variable', 'people', CAST('["Ada","Bob","Eve"]' AS BLOB));
INSERT INTO run_state VALUES (24, 'node', 'keep', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (24, 'node', 'say', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (24, 'variable', 'found', CAST('"owls see in the dark"' AS BLOB));
INSERT INTO run_state VALUES (24, 'variable', 'topic', CAST('"owls"' AS BLOB));
INSERT INTO run_state VALUES (25, 'node', 'fill', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (25, 'node', 'stick', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (25, 'node', 'write', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (25, 'variable', 'label', CAST('"1: Ada"' AS BLOB));
INSERT INTO run_state VALUES (25, 'variable', 'name', CAST('"Ada"' AS BLOB));
INSERT INTO run_state VALUES (25, 'variable', 'number', CAST('1' AS BLOB));
INSERT INTO run_state VALUES (26, 'node', 'fill', CAST('{"attempt":1,"status":"running"}' AS BLOB));
INSERT INTO run_state VALUES (26, 'variable', 'name', CAST('"Bob"' AS BLOB));
INSERT INTO run_state VALUES (26, 'variable', 'number', CAST('2' AS BLOB));
INSERT INTO run_state VALUES (27, 'kin', 'children', CAST('1' AS BLOB));
INSERT INTO run_state VALUES (27, 'node', 's', CAST('{"attempt":1,"status":"running"}' AS BLOB));
INSERT INTO run_state VALUES (28, 'kin', 'children', CAST('1' AS BLOB));
INSERT INTO run_state VALUES (28, 'node', 's', CAST('{"attempt":1,"status":"cancelled"}' AS BLOB));
INSERT INTO run_state VALUES (29, 'node', 'a', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (29, 'node', 'd', CAST('{"attempt":1,"status":"running"}' AS BLOB));
INSERT INTO run_state VALUES (29, 'variable', 'secret', CAST('"[REDACTED:secret]"' AS BLOB));
INSERT INTO run_state VALUES (30, 'node', 'a', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (30, 'node', 'd', CAST('{"attempt":1,"status":"cancelled"}' AS BLOB));
INSERT INTO run_state VALUES (30, 'variable', 'secret', CAST('"[REDACTED:secret]"' AS BLOB));
INSERT INTO run_state VALUES (31, 'kin', 'children', CAST('1' AS BLOB));
INSERT INTO run_state VALUES (31, 'node', 's', CAST('{"attempt":1,"status":"running"}' AS BLOB));
INSERT INTO run_state VALUES (32, 'node', 'fill', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (32, 'node', 'stick', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (32, 'node', 'write', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (32, 'variable', 'label', CAST('"3: Eve"' AS BLOB));
INSERT INTO run_state VALUES (32, 'variable', 'name', CAST('"Eve"' AS BLOB));
INSERT INTO run_state VALUES (32, 'variable', 'number', CAST('3' AS BLOB));
INSERT INTO run_state VALUES (33, 'interrupt', 'gate.1', CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","description":"Asked once; a reminder follows after a day.","title":"Pay 100 for a chair?"},"dueAt":"2026-11-19T19:03:43.709Z","interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","requestedAt":"2026-11-16T19:03:43.709Z","status":"open","timeoutMs":259200000}' AS BLOB));
INSERT INTO run_state VALUES (33, 'node', 'gate', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (33, 'variable', 'amount', CAST('100' AS BLOB));
INSERT INTO run_state VALUES (33, 'variable', 'purpose', CAST('"a chair"' AS BLOB));
INSERT INTO run_state VALUES (34, 'channel', 'log', CAST('["begun"]' AS BLOB));
INSERT INTO run_state VALUES (34, 'node', 'c', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (34, 'node', 'm', CAST('{"attempt":1,"status":"running"}' AS BLOB));
INSERT INTO run_state VALUES (35, 'node', 'keep', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (35, 'node', 'say', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (35, 'variable', 'facts', CAST('"owls see in the dark"' AS BLOB));
INSERT INTO run_state VALUES (35, 'variable', 'text', CAST('"Did you know that owls see in the dark?"' AS BLOB));
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
INSERT INTO hidden VALUES (20, 29, 2, '/outputs/secret', CAST('"xxxx"' AS BLOB));
INSERT INTO hidden VALUES (21, 30, 2, '/outputs/secret', CAST('"xxxx"' AS BLOB));
INSERT INTO run_tags VALUES ('live:acme', 'accept', 14);
INSERT INTO run_tags VALUES ('live:acme', 'annotate', 11);
INSERT INTO run_tags VALUES ('live:acme', 'answer', 9);
INSERT INTO run_tags VALUES ('live:acme', 'cancel', 5);
INSERT INTO run_tags VALUES ('live:acme', 'cancel', 28);
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
INSERT INTO run_tags VALUES ('live:acme', 'plain', 22);
INSERT INTO run_tags VALUES ('live:acme', 'plain', 23);
INSERT INTO run_tags VALUES ('live:acme', 'plain', 27);
INSERT INTO run_tags VALUES ('live:acme', 'plain', 31);
INSERT INTO run_tags VALUES ('live:acme', 'plain', 34);
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
INSERT INTO run_tags VALUES ('live:acme', 'recorded', 22);
INSERT INTO run_tags VALUES ('live:acme', 'recorded', 23);
INSERT INTO run_tags VALUES ('live:acme', 'recorded', 27);
INSERT INTO run_tags VALUES ('live:acme', 'recorded', 28);
INSERT INTO run_tags VALUES ('live:acme', 'recorded', 31);
INSERT INTO run_tags VALUES ('live:acme', 'recorded', 34);
INSERT INTO run_tags VALUES ('live:acme', 'reject', 15);
INSERT INTO run_tags VALUES ('live:acme', 'vote', 16);
INSERT INTO idempotency VALUES (1, 'live:acme', '61a985f870cc6e41f93abf2c7b2511e14c15b86e671537a8792ca3271a428477', 'bea331ee4f5f0b1a569ecda7bbe1e96ce82eba15e24f4b1fa0a4322da4b1646b', CAST('{"run_id":"01m7jvwsj6ccrve4ey88eg5x80","status":"pending","replayed":false}' AS BLOB), 1794855822918);
INSERT INTO idempotency VALUES (2, 'live:acme', 'dfce0f4614e6373d7ac9bbf429dd89680e0127c208fba439cfe3ccd5d23c98ec', '410d8cc13960308047f90d0c1dec055eb74b241f8998df1dfd07cea4c11c40ee', CAST('{"run_id":"01m7jvwskke3xqw1tk40mgv8d2","status":"pending","replayed":false}' AS BLOB), 1794855822963);
INSERT INTO idempotency VALUES (3, 'live:acme', '8e3ec313a4420d425f5a0a6547b4f49e9c2fd2f2101c752a6982d28eed7ed7b2', '7d41ae182720cd4e7f96fe02996dd1311b613fdf6b743aa121da166959dbde3e', CAST('{"run_id":"01m7jvwsmj8smt8vh330z2ewem","status":"pending","replayed":false}' AS BLOB), 1794855822994);
INSERT INTO idempotency VALUES (4, 'live:acme', '2dd923e5d6c5b95437f27bcbbb78858e459ca89f8a8cc26c61a0977dda6e5535', '294cb31a28ff3950c8e69947a62e65264bf09459769432db303ca6457b5823e9', CAST('{"run_id":"01m7jvwsnbzwxtm0fn0fmnkdp1","status":"pending","replayed":false}' AS BLOB), 1794855823019);
INSERT INTO idempotency VALUES (5, 'live:acme', '19f12c22be65e06a90e64b855f7419dcf205317475868848cc1f69ebf360f32a', '4e9585cdffde56256d715dbefdbecadda83655d126fc4191b4c740e9dde2820d', CAST('{"run_id":"01m7jvwsp1nenmsr26zbx1h8z5","status":"pending","replayed":false}' AS BLOB), 1794855823041);
INSERT INTO idempotency VALUES (6, 'live:acme', '772796833478311126761000a7046b58c32c54f1819dd5ad95325141a1a30d68', '9891ba3762f4fc4c919d2dbb38caf54bc387179056ba9d75278cc2b6d5afa10a', CAST('{"run_id":"01m7jvwspet7beb4yb4g81fvea","status":"pending","replayed":false}' AS BLOB), 1794855823054);
INSERT INTO idempotency VALUES (7, 'live:acme', '3ecf33d6f95f7eb106db493feab3b63e4b156acdcdf8f06423ed18e0a02423d4', '79d5fd2f04bd6d1b271dd9ca3cbd06d794f9a3d82823d341dbd4a4d5034dac3d', CAST('{"run_id":"01m7jvwsqa5j1q5kqkma1th99d","status":"pending","replayed":false}' AS BLOB), 1794855823082);
INSERT INTO idempotency VALUES (8, 'live:acme', 'ec4fb0f6dc0d59a0bc614cf323f7bb615b07d925391457bbd1744f1f52d118fa', '46afdfb8fd29952388c0253cd020631707a78ccdccadbac2cbfe985181f30a15', CAST('{"run_id":"01m7jvwsrcbmph6zz0pwmffq9c","status":"pending","replayed":false}' AS BLOB), 1794855823116);
INSERT INTO idempotency VALUES (9, 'live:acme', '37770f8c8236ec98ff069dbbdb394cce6833da7ac70f59ea0727fc0958513a2f', '54acda9ff1f00697248e0d3471456d58ee39513ec586d0393e926d65d24d5d8d', CAST('{"run_id":"01m7jvwss82nc5mhn3bxeva1eg","status":"pending","replayed":false}' AS BLOB), 1794855823144);
INSERT INTO idempotency VALUES (10, 'live:acme', '390f95671cbd0f40167f192b5e8dcaf85b72e2c9a97567c1b2e821f243683d39', '6871360561500a4b03b2d7a58ecb28aabd4b82e27a8769e01f700ad0984697be', CAST('{"run_id":"01m7jvwsstmbcgx8rgqardygd7","status":"pending","replayed":false}' AS BLOB), 1794855823162);
INSERT INTO idempotency VALUES (11, 'live:acme', 'fb1509fb9996b64704badca968bf731141f96b06ac5201dec96102e7fc089286', '59d219a28509ec722cdb5013b3ec52fc3308195ff17bc513368e7bf1820eb454', CAST('{"run_id":"01m7jvwstmxvwn1fmfnz0jek5p","status":"pending","replayed":false}' AS BLOB), 1794855823188);
INSERT INTO idempotency VALUES (12, 'live:acme', '1b934e79250a9827af3e2def4b5ae929c57ff2622280e40d2338ad859d1cfbab', 'de11a5bb1f69003541ca0ad959775fdfaf60dcf962d962cefe4fb52f05ecdacd', CAST('{"run_id":"01m7jvwsvgcpwgynemxdqvmgpn","status":"pending","replayed":false}' AS BLOB), 1794855823216);
INSERT INTO idempotency VALUES (13, 'live:acme', '0633fc297d43e48f3b239973ad348c2e44ebce32a392a3cde7f85d4279f34f15', '19d4e1b84d6f468cbc327c06cadb8e2bcbf1fe3ea764b1542483cdbb127420e5', CAST('{"run_id":"01m7jvwsw7wjz3pbe7e8kmjrzc","status":"pending","replayed":false}' AS BLOB), 1794855823239);
INSERT INTO idempotency VALUES (14, 'live:acme', '670d9d85c2cc9737ee0bfbc2951787470ab94871af480464786e1d40954fe2db', 'bc884c55e359f172fcc1f1bc43a3a3e4c312779930d2f510bc023242b6e9a285', CAST('{"run_id":"01m7jvwsxk3tv370kcbf5y1yzn","status":"pending","replayed":false}' AS BLOB), 1794855823283);
INSERT INTO idempotency VALUES (15, 'live:acme', '9caf77c7ba86fb45f73acc1993d2ec1f9fbd05f3acd88d44a7a8109378f243c8', 'aca5d710b29cbf658776978c31547149c3ee01ad992f5717da2851fb183b143d', CAST('{"run_id":"01m7jvwsyfekhk72adz7m03v1p","status":"pending","replayed":false}' AS BLOB), 1794855823311);
INSERT INTO idempotency VALUES (16, 'live:acme', '8acea8f6f69addd4a47bf4caa18378ba63943dbac645f2fa71e7b22f3b968879', '7d5ec92d1b2f9785a16e54b622d74725160998054805e0b1bc488635d27ac252', CAST('{"run_id":"01m7jvwszr16n18brqenye59r1","status":"pending","replayed":false}' AS BLOB), 1794855823352);
INSERT INTO idempotency VALUES (17, 'live:acme', 'f3b928f7d5646ced4b9ca261bb4e8b9b65007e95fa1ec32475cdb4f4941a6d14', '48df3d086ab6a0fbf1975a30155ad7083720db87babf539b372f8c72f4109f90', CAST('{"run_id":"01m7jvwt11fpq2wp4dxp57em88","status":"pending","replayed":false}' AS BLOB), 1794855823393);
INSERT INTO idempotency VALUES (18, 'live:acme', 'ef26f01a0a380acb0948f69bc241ce7625ac57dd43a2cea8851bcc2841959bc5', '8f024abda60e2967d064310babe5b965b11a945cf90343a471378a7e5847e6d1', CAST('{"run_id":"01m7jvwt1mjkq0q0zkvqj7wzz8","status":"pending","replayed":false}' AS BLOB), 1794855823412);
INSERT INTO idempotency VALUES (19, 'live:acme', '131cf9f5623746b35e973381fd45b7bc3afa47339f46ba42743d31687375ed72', '74fd0573c8b201d4d522cd932e287c0a98217f835657e171ceb009437d4f36f8', CAST('{"run_id":"01m7jvwt2rw7r4d8nhw4ckyrer","status":"pending","replayed":false}' AS BLOB), 1794855823448);
INSERT INTO idempotency VALUES (20, 'live:acme', 'c7aeec69fbe67d0521366e437768c1a9da818af4676845acc438022935bf61bc', 'b215bf8ecbd76cc23130359a4b63157862c1260d2d449fef2ab5a643f823d7b0', CAST('{"run_id":"01m7jvwt4bj7jybz12r74h5ese","status":"pending","replayed":false}' AS BLOB), 1794855823499);
INSERT INTO idempotency VALUES (21, 'live:acme', '06fe0f944cc9eff168fd188335b2e7295765057e4ee9c7e8a279d0c9a6b2bad0', '436e5abd0bfd273880a1e716db13d7142b4d5c4270fe7b0552c84fe1ed12780d', CAST('{"run_id":"01m7jvwt5ehwnq87n2m037tq6k","status":"pending","replayed":false}' AS BLOB), 1794855823534);
INSERT INTO idempotency VALUES (22, 'live:acme', 'a8b5807e1f64e66bc5490b5cca90b4d8c3d0fa8eec9c5c4599a0b8d509ba238b', '1d55dd2e60c0e61d4b9e9188544a5082df9ea7ab51f96845d49d61899f33af34', CAST('{"run_id":"01m7jvwt6570crbztm3t95r023","status":"pending","replayed":false}' AS BLOB), 1794855823557);
INSERT INTO idempotency VALUES (23, 'live:acme', 'bec69e0a5a927c8ffdf30d72aa71bf7a176906aeebcfce402aac666d3b5d5a51', '23d9d82e8ff99f05ce27a647d291ce32fd6cf31fcaf4fd2a4e799c9622277757', CAST('{"run_id":"01m7jvwt7macnseqhdwd1c2dq1","status":"pending","replayed":false}' AS BLOB), 1794855823604);
INSERT INTO idempotency VALUES (24, 'live:acme', 'f84d0fa6ef670211a10d4224470ae4c0ab8c8709d8e2981a08eb1c8193a93fea', 'b13eca0578c3580eb3ab47671370505f5f49136178467ea45668689adbe6e10d', CAST('{"run_id":"01m7jvwt8c2wn7175xpe80an5p","status":"pending","replayed":false}' AS BLOB), 1794855823628);
INSERT INTO idempotency VALUES (25, 'live:acme', '4776239ae9449860a496a7aad0a89ceaaf44dd2ff753c28ecea11acab1f30e07', 'e51d8429ad9909e88989388756c2c71cc27bc716a1c889578f11717bbb867546', CAST('{"run_id":"01m7jvwt97g6r41aap93pr8ptf","status":"pending","replayed":false}' AS BLOB), 1794855823655);
INSERT INTO idempotency VALUES (26, 'live:acme', 'e98ff7f3abe1826830af0f6890bb6fe24e1b604125ec1ccc1c442ea63f97536e', '80f780932b689c0e0cfc6cad6d1082d02c1bb0eda0a22a371397fc8fc9ba1a6e', CAST('{"run_id":"01m7jvwta3yagyr112v8jcd7zf","status":"pending","replayed":false}' AS BLOB), 1794855823683);
INSERT INTO definitions VALUES ('12b16dcc72e3958fef70eff45a8bfec36b843a509542597c4b2f586d0051f185', CAST('{"edges":[{"id":"e0","sourceNodeId":"s","targetNodeId":"n"}],"id":"parent","metadata":{},"name":"parent","nodes":[{"config":{"workflowId":"delays"},"id":"s","inputs":{},"name":"s","position":{"x":0,"y":0},"typeId":"core.subWorkflow"},{"config":{},"id":"n","inputs":{},"name":"n","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[{"enabled":true,"id":"manual","type":"manual"}],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('14dbfc7eb701b74aa49048323c0cb93d7ebde6a792f6d4fa618afe9b7d669aa5', CAST('{"channels":{"conversation":{"reducer":"message","schema":{"type":"array"}}},"edges":[{"id":"e0","sourceNodeId":"t","targetNodeId":"n"}],"id":"talks","metadata":{},"name":"talks","nodes":[{"config":{},"id":"t","inputs":{},"name":"t","position":{"x":0,"y":0},"typeId":"core.conversationGate"},{"config":{},"id":"n","inputs":{},"name":"n","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[{"enabled":true,"id":"manual","type":"manual"}],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('19baf1664cc61854f33a13a0b3d750172c1f6524018272fa0f55f70e7187828b', CAST('{"description":"Takes a moment, and leaves a label.","edges":[{"id":"fill-write","sourceNodeId":"fill","targetNodeId":"write"},{"id":"write-stick","sourceNodeId":"write","targetNodeId":"stick"}],"id":"parcel","metadata":{},"name":"One parcel","nodes":[{"config":{},"id":"fill","inputs":{"delayMs":{"expression":"variables.number == 2.0 ? 60000.0 : 1.0","type":"expression"}},"name":"Fill it","position":{"x":0,"y":0},"typeId":"core.delay"},{"config":{"template":"{{string(variables.number)}}: {{variables.name}}"},"id":"write","inputs":{},"name":"Write the label","position":{"x":200,"y":0},"typeId":"core.template"},{"config":{"name":"label"},"id":"stick","inputs":{"value":{"nodeId":"write","outputKey":"output","type":"connection"}},"name":"Stick it on","position":{"x":400,"y":0},"typeId":"core.setVariable"}],"settings":{},"triggers":[{"id":"manual","type":"manual"}],"variables":[{"name":"name","required":true,"type":"string"},{"defaultValue":1,"name":"number","type":"number"},{"name":"label","type":"string"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('1d2a1ee644677f92561014341fc1db3f86972df42f1b3df3ed081fe2a577242d', CAST('{"channels":{"log":{"reducer":"append","schema":{"type":"array"}}},"edges":[{"id":"e0","sourceNodeId":"c","targetNodeId":"m"},{"id":"e1","sourceNodeId":"m","targetNodeId":"out"}],"id":"list","metadata":{},"name":"list","nodes":[{"config":{"channelName":"log"},"id":"c","inputs":{"value":{"type":"static","value":"begun"}},"name":"c","position":{"x":0,"y":0},"typeId":"core.channelWrite"},{"config":{"body":{"inputs":{"delayMs":{"expression":"item","type":"expression"}},"typeId":"core.delay"},"concurrency":2},"id":"m","inputs":{"items":{"type":"static","value":[1,4000,1]}},"name":"m","position":{"x":0,"y":0},"typeId":"core.flow.map"},{"config":{"expression":"nodes.m.outputs.count"},"id":"out","inputs":{},"name":"out","position":{"x":0,"y":0},"typeId":"core.transform"}],"settings":{},"triggers":[{"enabled":true,"id":"manual","type":"manual"}],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('203267bc7c464bace318e2e58c84ee2f39c182751c7b7315632bd0490025c7b8', CAST('{"description":"A worker: it is given what the other one has found.","edges":[{"id":"say-keep","sourceNodeId":"say","targetNodeId":"keep"}],"id":"write","metadata":{},"name":"Writes it up","nodes":[{"config":{"template":"Did you know that {{variables.facts}}?"},"id":"say","inputs":{},"name":"Put it into words","position":{"x":200,"y":0},"typeId":"core.template"},{"config":{"name":"text"},"id":"keep","inputs":{"value":{"nodeId":"say","outputKey":"output","type":"connection"}},"name":"Keep it","position":{"x":400,"y":0},"typeId":"core.setVariable"}],"settings":{},"triggers":[{"id":"manual","type":"manual"}],"variables":[{"defaultValue":"nothing","name":"facts","type":"string"},{"defaultValue":"","name":"text","type":"string"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('210403c04c63e6d326493908fce767f01a257d7e9887af7c9784e8f1ef85b1b1', CAST('{"edges":[{"id":"e0","sourceNodeId":"ask","targetNodeId":"keep"}],"id":"asks","metadata":{},"name":"asks","nodes":[{"config":{"data":{"customKind":"supplier","payload":["north","south"]},"kind":"custom"},"id":"ask","inputs":{},"name":"ask","position":{"x":0,"y":0},"typeId":"core.interrupt"},{"config":{"artifactType":"order"},"id":"keep","inputs":{"data":{"nodeId":"ask","outputKey":"output","type":"connection"}},"name":"keep","position":{"x":0,"y":0},"typeId":"core.artifact.emit"}],"settings":{},"triggers":[{"enabled":true,"id":"manual","type":"manual"}],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('2104b2443464777c07d85868e1802c0005d2c4770e716a133ab045c91cb47eeb', CAST('{"edges":[{"id":"e0","sourceNodeId":"a","targetNodeId":"d"},{"id":"e1","sourceNodeId":"d","targetNodeId":"c"}],"id":"delays","metadata":{},"name":"delays","nodes":[{"config":{},"id":"a","inputs":{"secret":{"type":"variable","variableName":"secret"}},"name":"a","position":{"x":0,"y":0},"typeId":"core.identity"},{"config":{},"id":"d","inputs":{"delayMs":{"type":"static","value":60000}},"name":"d","position":{"x":0,"y":0},"typeId":"core.delay"},{"config":{},"id":"c","inputs":{"secret":{"nodeId":"a","outputKey":"secret","type":"connection"}},"name":"c","position":{"x":0,"y":0},"typeId":"core.identity"}],"settings":{},"triggers":[{"enabled":true,"id":"manual","type":"manual"}],"variables":[{"defaultValue":"hush","name":"secret","sensitive":true,"type":"string"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('26871ffd9de43d63b96b5c830756850535027b04cd61ba9b7963884d42ab7ff3', CAST('{"description":"Ten or more cost a fifth less.","edges":[],"id":"price","metadata":{},"name":"The price of an order","nodes":[{"config":{"name":"total"},"id":"total","inputs":{"value":{"expression":"variables.amount * variables.each * (variables.amount >= 10.0 ? 0.8 : 1.0)","type":"expression"}},"name":"Find the total","position":{"x":0,"y":0},"typeId":"core.setVariable"}],"settings":{"timeout":60000},"triggers":[{"id":"manual","type":"manual"}],"variables":[{"defaultValue":1,"name":"amount","type":"number"},{"defaultValue":40,"name":"each","type":"number"},{"name":"total","type":"number"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('55fa38846b98bac0d4277e240e539eecfaa2e1e9e0c6ff70fd268c29c761cbef', CAST('{"edges":[{"id":"e0","sourceNodeId":"head","sourceOutput":"body","targetNodeId":"wait"},{"id":"e1","sourceNodeId":"wait","targetNodeId":"sum"},{"id":"e2","sourceNodeId":"sum","targetNodeId":"keep"},{"id":"e3","sourceNodeId":"keep","targetNodeId":"head"},{"id":"e4","sourceNodeId":"head","sourceOutput":"done","targetNodeId":"out"}],"id":"loop","metadata":{},"name":"loop","nodes":[{"config":{"times":3},"id":"head","inputs":{},"name":"head","position":{"x":0,"y":0},"typeId":"core.loop"},{"config":{},"id":"wait","inputs":{"delayMs":{"expression":"variables.n == 1.0 ? 60000.0 : 1.0","type":"expression"}},"name":"wait","position":{"x":0,"y":0},"typeId":"core.delay"},{"config":{"expression":"variables.n + 1.0"},"id":"sum","inputs":{},"name":"sum","position":{"x":0,"y":0},"typeId":"core.transform"},{"config":{"name":"n"},"id":"keep","inputs":{"value":{"nodeId":"sum","outputKey":"output","type":"connection"}},"name":"keep","position":{"x":0,"y":0},"typeId":"core.setVariable"},{"config":{"template":"{{string(variables.n)}} rounds"},"id":"out","inputs":{},"name":"out","outputRole":"primary","position":{"x":0,"y":0},"typeId":"core.template"}],"settings":{"maxLoopbackIterations":10},"triggers":[{"enabled":true,"id":"manual","type":"manual"}],"variables":[{"defaultValue":0,"name":"n","type":"number"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('66389366a5ab12a4055a83795db1e08c233a4a707cd2a41c85c2113722be98c8', CAST('{"edges":[{"id":"e0","sourceNodeId":"gate","targetNodeId":"n"}],"id":"quorum","metadata":{},"name":"quorum","nodes":[{"config":{"approversList":[],"requiredApprovals":2,"title":"Release?"},"id":"gate","inputs":{},"name":"gate","position":{"x":0,"y":0},"typeId":"core.approvalGate"},{"config":{},"id":"n","inputs":{},"name":"n","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[{"enabled":true,"id":"manual","type":"manual"}],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('6aa4e5ff4ef8090e3ae2db68089f63c27d179f826e33286017859a5f668d2376', CAST('{"edges":[{"id":"e0","sourceNodeId":"a","targetNodeId":"b"}],"id":"fails","metadata":{},"name":"fails","nodes":[{"config":{},"id":"a","inputs":{},"name":"a","position":{"x":0,"y":0},"typeId":"core.noop"},{"config":{},"id":"b","inputs":{},"name":"b","position":{"x":0,"y":0},"typeId":"core.fail"}],"settings":{},"triggers":[{"enabled":true,"id":"manual","type":"manual"}],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('a3a75611a91931a4e74ce96d70b02cd815477c45686604b0805e87657b2360ca', CAST('{"description":"One child run for each person, two at a time.","edges":[],"id":"parcels","metadata":{},"name":"A parcel for everybody","nodes":[{"config":{"body":{"inputs":{"name":{"expression":"item","type":"expression"},"number":{"expression":"index + 1.0","type":"expression"}},"output":"label","workflowId":"parcel"},"concurrency":2},"id":"pack","inputs":{"items":{"type":"variable","variableName":"people"}},"name":"Pack for each of them","position":{"x":0,"y":0},"typeId":"core.flow.map"}],"settings":{},"triggers":[{"id":"manual","type":"manual"}],"variables":[{"defaultValue":["Ada","Bob","Eve"],"name":"people","type":"array"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('ab1d14801d1838949bf03d51c0253e5200a8fcd6a7ecfb97d9215e2f1a23b293', CAST('{"edges":[{"id":"e0","sourceNodeId":"s","targetNodeId":"n"}],"id":"parent-asks","metadata":{},"name":"parent-asks","nodes":[{"config":{"workflowId":"approval"},"id":"s","inputs":{},"name":"s","position":{"x":0,"y":0},"typeId":"core.subWorkflow"},{"config":{},"id":"n","inputs":{},"name":"n","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[{"enabled":true,"id":"manual","type":"manual"}],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('ab91191d59ff8f9734d0ff7341ee3569b6ad9ff6ca96631810906aed3b0f99fd', CAST('{"edges":[{"id":"e0","sourceNodeId":"order","targetNodeId":"tax"},{"id":"e1","sourceNodeId":"order","targetNodeId":"ship"},{"id":"e2","sourceNodeId":"tax","targetNodeId":"parts"},{"id":"e3","sourceNodeId":"ship","targetNodeId":"parts"},{"id":"e4","sourceNodeId":"parts","targetNodeId":"total"}],"id":"graph","metadata":{},"name":"graph","nodes":[{"config":{},"id":"order","inputs":{"price":{"type":"variable","variableName":"price"}},"name":"order","position":{"x":0,"y":0},"typeId":"core.identity"},{"config":{"expression":"nodes.order.outputs.price * 0.25"},"id":"tax","inputs":{},"name":"tax","position":{"x":0,"y":0},"typeId":"core.transform"},{"config":{},"id":"ship","inputs":{"delayMs":{"type":"static","value":60000}},"name":"ship","position":{"x":0,"y":0},"typeId":"core.delay"},{"config":{"mode":"object"},"id":"parts","inputs":{},"name":"parts","position":{"x":0,"y":0},"typeId":"core.merge"},{"config":{"expression":"nodes.order.outputs.price + nodes.parts.outputs.output.tax"},"id":"total","inputs":{},"name":"total","outputRole":"primary","position":{"x":0,"y":0},"typeId":"core.transform"}],"settings":{},"triggers":[{"enabled":true,"id":"manual","type":"manual"}],"variables":[{"defaultValue":120,"name":"price","type":"number"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('bacdd63a00f3c50e359a39db4fe7e8ff55b87b9799706626ad70cd5946790078', CAST('{"description":"Somebody without an account decides whether something is paid. Nobody deciding in three days is a no.","edges":[{"id":"gate-paid","sourceNodeId":"gate","targetNodeId":"paid"},{"id":"gate-kept","sourceNodeId":"gate","targetNodeId":"kept","triggerRule":"any_failed"}],"id":"approval","metadata":{},"name":"An approval by link","nodes":[{"config":{"description":"Asked once; a reminder follows after a day.","remindAfterMs":[86400000],"timeoutMs":259200000,"title":"Pay {{variables.amount}} for {{variables.purpose}}?"},"id":"gate","inputs":{},"name":"Shall it be paid?","position":{"x":0,"y":0},"typeId":"core.approvalGate"},{"config":{"template":"{{variables.purpose}} is paid: {{variables.amount}}"},"id":"paid","inputs":{},"name":"Pay","position":{"x":200,"y":0},"typeId":"core.template"},{"config":{"template":"{{variables.purpose}} is not paid"},"id":"kept","inputs":{},"name":"Keep the money","position":{"x":200,"y":200},"typeId":"core.template"}],"settings":{},"triggers":[{"id":"manual","type":"manual"}],"variables":[{"defaultValue":100,"name":"amount","type":"number"},{"defaultValue":"a chair","name":"purpose","type":"string"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('bd0c929534cdf1f2f9f2f6cf0a0109a5128c6c64d3779ae4a6c85175d16a088c', CAST('{"description":"Another workflow finds the price, in a run of its own.","edges":[{"id":"price-offer","sourceNodeId":"price","targetNodeId":"offer"}],"id":"order","metadata":{},"name":"An order with a price","nodes":[{"config":{"inputMapping":{"amount":"amount","each":"price"},"outputMapping":{"total":"total"},"workflowId":"price"},"id":"price","inputs":{},"name":"Find the price","position":{"x":0,"y":0},"typeId":"core.subWorkflow"},{"config":{"template":"{{string(variables.amount)}} chairs for {{string(variables.total)}}"},"id":"offer","inputs":{},"name":"Write the offer","position":{"x":200,"y":0},"typeId":"core.template"}],"settings":{"timeout":60000},"triggers":[{"id":"manual","type":"manual"}],"variables":[{"defaultValue":1,"name":"amount","type":"number"},{"name":"price","type":"number"},{"name":"total","type":"number"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('d6b64959f223a5adaf4139ae0946777d86eca73a21718b19042bdda0b07cb747', CAST('{"description":"A worker: it knows nothing of who sent it.","edges":[{"id":"say-keep","sourceNodeId":"say","targetNodeId":"keep"}],"id":"research","metadata":{},"name":"Finds something out","nodes":[{"config":{"template":"{{variables.topic}} see in the dark"},"id":"say","inputs":{},"name":"Put it into words","position":{"x":200,"y":0},"typeId":"core.template"},{"config":{"name":"found"},"id":"keep","inputs":{"value":{"nodeId":"say","outputKey":"output","type":"connection"}},"name":"Keep it","position":{"x":400,"y":0},"typeId":"core.setVariable"}],"settings":{},"triggers":[{"id":"manual","type":"manual"}],"variables":[{"defaultValue":"owls","name":"topic","type":"string"},{"defaultValue":"","name":"found","type":"string"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('df9219a1cca3ff383a253b781b9c78879cdbee9f787cace1165ce0dc2f79e4b6', CAST('{"description":"Asks three questions at once. After a day without answers it goes on with its own.","edges":[{"id":"ask-book","sourceNodeId":"ask","targetNodeId":"book"}],"id":"form","metadata":{},"name":"A form","nodes":[{"config":{"defaultAnswers":{"day":"any day","lunch":false,"people":1},"questions":[{"id":"day","question":"When do you come to {{variables.city}}?","schema":{"minLength":3,"type":"string"}},{"id":"people","question":"How many are you?","schema":{"maximum":8,"minimum":1,"type":"integer"}},{"id":"lunch","question":"With lunch?","schema":{"type":"boolean"}}],"timeoutMs":86400000},"id":"ask","inputs":{},"name":"What do you need?","position":{"x":0,"y":0},"typeId":"core.clarificationGate"},{"config":{"template":"A table for {{ports.need.people}} in {{variables.city}}, {{ports.need.day}}"},"id":"book","inputs":{"need":{"nodeId":"ask","outputKey":"answers","type":"connection"}},"name":"Book","position":{"x":200,"y":0},"typeId":"core.template"}],"settings":{},"triggers":[{"id":"manual","type":"manual"}],"variables":[{"defaultValue":"Bern","name":"city","type":"string"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('e667f69a7a9e970bb9291b13ab7a59aa465609b69723478d85f8448f45658e5f', CAST('{"description":"Waits until a shop says that an order is paid, and takes no other order for it.","edges":[{"id":"wait-ship","sourceNodeId":"wait","targetNodeId":"ship"}],"id":"event","metadata":{},"name":"An event from outside","nodes":[{"config":{"data":{"eventType":"shop.order.paid"},"kind":"external-event","timeoutMs":3600000},"id":"wait","inputs":{"correlation":{"expression":"{''orderId'': variables.orderId, ''status'': ''paid''}","type":"expression"}},"name":"Is it paid?","position":{"x":0,"y":0},"typeId":"core.interrupt"},{"config":{"template":"{{ports.paid.orderId}} is shipped, {{ports.paid.amount}} is paid"},"id":"ship","inputs":{"paid":{"nodeId":"wait","outputKey":"output","type":"connection"}},"name":"Ship","position":{"x":200,"y":0},"typeId":"core.template"}],"settings":{},"triggers":[{"id":"manual","type":"manual"}],"variables":[{"name":"orderId","required":true,"type":"string"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('f135f29a3129ebc717f3388f8c37bc9dd7911ea39123eaed282626c4376ac89c', CAST('{"edges":[{"id":"e0","sourceNodeId":"a","targetNodeId":"b"},{"id":"e1","sourceNodeId":"b","targetNodeId":"c"}],"id":"steps","metadata":{},"name":"steps","nodes":[{"config":{},"id":"a","inputs":{},"name":"a","position":{"x":0,"y":0},"typeId":"core.noop"},{"config":{},"id":"b","inputs":{"secret":{"type":"variable","variableName":"secret"},"word":{"type":"variable","variableName":"word"}},"name":"b","position":{"x":0,"y":0},"typeId":"core.identity"},{"config":{},"id":"c","inputs":{"word":{"nodeId":"b","outputKey":"word","type":"connection"}},"name":"c","outputRole":"primary","position":{"x":0,"y":0},"typeId":"core.identity"}],"settings":{},"triggers":[{"enabled":true,"id":"manual","type":"manual"}],"variables":[{"defaultValue":"owl","name":"word","type":"string"},{"defaultValue":"hush","name":"secret","sensitive":true,"type":"string"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('f179ef4592407ef4e57c451d33379660c6deac48eb155f72c5f64417074062ee', CAST('{"description":"Looks at what is there already, and decides who is next.","edges":[{"id":"lead-send","sourceNodeId":"lead","targetNodeId":"send"},{"id":"send-lead","sourceNodeId":"send","targetNodeId":"lead"},{"condition":{"expression":"nodes.lead.outputs.kind == ''terminate''","type":"expression"},"id":"lead-result","sourceNodeId":"lead","targetNodeId":"result"}],"id":"article","metadata":{},"name":"A supervisor with two workers","nodes":[{"agent":{"agentId":"host:editor","name":"The editor"},"config":{"decision":"variables.facts == '''' ? {''kind'': ''next-worker'', ''nextWorkerIds'': [''research'']} : variables.text == '''' ? {''kind'': ''next-worker'', ''nextWorkerIds'': [''write'']} : {''kind'': ''terminate'', ''reason'': ''goal-reached''}"},"id":"lead","inputs":{},"name":"What is missing?","position":{"x":0,"y":0},"typeId":"core.orchestrator.supervisor"},{"config":{"perWorkerInputMappings":{"research":{"topic":"topic"},"write":{"facts":"facts"}},"perWorkerOutputMappings":{"research":{"facts":"found"},"write":{"text":"text"}}},"id":"send","inputs":{},"name":"Let somebody do it","position":{"x":200,"y":0},"typeId":"core.dispatch"},{"config":{"fields":{"decisions":"nodes.lead.outputs.iteration + 1.0","text":"variables.text"}},"id":"result","inputs":{},"name":"Say what came out","outputRole":"primary","position":{"x":200,"y":200},"typeId":"core.transform"}],"settings":{"timeout":60000},"triggers":[{"id":"manual","type":"manual"}],"variables":[{"defaultValue":"owls","name":"topic","type":"string"},{"defaultValue":"","name":"facts","type":"string"},{"defaultValue":"","name":"text","type":"string"}],"version":"1.0"}' AS BLOB));
INSERT INTO deleted_runs VALUES (12, 'live:acme', '01m7jvwsvgcpwgynemxdqvmgpn', 1794855824104, 1);
INSERT INTO annotations VALUES (1, 11, '4bcdef3a67fd74a967cb0ff5', CAST('{"annotationId":"4bcdef3a67fd74a967cb0ff5","target":{"runId":"01m7jvwstmxvwn1fmfnz0jek5p"},"signal":{"kind":"rating","rating":4},"actor":{"principalRef":"key_e9e1fc1b52656f73"},"createdAt":"2026-11-16T19:03:44.069Z","note":"ok"}' AS BLOB));
INSERT INTO open_interrupts VALUES (8, 'ask.1', 'live:acme', '01m7jvwsrcbmph6zz0pwmffq9c', 'asks', 'custom', 'ask', 1794855823118, NULL);
INSERT INTO open_interrupts VALUES (13, 'gate.1', 'live:acme', '01m7jvwsw7wjz3pbe7e8kmjrzc', 'approval', 'approval', 'gate', 1794855823248, 1795115023248);
INSERT INTO open_interrupts VALUES (16, 'gate.1', 'live:acme', '01m7jvwszr16n18brqenye59r1', 'quorum', 'approval', 'gate', 1794855823370, NULL);
INSERT INTO open_interrupts VALUES (17, 'wait.1', 'live:acme', '01m7jvwt11fpq2wp4dxp57em88', 'event', 'external-event', 'wait', 1794855823395, 1794859423395);
INSERT INTO open_interrupts VALUES (18, 'ask.1', 'live:acme', '01m7jvwt1mjkq0q0zkvqj7wzz8', 'form', 'clarification', 'ask', 1794855823414, 1794942223414);
INSERT INTO open_interrupts VALUES (19, 't.2', 'live:acme', '01m7jvwt2rw7r4d8nhw4ckyrer', 'talks', 'conversation.exchange', 't', 1794855823506, NULL);
INSERT INTO open_interrupts VALUES (33, 'gate.1', 'live:acme', '01m7jvwt9xv7c1v9p5e5q2a9dt', 'approval', 'approval', 'gate', 1794855823709, 1795115023709);
INSERT INTO kinship VALUES (21, 20, 'live:acme', '01m7jvwt4bj7jybz12r74h5ese', 1, 1);
INSERT INTO kinship VALUES (24, 22, 'live:acme', '01m7jvwt5ehwnq87n2m037tq6k', 1, 1);
INSERT INTO kinship VALUES (25, 23, 'live:acme', '01m7jvwt6570crbztm3t95r023', 1, 1);
INSERT INTO kinship VALUES (26, 23, 'live:acme', '01m7jvwt6570crbztm3t95r023', 1, 1);
INSERT INTO kinship VALUES (29, 27, 'live:acme', '01m7jvwt7macnseqhdwd1c2dq1', 1, 1);
INSERT INTO kinship VALUES (30, 28, 'live:acme', '01m7jvwt8c2wn7175xpe80an5p', 1, 1);
INSERT INTO kinship VALUES (32, 23, 'live:acme', '01m7jvwt6570crbztm3t95r023', 1, 1);
INSERT INTO kinship VALUES (33, 31, 'live:acme', '01m7jvwt97g6r41aap93pr8ptf', 1, 1);
INSERT INTO kinship VALUES (35, 22, 'live:acme', '01m7jvwt5ehwnq87n2m037tq6k', 1, 1);
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
CREATE INDEX kinship_by_parent ON kinship (parent_no, run_no, awaited, cascades);
CREATE INDEX kinship_by_root ON kinship (partition, root);
CREATE INDEX news_by_parent ON news (parent_no);
COMMIT;
