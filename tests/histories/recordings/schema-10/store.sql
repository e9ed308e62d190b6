PRAGMA user_version = 10;
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
, interrupt_id TEXT, content_trust TEXT) STRICT;
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
CREATE TABLE assets (
  asset_no INTEGER PRIMARY KEY,
  partition TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  key TEXT NOT NULL,
  size INTEGER NOT NULL,
  media_type TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  held_until INTEGER NOT NULL,
  refs INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE asset_refs (
  run_no INTEGER NOT NULL,
  asset_no INTEGER NOT NULL,
  PRIMARY KEY (run_no, asset_no)
) STRICT, WITHOUT ROWID;
CREATE TABLE asset_usage (
  partition TEXT PRIMARY KEY,
  count INTEGER NOT NULL,
  size INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE doomed_blobs (
  doom_no INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO runs VALUES (1, 'live:acme', '01m7jvwvj36959a0jh36tpa4f3', 'steps', NULL, 'completed', 7, 1794855824968, 1794855824968, NULL, 3, NULL, CAST('{"c":{"word":"[REDACTED:c.word]"}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (2, 'live:acme', '01m7jvwvjnvrh7xc2rsbzscb8z', 'steps', NULL, 'completed', 7, 1794855824982, 1794855824982, NULL, 3, NULL, CAST('{"c":{"word":"[REDACTED:c.word]"}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (3, 'live:acme', '01m7jvwvk89dp2yb4emrxk08yx', 'fails', NULL, 'failed', 5, 1794855825004, 1794855825004, NULL, 2, CAST('{"code":"conformance_test_failure","message":"Intentional conformance failure"}' AS BLOB), NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (4, 'live:acme', '01m7jvwvkvjy305dm7kd0cwyp9', 'delays', NULL, 'running', 3, 1794855825023, NULL, 'd', 2, NULL, NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (5, 'live:acme', '01m7jvwvm87es1mqyy3s1rkfzk', 'delays', NULL, 'cancelled', 6, 1794855825039, 1794855825960, NULL, 2, NULL, NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (6, 'live:acme', '01m7jvwvmxqwx6kj4tt8vzgna1', 'graph', NULL, 'running', 5, 1794855825055, NULL, 'ship', 3, NULL, NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (7, 'live:acme', '01m7jvwvne1s5rqvr0f8qne4xd', 'loop', NULL, 'running', 12, 1794855825079, NULL, 'wait', 6, NULL, NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (8, 'live:acme', '01m7jvwvp58epy7senq4jqbr8m', 'asks', NULL, 'waiting-input', 3, 1794855825095, NULL, 'ask', 1, NULL, NULL, 1, NULL, 0, 0);
INSERT INTO runs VALUES (9, 'live:acme', '01m7jvwvps5snttscp0h5sj5ee', 'asks', NULL, 'completed', 10, 1794855825113, 1794855825983, NULL, 2, NULL, CAST('{"keep":{"artifactId":"keep","artifactType":"order","output":{"supplier":"north"}}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (10, 'live:acme', '01m7jvwvq69k25nfjfns0gnezp', 'delays', NULL, 'running', 4, 1794855825127, NULL, 'd', 2, NULL, NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (11, 'live:acme', '01m7jvwvqr7p27ew05zfm8t8qq', 'steps', NULL, 'completed', 7, 1794855825145, 1794855825145, NULL, 3, NULL, CAST('{"c":{"word":"[REDACTED:c.word]"}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (13, 'live:acme', '01m7jvwvrxxkjrte46h853skcj', 'approval', NULL, 'waiting-approval', 4, 1794855825183, NULL, 'gate', 1, NULL, NULL, 1, 1794942225183, 0, 0);
INSERT INTO runs VALUES (14, 'live:acme', '01m7jvwvsk82vpakr8nsqjvn6w', 'approval', NULL, 'completed', 12, 1794855825205, 1794855826084, NULL, 2, NULL, CAST('{"paid":{"output":"a chair is paid: 100"}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (15, 'live:acme', '01m7jvwvt6padmazgebc2e4vg0', 'approval', NULL, 'completed', 12, 1794855825224, 1794855826106, NULL, 2, NULL, CAST('{"kept":{"output":"a chair is not paid"}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (16, 'live:acme', '01m7jvwvtw6vcbzy059b58s0sx', 'quorum', NULL, 'waiting-approval', 5, 1794855825254, NULL, 'gate', 1, NULL, NULL, 1, NULL, 0, 0);
INSERT INTO runs VALUES (17, 'live:acme', '01m7jvwvvqhmv3n6ragxccmwx2', 'event', NULL, 'waiting-external', 3, 1794855825275, NULL, 'wait', 1, NULL, NULL, 1, 1794859425275, 0, 0);
INSERT INTO runs VALUES (18, 'live:acme', '01m7jvwvvz7125vyapx2028rcq', 'form', NULL, 'waiting-input', 4, 1794855825280, NULL, 'ask', 1, NULL, NULL, 1, 1794942225280, 0, 0);
INSERT INTO runs VALUES (19, 'live:acme', '01m7jvwvwjjyz03fzwtkysrafq', 'talks', NULL, 'waiting-approval', 6, 1794855825309, NULL, 't', 1, NULL, NULL, 1, NULL, 0, 0);
INSERT INTO runs VALUES (20, 'live:acme', '01m7jvwvxh5qxdeq6evn06q7y3', 'order', NULL, 'completed', 8, 1794855825337, 1794855825425, NULL, 2, NULL, CAST('{"offer":{"output":"12 chairs for 384"}}' AS BLOB), 0, NULL, 0, 1);
INSERT INTO runs VALUES (21, 'live:acme', '01m7jvwvy9h67hsmnn1vetzcnv', 'price', NULL, 'completed', 4, 1794855825365, 1794855825365, NULL, 1, NULL, CAST('{"total":{"output":384}}' AS BLOB), 0, NULL, 1, 0);
INSERT INTO runs VALUES (22, 'live:acme', '01m7jvwvyjsp0zfwf1tgk5v9kj', 'article', NULL, 'completed', 33, 1794855825386, 1794855825591, NULL, 6, NULL, CAST('{"result":{"decisions":3,"text":"Did you know that owls see in the dark?"}}' AS BLOB), 0, NULL, 0, 1);
INSERT INTO runs VALUES (23, 'live:acme', '01m7jvww09x6525jqk8yhtgq36', 'parcels', NULL, 'running', 6, 1794855825430, NULL, 'pack', 1, NULL, NULL, 1, NULL, 0, 1);
INSERT INTO runs VALUES (24, 'live:acme', '01m7jvww0r00kv31mvpj3vdwas', 'research', NULL, 'completed', 6, 1794855825460, 1794855825460, NULL, 2, NULL, CAST('{"keep":{"output":"owls see in the dark"}}' AS BLOB), 0, NULL, 1, 0);
INSERT INTO runs VALUES (25, 'live:acme', '01m7jvww1dt3ab8szwyngqphea', 'parcel', NULL, 'completed', 8, 1794855825464, 1794855825475, NULL, 3, NULL, CAST('{"stick":{"output":"1: Ada"}}' AS BLOB), 0, NULL, 1, 0);
INSERT INTO runs VALUES (26, 'live:acme', '01m7jvww1e1kkba8gxm0wehkv0', 'parcel', NULL, 'running', 1, 1794855825464, NULL, 'fill', 1, NULL, NULL, 0, NULL, 1, 0);
INSERT INTO runs VALUES (27, 'live:acme', '01m7jvww1msfx0s8xmpc1d0cm3', 'parent', NULL, 'running', 2, 1794855825465, NULL, 's', 1, NULL, NULL, 1, NULL, 0, 1);
INSERT INTO runs VALUES (28, 'live:acme', '01m7jvww21aw55v4svzc3b4xm6', 'delays', NULL, 'running', 3, 1794855825493, NULL, 'd', 2, NULL, NULL, 0, NULL, 1, 0);
INSERT INTO runs VALUES (29, 'live:acme', '01m7jvww2gz6dnytvhcmn4qxka', 'parent', NULL, 'cancelled', 4, 1794855825502, 1794855826468, NULL, 1, NULL, NULL, 0, NULL, 0, 1);
INSERT INTO runs VALUES (30, 'live:acme', '01m7jvww37zybbbz6qgzkfrrmh', 'parcel', NULL, 'completed', 8, 1794855825525, 1794855825547, NULL, 3, NULL, CAST('{"stick":{"output":"3: Eve"}}' AS BLOB), 0, NULL, 1, 0);
INSERT INTO runs VALUES (31, 'live:acme', '01m7jvww3fyg2rrwvm42a0sj6k', 'write', NULL, 'completed', 6, 1794855825532, 1794855825532, NULL, 2, NULL, CAST('{"keep":{"output":"Did you know that owls see in the dark?"}}' AS BLOB), 0, NULL, 1, 0);
INSERT INTO runs VALUES (32, 'live:acme', '01m7jvww3gjsqjrwbzbk65a772', 'delays', NULL, 'cancelled', 6, 1794855825542, 1794855826493, NULL, 2, NULL, NULL, 0, NULL, 1, 0);
INSERT INTO runs VALUES (33, 'live:acme', '01m7jvww3hjp903tmpa8ygbf2m', 'parent-asks', NULL, 'waiting-approval', 3, 1794855825526, NULL, 's', 1, NULL, NULL, 1, NULL, 0, 1);
INSERT INTO runs VALUES (34, 'live:acme', '01m7jvww4bkzap8kzt1x8k8vsf', 'approval', NULL, 'waiting-approval', 4, 1794855825568, NULL, 'gate', 1, NULL, NULL, 1, 1794942225568, 1, 0);
INSERT INTO runs VALUES (35, 'live:acme', '01m7jvww4c96wn4kezfcc81rv0', 'summary', NULL, 'completed', 13, 1794855825558, 1794855825590, NULL, 1, NULL, CAST('{"sum":{"content":"A lamp that came on Monday is broken.","finishReason":"stop","model":"scripted-1","text":"A lamp that came on Monday is broken.","usage":{"inputTokens":23,"outputTokens":10,"totalTokens":33}}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (36, 'live:acme', '01m7jvww58sc0d8ywcbg6mjnt8', 'clarify', NULL, 'waiting-input', 7, 1794855825580, NULL, 'book', 1, NULL, NULL, 1, NULL, 0, 0);
INSERT INTO runs VALUES (37, 'live:acme', '01m7jvww6912smzxsa68w2p82p', 'sees', NULL, 'running', 8, 1794855825611, NULL, 'd', 2, NULL, NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (38, 'live:acme', '01m7jvww6v94jdv9exzwg928vg', 'list', NULL, 'running', 6, 1794855825628, NULL, 'm', 2, NULL, NULL, 0, NULL, 0, 0);
INSERT INTO run_headers VALUES (1, CAST('{"run_id":"01m7jvwvj36959a0jh36tpa4f3","partition":"live:acme","owner":{"tenant":"acme","principal":"key_17eb38966672b3f4"},"workflow_id":"steps","definition":"f135f29a3129ebc717f3388f8c37bc9dd7911ea39123eaed282626c4376ac89c","created_at":1794855824963,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (2, CAST(X'7b2272756e5f6964223a2230316d376a7677766a6e767268377863327273627a736362387a222c22706172746974696f6e223a226c6976653a61636d65222c226f776e6572223a7b2274656e616e74223a2261636d65222c227072696e636970616c223a226b65795f31376562333839363636373262336634227d2c22776f726b666c6f775f6964223a227374657073222c22646566696e6974696f6e223a2266313335663239613331323965626337313766333338386638633337626339646437393131656133393132336561656432383236323663343337366163383963222c22637265617465645f6174223a313739343835353832343938312c22696e70757473223a7b22776f7264223a22c3a96c616e20e280a820e29882227d2c2274616773223a5b227265636f72646564222c22706c61696e225d7d' AS BLOB));
INSERT INTO run_headers VALUES (3, CAST('{"run_id":"01m7jvwvk89dp2yb4emrxk08yx","partition":"live:acme","owner":{"tenant":"acme","principal":"key_17eb38966672b3f4"},"workflow_id":"fails","definition":"6aa4e5ff4ef8090e3ae2db68089f63c27d179f826e33286017859a5f668d2376","created_at":1794855825000,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (4, CAST('{"run_id":"01m7jvwvkvjy305dm7kd0cwyp9","partition":"live:acme","owner":{"tenant":"acme","principal":"key_17eb38966672b3f4"},"workflow_id":"delays","definition":"2104b2443464777c07d85868e1802c0005d2c4770e716a133ab045c91cb47eeb","created_at":1794855825019,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (5, CAST('{"run_id":"01m7jvwvm87es1mqyy3s1rkfzk","partition":"live:acme","owner":{"tenant":"acme","principal":"key_17eb38966672b3f4"},"workflow_id":"delays","definition":"2104b2443464777c07d85868e1802c0005d2c4770e716a133ab045c91cb47eeb","created_at":1794855825032,"tags":["recorded","cancel"]}' AS BLOB));
INSERT INTO run_headers VALUES (6, CAST('{"run_id":"01m7jvwvmxqwx6kj4tt8vzgna1","partition":"live:acme","owner":{"tenant":"acme","principal":"key_17eb38966672b3f4"},"workflow_id":"graph","definition":"ab91191d59ff8f9734d0ff7341ee3569b6ad9ff6ca96631810906aed3b0f99fd","created_at":1794855825053,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (7, CAST('{"run_id":"01m7jvwvne1s5rqvr0f8qne4xd","partition":"live:acme","owner":{"tenant":"acme","principal":"key_17eb38966672b3f4"},"workflow_id":"loop","definition":"55fa38846b98bac0d4277e240e539eecfaa2e1e9e0c6ff70fd268c29c761cbef","created_at":1794855825070,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (8, CAST('{"run_id":"01m7jvwvp58epy7senq4jqbr8m","partition":"live:acme","owner":{"tenant":"acme","principal":"key_17eb38966672b3f4"},"workflow_id":"asks","definition":"210403c04c63e6d326493908fce767f01a257d7e9887af7c9784e8f1ef85b1b1","created_at":1794855825093,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (9, CAST('{"run_id":"01m7jvwvps5snttscp0h5sj5ee","partition":"live:acme","owner":{"tenant":"acme","principal":"key_17eb38966672b3f4"},"workflow_id":"asks","definition":"210403c04c63e6d326493908fce767f01a257d7e9887af7c9784e8f1ef85b1b1","created_at":1794855825113,"tags":["recorded","answer"]}' AS BLOB));
INSERT INTO run_headers VALUES (10, CAST('{"run_id":"01m7jvwvq69k25nfjfns0gnezp","partition":"live:acme","owner":{"tenant":"acme","principal":"key_17eb38966672b3f4"},"workflow_id":"delays","definition":"2104b2443464777c07d85868e1802c0005d2c4770e716a133ab045c91cb47eeb","created_at":1794855825126,"tags":["recorded","pause"]}' AS BLOB));
INSERT INTO run_headers VALUES (11, CAST('{"run_id":"01m7jvwvqr7p27ew05zfm8t8qq","partition":"live:acme","owner":{"tenant":"acme","principal":"key_17eb38966672b3f4"},"workflow_id":"steps","definition":"f135f29a3129ebc717f3388f8c37bc9dd7911ea39123eaed282626c4376ac89c","created_at":1794855825144,"tags":["recorded","annotate"]}' AS BLOB));
INSERT INTO run_headers VALUES (13, CAST('{"run_id":"01m7jvwvrxxkjrte46h853skcj","partition":"live:acme","owner":{"tenant":"acme","principal":"key_17eb38966672b3f4"},"workflow_id":"approval","definition":"bacdd63a00f3c50e359a39db4fe7e8ff55b87b9799706626ad70cd5946790078","created_at":1794855825181,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (14, CAST('{"run_id":"01m7jvwvsk82vpakr8nsqjvn6w","partition":"live:acme","owner":{"tenant":"acme","principal":"key_17eb38966672b3f4"},"workflow_id":"approval","definition":"bacdd63a00f3c50e359a39db4fe7e8ff55b87b9799706626ad70cd5946790078","created_at":1794855825203,"tags":["recorded","accept"]}' AS BLOB));
INSERT INTO run_headers VALUES (15, CAST('{"run_id":"01m7jvwvt6padmazgebc2e4vg0","partition":"live:acme","owner":{"tenant":"acme","principal":"key_17eb38966672b3f4"},"workflow_id":"approval","definition":"bacdd63a00f3c50e359a39db4fe7e8ff55b87b9799706626ad70cd5946790078","created_at":1794855825222,"tags":["recorded","reject"]}' AS BLOB));
INSERT INTO run_headers VALUES (16, CAST('{"run_id":"01m7jvwvtw6vcbzy059b58s0sx","partition":"live:acme","owner":{"tenant":"acme","principal":"key_17eb38966672b3f4"},"workflow_id":"quorum","definition":"66389366a5ab12a4055a83795db1e08c233a4a707cd2a41c85c2113722be98c8","created_at":1794855825244,"tags":["recorded","vote"]}' AS BLOB));
INSERT INTO run_headers VALUES (17, CAST('{"run_id":"01m7jvwvvqhmv3n6ragxccmwx2","partition":"live:acme","owner":{"tenant":"acme","principal":"key_17eb38966672b3f4"},"workflow_id":"event","definition":"e667f69a7a9e970bb9291b13ab7a59aa465609b69723478d85f8448f45658e5f","created_at":1794855825271,"inputs":{"orderId":"o-1"},"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (18, CAST('{"run_id":"01m7jvwvvz7125vyapx2028rcq","partition":"live:acme","owner":{"tenant":"acme","principal":"key_17eb38966672b3f4"},"workflow_id":"form","definition":"df9219a1cca3ff383a253b781b9c78879cdbee9f787cace1165ce0dc2f79e4b6","created_at":1794855825279,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (19, CAST('{"run_id":"01m7jvwvwjjyz03fzwtkysrafq","partition":"live:acme","owner":{"tenant":"acme","principal":"key_17eb38966672b3f4"},"workflow_id":"talks","definition":"14dbfc7eb701b74aa49048323c0cb93d7ebde6a792f6d4fa618afe9b7d669aa5","created_at":1794855825298,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (20, CAST('{"run_id":"01m7jvwvxh5qxdeq6evn06q7y3","partition":"live:acme","owner":{"tenant":"acme","principal":"key_17eb38966672b3f4"},"workflow_id":"order","definition":"bd0c929534cdf1f2f9f2f6cf0a0109a5128c6c64d3779ae4a6c85175d16a088c","created_at":1794855825329,"inputs":{"amount":12},"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (21, CAST('{"run_id":"01m7jvwvy9h67hsmnn1vetzcnv","partition":"live:acme","owner":{"tenant":"acme","principal":"key_17eb38966672b3f4"},"workflow_id":"price","definition":"26871ffd9de43d63b96b5c830756850535027b04cd61ba9b7963884d42ab7ff3","created_at":1794855825353,"inputs":{"amount":12},"traceparent":"00-ec6661f0515f75469faafa0e7d0dcf26-6bf96f958d722842-01","parent":{"run_id":"01m7jvwvxh5qxdeq6evn06q7y3","node_id":"price","key":"child","cause":"core.subWorkflow","root":"01m7jvwvxh5qxdeq6evn06q7y3","variables":["total"],"outputs":true}}' AS BLOB));
INSERT INTO run_headers VALUES (22, CAST('{"run_id":"01m7jvwvyjsp0zfwf1tgk5v9kj","partition":"live:acme","owner":{"tenant":"acme","principal":"key_17eb38966672b3f4"},"workflow_id":"article","definition":"f179ef4592407ef4e57c451d33379660c6deac48eb155f72c5f64417074062ee","created_at":1794855825362,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (23, CAST('{"run_id":"01m7jvww09x6525jqk8yhtgq36","partition":"live:acme","owner":{"tenant":"acme","principal":"key_17eb38966672b3f4"},"workflow_id":"parcels","definition":"a3a75611a91931a4e74ce96d70b02cd815477c45686604b0805e87657b2360ca","created_at":1794855825417,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (24, CAST('{"run_id":"01m7jvww0r00kv31mvpj3vdwas","partition":"live:acme","owner":{"tenant":"acme","principal":"key_17eb38966672b3f4"},"workflow_id":"research","definition":"d6b64959f223a5adaf4139ae0946777d86eca73a21718b19042bdda0b07cb747","created_at":1794855825432,"inputs":{"topic":"owls"},"traceparent":"00-c35a603cf64d3292394dd14d1225c4b7-b0127a4cde21b6fb-01","parent":{"run_id":"01m7jvwvyjsp0zfwf1tgk5v9kj","node_id":"send","key":"0","cause":"core.dispatch","root":"01m7jvwvyjsp0zfwf1tgk5v9kj","variables":["found"]}}' AS BLOB));
INSERT INTO run_headers VALUES (25, CAST('{"run_id":"01m7jvww1dt3ab8szwyngqphea","partition":"live:acme","owner":{"tenant":"acme","principal":"key_17eb38966672b3f4"},"workflow_id":"parcel","definition":"19baf1664cc61854f33a13a0b3d750172c1f6524018272fa0f55f70e7187828b","created_at":1794855825453,"inputs":{"name":"Ada","number":1},"traceparent":"00-afc3a8dc33c606709c75871fe71d17fc-4eaa8c0bea7288cb-01","parent":{"run_id":"01m7jvww09x6525jqk8yhtgq36","node_id":"pack","key":"0","cause":"core.subWorkflow","root":"01m7jvww09x6525jqk8yhtgq36","variables":["label"]}}' AS BLOB));
INSERT INTO run_headers VALUES (26, CAST('{"run_id":"01m7jvww1e1kkba8gxm0wehkv0","partition":"live:acme","owner":{"tenant":"acme","principal":"key_17eb38966672b3f4"},"workflow_id":"parcel","definition":"19baf1664cc61854f33a13a0b3d750172c1f6524018272fa0f55f70e7187828b","created_at":1794855825454,"inputs":{"name":"Bob","number":2},"traceparent":"00-afc3a8dc33c606709c75871fe71d17fc-4eaa8c0bea7288cb-01","parent":{"run_id":"01m7jvww09x6525jqk8yhtgq36","node_id":"pack","key":"1","cause":"core.subWorkflow","root":"01m7jvww09x6525jqk8yhtgq36","variables":["label"]}}' AS BLOB));
INSERT INTO run_headers VALUES (27, CAST('{"run_id":"01m7jvww1msfx0s8xmpc1d0cm3","partition":"live:acme","owner":{"tenant":"acme","principal":"key_17eb38966672b3f4"},"workflow_id":"parent","definition":"12b16dcc72e3958fef70eff45a8bfec36b843a509542597c4b2f586d0051f185","created_at":1794855825460,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (28, CAST('{"run_id":"01m7jvww21aw55v4svzc3b4xm6","partition":"live:acme","owner":{"tenant":"acme","principal":"key_17eb38966672b3f4"},"workflow_id":"delays","definition":"2104b2443464777c07d85868e1802c0005d2c4770e716a133ab045c91cb47eeb","created_at":1794855825473,"traceparent":"00-e661fde12c426183042188ea3127dfcf-604818e74b040706-01","parent":{"run_id":"01m7jvww1msfx0s8xmpc1d0cm3","node_id":"s","key":"child","cause":"core.subWorkflow","root":"01m7jvww1msfx0s8xmpc1d0cm3","outputs":true}}' AS BLOB));
INSERT INTO run_headers VALUES (29, CAST('{"run_id":"01m7jvww2gz6dnytvhcmn4qxka","partition":"live:acme","owner":{"tenant":"acme","principal":"key_17eb38966672b3f4"},"workflow_id":"parent","definition":"12b16dcc72e3958fef70eff45a8bfec36b843a509542597c4b2f586d0051f185","created_at":1794855825488,"tags":["recorded","cancel"]}' AS BLOB));
INSERT INTO run_headers VALUES (30, CAST('{"run_id":"01m7jvww37zybbbz6qgzkfrrmh","partition":"live:acme","owner":{"tenant":"acme","principal":"key_17eb38966672b3f4"},"workflow_id":"parcel","definition":"19baf1664cc61854f33a13a0b3d750172c1f6524018272fa0f55f70e7187828b","created_at":1794855825511,"inputs":{"name":"Eve","number":3},"traceparent":"00-afc3a8dc33c606709c75871fe71d17fc-4eaa8c0bea7288cb-01","parent":{"run_id":"01m7jvww09x6525jqk8yhtgq36","node_id":"pack","key":"2","cause":"core.subWorkflow","root":"01m7jvww09x6525jqk8yhtgq36","variables":["label"]}}' AS BLOB));
INSERT INTO run_headers VALUES (31, CAST('{"run_id":"01m7jvww3fyg2rrwvm42a0sj6k","partition":"live:acme","owner":{"tenant":"acme","principal":"key_17eb38966672b3f4"},"workflow_id":"write","definition":"203267bc7c464bace318e2e58c84ee2f39c182751c7b7315632bd0490025c7b8","created_at":1794855825519,"inputs":{"facts":"owls see in the dark"},"traceparent":"00-c35a603cf64d3292394dd14d1225c4b7-63f9dde665e66f5e-01","parent":{"run_id":"01m7jvwvyjsp0zfwf1tgk5v9kj","node_id":"send","key":"0","cause":"core.dispatch","root":"01m7jvwvyjsp0zfwf1tgk5v9kj","variables":["text"]}}' AS BLOB));
INSERT INTO run_headers VALUES (32, CAST('{"run_id":"01m7jvww3gjsqjrwbzbk65a772","partition":"live:acme","owner":{"tenant":"acme","principal":"key_17eb38966672b3f4"},"workflow_id":"delays","definition":"2104b2443464777c07d85868e1802c0005d2c4770e716a133ab045c91cb47eeb","created_at":1794855825520,"traceparent":"00-14961978cc4cd210e4c9d76d09ed141e-c7184ad40607168f-01","parent":{"run_id":"01m7jvww2gz6dnytvhcmn4qxka","node_id":"s","key":"child","cause":"core.subWorkflow","root":"01m7jvww2gz6dnytvhcmn4qxka","outputs":true}}' AS BLOB));
INSERT INTO run_headers VALUES (33, CAST('{"run_id":"01m7jvww3hjp903tmpa8ygbf2m","partition":"live:acme","owner":{"tenant":"acme","principal":"key_17eb38966672b3f4"},"workflow_id":"parent-asks","definition":"ab1d14801d1838949bf03d51c0253e5200a8fcd6a7ecfb97d9215e2f1a23b293","created_at":1794855825521,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (34, CAST('{"run_id":"01m7jvww4bkzap8kzt1x8k8vsf","partition":"live:acme","owner":{"tenant":"acme","principal":"key_17eb38966672b3f4"},"workflow_id":"approval","definition":"bacdd63a00f3c50e359a39db4fe7e8ff55b87b9799706626ad70cd5946790078","created_at":1794855825547,"traceparent":"00-c8feef3566c4555605f9b24df0483c60-13165daacd5bebb0-01","parent":{"run_id":"01m7jvww3hjp903tmpa8ygbf2m","node_id":"s","key":"child","cause":"core.subWorkflow","root":"01m7jvww3hjp903tmpa8ygbf2m","outputs":true}}' AS BLOB));
INSERT INTO run_headers VALUES (35, CAST('{"run_id":"01m7jvww4c96wn4kezfcc81rv0","partition":"live:acme","owner":{"tenant":"acme","principal":"key_17eb38966672b3f4"},"workflow_id":"summary","definition":"f37993a1d7c029c4a62769e4d310c0c6b3dccd7a6798d7be9e01f9ea45faed82","created_at":1794855825548,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (36, CAST('{"run_id":"01m7jvww58sc0d8ywcbg6mjnt8","partition":"live:acme","owner":{"tenant":"acme","principal":"key_17eb38966672b3f4"},"workflow_id":"clarify","definition":"d6e399155a0cfeed0d837a74eb058ebb9b2760805ccafb18bf5c4267b0ac2f65","created_at":1794855825576,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (37, CAST('{"run_id":"01m7jvww6912smzxsa68w2p82p","partition":"live:acme","owner":{"tenant":"acme","principal":"key_17eb38966672b3f4"},"workflow_id":"sees","definition":"c7ef7e8c3f6b648be849ccf231390837ab78552ae39676b4c03fe501bcf051ab","created_at":1794855825609,"inputs":{"photo":{"mediaRef":"weftwork-asset:c07eee86e3bc55e47141167856ad607a4f94135409031548135cd1116893249f","mimeType":"image/png"}},"tags":["recorded","plain"],"assets":["c07eee86e3bc55e47141167856ad607a4f94135409031548135cd1116893249f"]}' AS BLOB));
INSERT INTO run_headers VALUES (38, CAST('{"run_id":"01m7jvww6v94jdv9exzwg928vg","partition":"live:acme","owner":{"tenant":"acme","principal":"key_17eb38966672b3f4"},"workflow_id":"list","definition":"1d2a1ee644677f92561014341fc1db3f86972df42f1b3df3ed081fe2a577242d","created_at":1794855825627,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO events VALUES (67108864, '029eaaaa2776dbb9542ad1fa', 'run.started', 1794855824968, CAST('{"inputs":{},"owner":{"principal":"key_17eb38966672b3f4","tenant":"acme"},"workflowId":"steps"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108865, 'df36abe418fe38ed97ed2f4a', 'node.started', 1794855824968, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108866, '2c7e893d68559534dd332fda', 'node.completed', 1794855824968, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108867, 'e35018424f2fcb94ff4bfc99', 'node.started', 1794855824968, CAST('{"attempt":1,"nodeId":"b","typeId":"core.identity"}' AS BLOB), 'b', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108868, '43f97a7ae4974c516bfec5ba', 'node.completed', 1794855824968, CAST('{"nodeId":"b","outputs":{"secret":"[REDACTED:b.secret]","word":"[REDACTED:b.word]"}}' AS BLOB), 'b', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108869, '19b880c93c5d5921f94104a4', 'node.started', 1794855824968, CAST('{"attempt":1,"nodeId":"c","typeId":"core.identity"}' AS BLOB), 'c', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108870, '19e27512f564c28684a2f8c1', 'node.completed', 1794855824968, CAST('{"nodeId":"c","outputs":{"word":"[REDACTED:c.word]"}}' AS BLOB), 'c', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108871, 'b5dcf9d1beb17155a028ee18', 'run.completed', 1794855824968, CAST('{"outputs":{"c":{"word":"[REDACTED:c.word]"}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217728, 'c30b3ecbd909d6096a368a62', 'run.started', 1794855824982, CAST(X'7b22696e70757473223a7b22776f7264223a22c3a96c616e20e280a820e29882227d2c226f776e6572223a7b227072696e636970616c223a226b65795f31376562333839363636373262336634222c2274656e616e74223a2261636d65227d2c22776f726b666c6f774964223a227374657073227d' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217729, '4a54e377900f4d077340a312', 'node.started', 1794855824982, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217730, 'ec58faf2009f736ba643e499', 'node.completed', 1794855824982, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217731, '3f414f82801432039a70f24b', 'node.started', 1794855824982, CAST('{"attempt":1,"nodeId":"b","typeId":"core.identity"}' AS BLOB), 'b', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217732, '0b1e228553c2d6822bbcc652', 'node.completed', 1794855824982, CAST('{"nodeId":"b","outputs":{"secret":"[REDACTED:b.secret]","word":"[REDACTED:b.word]"}}' AS BLOB), 'b', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217733, 'c2b89b5a06edeb018c0f2f4f', 'node.started', 1794855824982, CAST('{"attempt":1,"nodeId":"c","typeId":"core.identity"}' AS BLOB), 'c', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217734, '29280004de040521be02cf2f', 'node.completed', 1794855824982, CAST('{"nodeId":"c","outputs":{"word":"[REDACTED:c.word]"}}' AS BLOB), 'c', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217735, '70e5cc444dcb6f370a7429b8', 'run.completed', 1794855824982, CAST('{"outputs":{"c":{"word":"[REDACTED:c.word]"}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326592, 'e52ea4d1915fa9a60329583c', 'run.started', 1794855825004, CAST('{"inputs":{},"owner":{"principal":"key_17eb38966672b3f4","tenant":"acme"},"workflowId":"fails"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326593, '6245b071786ffd458860587e', 'node.started', 1794855825004, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326594, 'ddd0835d73de3356d2f046e3', 'node.completed', 1794855825004, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326595, '8c1edf669f35e3f9c06682ef', 'node.started', 1794855825004, CAST('{"attempt":1,"nodeId":"b","typeId":"core.fail"}' AS BLOB), 'b', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326596, '39e23160991ae8d0d65c31f0', 'node.failed', 1794855825004, CAST('{"error":{"code":"conformance_test_failure","message":"Intentional conformance failure"},"nodeId":"b"}' AS BLOB), 'b', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326597, 'c13ef59bfb1458c5bd292459', 'run.failed', 1794855825004, CAST('{"error":{"code":"conformance_test_failure","message":"Intentional conformance failure"},"failedNodeId":"b"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435456, '687e584e6c01a46d8196a9ab', 'run.started', 1794855825023, CAST('{"inputs":{},"owner":{"principal":"key_17eb38966672b3f4","tenant":"acme"},"workflowId":"delays"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435457, 'a596037a27d8c147f5bd8805', 'node.started', 1794855825023, CAST('{"attempt":1,"nodeId":"a","typeId":"core.identity"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435458, '152ad062e645dc8c78118504', 'node.completed', 1794855825023, CAST('{"nodeId":"a","outputs":{"secret":"[REDACTED:a.secret]"}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435459, '0a6d050cd0acbe690a30baa0', 'node.started', 1794855825023, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (335544320, 'f709a1b636fc4c5badb339b6', 'run.started', 1794855825039, CAST('{"inputs":{},"owner":{"principal":"key_17eb38966672b3f4","tenant":"acme"},"workflowId":"delays"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (335544321, '67d5f684f11dae74da1435a5', 'node.started', 1794855825039, CAST('{"attempt":1,"nodeId":"a","typeId":"core.identity"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (335544322, 'fe4ba9869ba741874880b0fe', 'node.completed', 1794855825039, CAST('{"nodeId":"a","outputs":{"secret":"[REDACTED:a.secret]"}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (335544323, 'af1191a962b7c02123a406e8', 'node.started', 1794855825039, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (335544324, '5f07fd4468dc39f65e21b4bc', 'weftwork.run.cancel-requested', 1794855825952, CAST('{"reason":"changed my mind"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (335544325, '3098b81155d0cdf83b60c533', 'node.cancelled', 1794855825960, CAST('{"nodeId":"d"}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (335544326, 'a7c2d2472c9eec939055923d', 'run.cancelled', 1794855825960, CAST('{"reason":"changed my mind"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (402653184, '7332604cbeb034ed1a0c9399', 'run.started', 1794855825055, CAST('{"inputs":{},"owner":{"principal":"key_17eb38966672b3f4","tenant":"acme"},"workflowId":"graph"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (402653185, '03a839ad9f2c3ccd8c2e46a2', 'node.started', 1794855825055, CAST('{"attempt":1,"nodeId":"order","typeId":"core.identity"}' AS BLOB), 'order', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (402653186, '6569f1c43e92773d5857c3ee', 'node.completed', 1794855825055, CAST('{"nodeId":"order","outputs":{"price":120}}' AS BLOB), 'order', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (402653187, 'dfcf715de029b2ff2d88e81c', 'node.started', 1794855825055, CAST('{"attempt":1,"nodeId":"ship","typeId":"core.delay"}' AS BLOB), 'ship', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (402653188, '75e8f54b4fccc16afd65012d', 'node.started', 1794855825055, CAST('{"attempt":1,"nodeId":"tax","typeId":"core.transform"}' AS BLOB), 'tax', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (402653189, '3d16c6b3e66255e3261beaaa', 'node.completed', 1794855825055, CAST('{"nodeId":"tax","outputs":{"output":30}}' AS BLOB), 'tax', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762048, '67ba49533c885c05af802a5a', 'run.started', 1794855825079, CAST('{"inputs":{},"owner":{"principal":"key_17eb38966672b3f4","tenant":"acme"},"workflowId":"loop"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762049, '9dcbddd7db40063247fbb1fc', 'node.started', 1794855825079, CAST('{"attempt":1,"nodeId":"head","typeId":"core.loop"}' AS BLOB), 'head', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762050, '0612a60a51557aa4af13951e', 'node.completed', 1794855825079, CAST('{"nodeId":"head","outputs":{"body":0,"iteration":0}}' AS BLOB), 'head', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762051, 'fc5875061b705842c3f8db84', 'node.started', 1794855825079, CAST('{"attempt":1,"nodeId":"wait","typeId":"core.delay"}' AS BLOB), 'wait', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762052, '13b181c8d3076f33511e3204', 'node.completed', 1794855825085, CAST('{"nodeId":"wait","outputs":{}}' AS BLOB), 'wait', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762053, '75f9ccb9524cf1a5524ee42d', 'node.started', 1794855825085, CAST('{"attempt":1,"nodeId":"sum","typeId":"core.transform"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762054, 'cc9a0a22b8e8a32825471482', 'node.completed', 1794855825085, CAST('{"nodeId":"sum","outputs":{"output":1}}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762055, '5de731732ed53135de549eda', 'node.started', 1794855825085, CAST('{"attempt":1,"nodeId":"keep","typeId":"core.setVariable"}' AS BLOB), 'keep', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762056, '50a6dde3758fc7a873217eb2', 'variable.changed', 1794855825085, CAST('{"name":"n","next":1,"nodeId":"keep"}' AS BLOB), 'keep', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762057, 'c82c12f7897b945884cb6766', 'node.completed', 1794855825085, CAST('{"nodeId":"keep","outputs":{"output":1}}' AS BLOB), 'keep', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762058, '6aaf3583c331323ebbc84eea', 'node.started', 1794855825085, CAST('{"attempt":1,"nodeId":"head","typeId":"core.loop"}' AS BLOB), 'head', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762059, '42b0370bb1bdfbbeefce19b5', 'node.completed', 1794855825085, CAST('{"nodeId":"head","outputs":{"body":1,"iteration":1}}' AS BLOB), 'head', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762060, '337275972caad3db1cec1740', 'node.started', 1794855825085, CAST('{"attempt":1,"nodeId":"wait","typeId":"core.delay"}' AS BLOB), 'wait', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (536870912, '1cf657fb2174b6804a6beea4', 'run.started', 1794855825095, CAST('{"inputs":{},"owner":{"principal":"key_17eb38966672b3f4","tenant":"acme"},"workflowId":"asks"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (536870913, 'e8f4e1cc560efd725db969e8', 'node.started', 1794855825095, CAST('{"attempt":1,"nodeId":"ask","typeId":"core.interrupt"}' AS BLOB), 'ask', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (536870914, '4be852cb4c1fc92afdc1e5c4', 'interrupt.requested', 1794855825095, CAST('{"data":{"customKind":"supplier","payload":["north","south"]},"key":"ask","kind":"custom"}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1', NULL);
INSERT INTO events VALUES (536870915, 'c5b47d77a09aa8cabc3c5617', 'node.suspended', 1794855825095, CAST('{"interruptId":"ask.1","key":"ask","kind":"custom","nodeId":"ask"}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1', NULL);
INSERT INTO events VALUES (603979776, '93c41809ebe13891303f7f94', 'run.started', 1794855825113, CAST('{"inputs":{},"owner":{"principal":"key_17eb38966672b3f4","tenant":"acme"},"workflowId":"asks"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (603979777, 'be48e9e422bdf28e4696097f', 'node.started', 1794855825113, CAST('{"attempt":1,"nodeId":"ask","typeId":"core.interrupt"}' AS BLOB), 'ask', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (603979778, 'f1b4712355d8b6888fedde5c', 'interrupt.requested', 1794855825113, CAST('{"data":{"customKind":"supplier","payload":["north","south"]},"key":"ask","kind":"custom"}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1', NULL);
INSERT INTO events VALUES (603979779, 'fa99216b2064b596f608b87a', 'node.suspended', 1794855825113, CAST('{"interruptId":"ask.1","key":"ask","kind":"custom","nodeId":"ask"}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1', NULL);
INSERT INTO events VALUES (603979780, '23a220851b24a20f1d599e56', 'interrupt.resolved', 1794855825983, CAST('{"interruptId":"ask.1","kind":"custom","nodeId":"ask","resolvedBy":"key_17eb38966672b3f4","resumeValue":{"supplier":"north"}}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1', NULL);
INSERT INTO events VALUES (603979781, '5abc729e951c09e77fe8e4c3', 'node.resumed', 1794855825983, CAST('{"interruptId":"ask.1","nodeId":"ask"}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1', NULL);
INSERT INTO events VALUES (603979782, 'f9119f2c0c23e4b149cbfab4', 'node.completed', 1794855825983, CAST('{"nodeId":"ask","outputs":{"output":{"supplier":"north"}}}' AS BLOB), 'ask', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (603979783, 'ef7bae132b66d00f6f648848', 'node.started', 1794855825983, CAST('{"attempt":1,"nodeId":"keep","typeId":"core.artifact.emit"}' AS BLOB), 'keep', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (603979784, '20b21fae516ade0ccfeea14c', 'artifact.created', 1794855825983, CAST('{"artifactId":"keep","artifactType":"order","data":{"supplier":"north"},"nodeId":"keep","version":"1"}' AS BLOB), 'keep', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (603979785, 'f3c07c52f2d114601e5fb847', 'node.completed', 1794855825983, CAST('{"nodeId":"keep","outputs":{"artifactId":"keep","artifactType":"order","output":{"supplier":"north"}}}' AS BLOB), 'keep', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (603979786, '4deac08c2bac3debf812c50f', 'run.completed', 1794855825983, CAST('{"outputs":{"keep":{"artifactId":"keep","artifactType":"order","output":{"supplier":"north"}}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (671088640, 'a45915548152aa6962224ef6', 'run.started', 1794855825127, CAST('{"inputs":{},"owner":{"principal":"key_17eb38966672b3f4","tenant":"acme"},"workflowId":"delays"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (671088641, '4a1796f162a08a110a1301bb', 'node.started', 1794855825127, CAST('{"attempt":1,"nodeId":"a","typeId":"core.identity"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (671088642, '92b964458f2804515a8070a6', 'node.completed', 1794855825127, CAST('{"nodeId":"a","outputs":{"secret":"[REDACTED:a.secret]"}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (671088643, '34643e80603bc72251edc52c', 'node.started', 1794855825127, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (671088644, 'eb068447d0036a2c347139e9', 'weftwork.run.pause-requested', 1794855825999, CAST('{"drainPolicy":"drain-current-node"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (738197504, '98fe2b9b84b5b21665e533e6', 'run.started', 1794855825145, CAST('{"inputs":{},"owner":{"principal":"key_17eb38966672b3f4","tenant":"acme"},"workflowId":"steps"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (738197505, '15d422344a1c31da4f6ebc3a', 'node.started', 1794855825145, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (738197506, 'a8612e009b765215e3441a72', 'node.completed', 1794855825145, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (738197507, '1fe804f5575f89059ff9b006', 'node.started', 1794855825145, CAST('{"attempt":1,"nodeId":"b","typeId":"core.identity"}' AS BLOB), 'b', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (738197508, 'c95412bd48ee4aeb5a4a4e79', 'node.completed', 1794855825145, CAST('{"nodeId":"b","outputs":{"secret":"[REDACTED:b.secret]","word":"[REDACTED:b.word]"}}' AS BLOB), 'b', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (738197509, 'ffafde6644769afddcfebe50', 'node.started', 1794855825145, CAST('{"attempt":1,"nodeId":"c","typeId":"core.identity"}' AS BLOB), 'c', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (738197510, 'b21eb797e2773adb41b622e2', 'node.completed', 1794855825145, CAST('{"nodeId":"c","outputs":{"word":"[REDACTED:c.word]"}}' AS BLOB), 'c', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (738197511, '8b5d8c4237b4bacd5e9dd13f', 'run.completed', 1794855825145, CAST('{"outputs":{"c":{"word":"[REDACTED:c.word]"}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (872415232, '914ffc4aa23e0e1cd1202506', 'run.started', 1794855825183, CAST('{"inputs":{},"owner":{"principal":"key_17eb38966672b3f4","tenant":"acme"},"workflowId":"approval"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (872415233, 'dea23c0c8510e33249e39c32', 'node.started', 1794855825183, CAST('{"attempt":1,"nodeId":"gate","typeId":"core.approvalGate"}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (872415234, 'e5b6d77319f41e136db03480', 'interrupt.requested', 1794855825183, CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","description":"Asked once; a reminder follows after a day.","title":"Pay 100 for a chair?"},"key":"gate","kind":"approval","timeoutMs":259200000}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (872415235, '89d95bc9b3d968d3eab53fcc', 'approval.requested', 1794855825183, CAST('{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","interruptId":"gate.1","nodeId":"gate","title":"Pay 100 for a chair?"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (872415236, '95351324ad893c40e67d733a', 'node.suspended', 1794855825183, CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","remindAfterMs":[86400000]}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (939524096, 'd42c00e1fc260ac664438452', 'run.started', 1794855825205, CAST('{"inputs":{},"owner":{"principal":"key_17eb38966672b3f4","tenant":"acme"},"workflowId":"approval"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (939524097, 'bb1732f2a2101cdbeef436af', 'node.started', 1794855825205, CAST('{"attempt":1,"nodeId":"gate","typeId":"core.approvalGate"}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (939524098, '04134850dc13d2bb7f62a64a', 'interrupt.requested', 1794855825205, CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","description":"Asked once; a reminder follows after a day.","title":"Pay 100 for a chair?"},"key":"gate","kind":"approval","timeoutMs":259200000}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (939524099, 'ca5a42242d4bef995966054f', 'approval.requested', 1794855825205, CAST('{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","interruptId":"gate.1","nodeId":"gate","title":"Pay 100 for a chair?"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (939524100, '19cbe851ed435dcaa6c14883', 'node.suspended', 1794855825205, CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","remindAfterMs":[86400000]}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (939524101, '4e5155344e99d67dfe61a2cc', 'interrupt.resolved', 1794855826084, CAST('{"interruptId":"gate.1","kind":"approval","nodeId":"gate","outcome":"accepted","resolvedBy":"key_17eb38966672b3f4","resumeValue":{"action":"accept","decidedBy":"key_17eb38966672b3f4"}}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (939524102, '2709f6c67fd8521ce915bbef', 'approval.received', 1794855826084, CAST('{"action":"accept","decidedBy":"key_17eb38966672b3f4","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (939524103, '9125f666b9ec3c71290c9b21', 'node.resumed', 1794855826084, CAST('{"interruptId":"gate.1","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (939524104, 'd1c2b311902569b04b9058f4', 'node.completed', 1794855826084, CAST('{"nodeId":"gate","outputs":{"action":"accept","approved":true,"decidedBy":"key_17eb38966672b3f4"}}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (939524105, 'b31ad515bd60c0b091f3514f', 'node.skipped', 1794855826084, CAST('{"nodeId":"kept","reason":"trigger-rule"}' AS BLOB), 'kept', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (939524106, '71b3546bf96c87a041f1f2f5', 'node.started', 1794855826084, CAST('{"attempt":1,"nodeId":"paid","typeId":"core.template"}' AS BLOB), 'paid', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (939524107, 'c755ab37423a160bb5475919', 'node.completed', 1794855826084, CAST('{"nodeId":"paid","outputs":{"output":"a chair is paid: 100"}}' AS BLOB), 'paid', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (939524108, '53351bb7ca2d83095e3877d1', 'run.completed', 1794855826084, CAST('{"outputs":{"paid":{"output":"a chair is paid: 100"}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1006632960, '7903e87956d50f741b849819', 'run.started', 1794855825224, CAST('{"inputs":{},"owner":{"principal":"key_17eb38966672b3f4","tenant":"acme"},"workflowId":"approval"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1006632961, '3053a958852b8d00ccc8ea70', 'node.started', 1794855825224, CAST('{"attempt":1,"nodeId":"gate","typeId":"core.approvalGate"}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1006632962, 'd89797baa7095a888be07ecc', 'interrupt.requested', 1794855825224, CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","description":"Asked once; a reminder follows after a day.","title":"Pay 100 for a chair?"},"key":"gate","kind":"approval","timeoutMs":259200000}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1006632963, '0b915f326591afe6daca007c', 'approval.requested', 1794855825224, CAST('{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","interruptId":"gate.1","nodeId":"gate","title":"Pay 100 for a chair?"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1006632964, '41034d901938e3c37a5a8588', 'node.suspended', 1794855825224, CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","remindAfterMs":[86400000]}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1006632965, 'f3e8eada67cae1eb261ff85f', 'interrupt.resolved', 1794855826106, CAST('{"interruptId":"gate.1","kind":"approval","nodeId":"gate","outcome":"rejected","resolvedBy":"key_17eb38966672b3f4","resumeValue":{"action":"reject","decidedBy":"key_17eb38966672b3f4"}}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1006632966, 'bd029d006513cb5a5f84f705', 'approval.received', 1794855826106, CAST('{"action":"reject","decidedBy":"key_17eb38966672b3f4","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1006632967, '9a15e87cae07fa10e0a8d673', 'node.resumed', 1794855826106, CAST('{"interruptId":"gate.1","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1006632968, '28807976b79ca4420dc80bcd', 'node.failed', 1794855826106, CAST('{"error":{"code":"interrupt_rejected","details":{"decidedBy":"key_17eb38966672b3f4","reason":"rejected"},"message":"The approval was refused."},"nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1006632969, '122d171dd30d263b3aeca611', 'node.skipped', 1794855826106, CAST('{"nodeId":"paid","reason":"trigger-rule"}' AS BLOB), 'paid', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1006632970, 'eeda0463ce76c35eb231d4f5', 'node.started', 1794855826106, CAST('{"attempt":1,"nodeId":"kept","typeId":"core.template"}' AS BLOB), 'kept', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1006632971, '94b17cddfd28cc219d2282b2', 'node.completed', 1794855826106, CAST('{"nodeId":"kept","outputs":{"output":"a chair is not paid"}}' AS BLOB), 'kept', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1006632972, '90b268bcf4c233984181dd64', 'run.completed', 1794855826106, CAST('{"outputs":{"kept":{"output":"a chair is not paid"}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1073741824, 'ba01a229c4953bf8d4d6f5ad', 'run.started', 1794855825254, CAST('{"inputs":{},"owner":{"principal":"key_17eb38966672b3f4","tenant":"acme"},"workflowId":"quorum"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1073741825, 'abc4cb391792a1cfd56a97c2', 'node.started', 1794855825254, CAST('{"attempt":1,"nodeId":"gate","typeId":"core.approvalGate"}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1073741826, '4f812cc0f0803d4cf02732ed', 'interrupt.requested', 1794855825254, CAST('{"data":{"actions":["accept","reject"],"approversList":[],"artifactId":"gate","artifactType":"approval","requiredApprovals":2,"title":"Release?"},"key":"gate","kind":"approval"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1073741827, '53c29378bc2b2f50fa5320a1', 'approval.requested', 1794855825254, CAST('{"actions":["accept","reject"],"approversList":[],"artifactId":"gate","artifactType":"approval","interruptId":"gate.1","nodeId":"gate","requiredApprovals":2,"title":"Release?"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1073741828, '10c4169e6e3157b4899fbcb4', 'node.suspended', 1794855825254, CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1073741829, '8d2f10138f682d34c0b6772a', 'approval.granted', 1794855826144, CAST('{"gateId":"gate","principal":"key_17eb38966672b3f4","quorumProgress":{"granted":1,"required":2}}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1140850688, 'ff60648280cbafad4a3a89cf', 'run.started', 1794855825275, CAST('{"inputs":{"orderId":"o-1"},"owner":{"principal":"key_17eb38966672b3f4","tenant":"acme"},"workflowId":"event"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1140850689, '112a0d78f4d65540683405ca', 'node.started', 1794855825275, CAST('{"attempt":1,"nodeId":"wait","typeId":"core.interrupt"}' AS BLOB), 'wait', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1140850690, '2ff2715692eeea8fac48a743', 'interrupt.requested', 1794855825275, CAST('{"data":{"correlation":{"orderId":"o-1","status":"paid"},"eventType":"shop.order.paid"},"key":"wait","kind":"external-event","timeoutMs":3600000}' AS BLOB), 'wait', NULL, 1, 1, 'wait.1', NULL);
INSERT INTO events VALUES (1140850691, '37014053f0965445e1ee10c8', 'node.suspended', 1794855825275, CAST('{"interruptId":"wait.1","key":"wait","kind":"external-event","nodeId":"wait"}' AS BLOB), 'wait', NULL, 1, 1, 'wait.1', NULL);
INSERT INTO events VALUES (1207959552, '22a30391b51fe67a144851e1', 'run.started', 1794855825280, CAST('{"inputs":{},"owner":{"principal":"key_17eb38966672b3f4","tenant":"acme"},"workflowId":"form"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1207959553, '58c1de9993505062f4766975', 'node.started', 1794855825280, CAST('{"attempt":1,"nodeId":"ask","typeId":"core.clarificationGate"}' AS BLOB), 'ask', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1207959554, '6297101afbc7835852aaddd9', 'interrupt.requested', 1794855825280, CAST('{"data":{"questions":[{"id":"day","question":"When do you come to Bern?","schema":{"minLength":3,"type":"string"}},{"id":"people","question":"How many are you?","schema":{"maximum":8,"minimum":1,"type":"integer"}},{"id":"lunch","question":"With lunch?","schema":{"type":"boolean"}}]},"key":"ask","kind":"clarification","timeoutMs":86400000}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1', NULL);
INSERT INTO events VALUES (1207959555, 'aaac57a6d13dc9acd4ca8a0d', 'clarification.requested', 1794855825280, CAST('{"interruptId":"ask.1","nodeId":"ask","questions":[{"id":"day","question":"When do you come to Bern?","schema":{"minLength":3,"type":"string"}},{"id":"people","question":"How many are you?","schema":{"maximum":8,"minimum":1,"type":"integer"}},{"id":"lunch","question":"With lunch?","schema":{"type":"boolean"}}]}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1', NULL);
INSERT INTO events VALUES (1207959556, 'dbef52518c3bc412c1e90b70', 'node.suspended', 1794855825280, CAST('{"interruptId":"ask.1","key":"ask","kind":"clarification","nodeId":"ask"}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1', NULL);
INSERT INTO events VALUES (1275068416, 'da210174a16d989c5618aef2', 'run.started', 1794855825309, CAST('{"inputs":{},"owner":{"principal":"key_17eb38966672b3f4","tenant":"acme"},"workflowId":"talks"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1275068417, '977cf7351c4ca0b689a2b982', 'node.started', 1794855825309, CAST('{"attempt":1,"nodeId":"t","typeId":"core.conversationGate"}' AS BLOB), 't', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1275068418, '3aa649c6e5f00c2a9309c72c', 'interrupt.requested', 1794855825327, CAST('{"data":{"conversationId":"01m7jvwvwjjyz03fzwtkysrafq:t:0","title":"Conversation"},"key":"t:start","kind":"conversation.start"}' AS BLOB), 't', NULL, 1, 1, 't.1', NULL);
INSERT INTO events VALUES (1275068419, '388867fb6d6aaeb927dfc841', 'conversation.opened', 1794855825327, CAST('{"capabilities":["multi-turn"],"conversationId":"01m7jvwvwjjyz03fzwtkysrafq:t:0","initialTurn":{"content":"Conversation","from":"t","messageId":"t.0.0","role":"system","ts":1794855825327,"turnIndex":0}}' AS BLOB), 't', NULL, 1, 1, 't.1', NULL);
INSERT INTO events VALUES (1275068420, 'ea4df3baa515dd3014362766', 'interrupt.resolved', 1794855825327, CAST('{"interruptId":"t.1","kind":"conversation.start","nodeId":"t","resumeValue":null}' AS BLOB), 't', NULL, 1, 1, 't.1', NULL);
INSERT INTO events VALUES (1275068421, '060d1a25b0af39df60151212', 'interrupt.requested', 1794855825330, CAST('{"data":{"conversationId":"01m7jvwvwjjyz03fzwtkysrafq:t:0","prompt":"Please answer.","turnIndex":1},"key":"t:1","kind":"conversation.exchange"}' AS BLOB), 't', NULL, 1, 1, 't.2', NULL);
INSERT INTO events VALUES (1275068422, 'd698c87fa1e3dd5bab9dec1d', 'node.suspended', 1794855825330, CAST('{"interruptId":"t.2","key":"t:1","kind":"conversation.exchange","nodeId":"t","reason":"conversation-input"}' AS BLOB), 't', NULL, 1, 1, 't.2', NULL);
INSERT INTO events VALUES (1342177280, '358f8dd14938ef0b553bd1a7', 'run.started', 1794855825337, CAST('{"inputs":{"amount":12},"owner":{"principal":"key_17eb38966672b3f4","tenant":"acme"},"workflowId":"order"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1342177281, '8d21da5cf90b6000a0b7c862', 'node.started', 1794855825337, CAST('{"attempt":1,"nodeId":"price","typeId":"core.subWorkflow"}' AS BLOB), 'price', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1342177282, '8c27177fbdd9eef3aaefb33e', 'weftwork.child.started', 1794855825354, CAST('{"awaited":true,"childRunId":"01m7jvwvy9h67hsmnn1vetzcnv","key":"child","workflowId":"price"}' AS BLOB), 'price', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1342177283, 'bec0dca56d5f0356c7d7ff05', 'weftwork.child.ended', 1794855825399, CAST('{"childRunId":"01m7jvwvy9h67hsmnn1vetzcnv","key":"child","outputs":{"total":{"output":384}},"status":"completed","variables":{"total":384}}' AS BLOB), 'price', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1342177284, '594f4a9bbb3eb07548480848', 'variable.changed', 1794855825425, CAST('{"name":"total","next":384,"nodeId":"price"}' AS BLOB), 'price', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1342177285, 'ab1ca1a36c978148a9e75d25', 'node.completed', 1794855825425, CAST('{"nodeId":"price","outputs":{"childRunId":"01m7jvwvy9h67hsmnn1vetzcnv","childStatus":"completed","outputs":{"total":{"output":384}}}}' AS BLOB), 'price', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1342177286, 'f3e51dcc05d216678fc06a24', 'node.started', 1794855825425, CAST('{"attempt":1,"nodeId":"offer","typeId":"core.template"}' AS BLOB), 'offer', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1342177287, 'b80345ce19d5f7f4912151c5', 'node.completed', 1794855825425, CAST('{"nodeId":"offer","outputs":{"output":"12 chairs for 384"}}' AS BLOB), 'offer', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1342177288, '5d9b49afc8814eb53887ef19', 'run.completed', 1794855825425, CAST('{"outputs":{"offer":{"output":"12 chairs for 384"}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1409286144, '3111f34f248dad1a3d860266', 'run.started', 1794855825365, CAST('{"inputs":{"amount":12},"owner":{"principal":"key_17eb38966672b3f4","tenant":"acme"},"workflowId":"price"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1409286145, '6450f38899c25814de3a333b', 'node.started', 1794855825365, CAST('{"attempt":1,"nodeId":"total","typeId":"core.setVariable"}' AS BLOB), 'total', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1409286146, 'b4da21678470bfd42d04d23f', 'variable.changed', 1794855825365, CAST('{"name":"total","next":384,"nodeId":"total"}' AS BLOB), 'total', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1409286147, '856a53df974006fa035199ba', 'node.completed', 1794855825365, CAST('{"nodeId":"total","outputs":{"output":384}}' AS BLOB), 'total', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1409286148, 'ed97db0121c6860aed8db1a2', 'run.completed', 1794855825365, CAST('{"outputs":{"total":{"output":384}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395008, 'db229d796b94a74766e1df30', 'run.started', 1794855825386, CAST('{"inputs":{},"owner":{"principal":"key_17eb38966672b3f4","tenant":"acme"},"workflowId":"article"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395009, '3940bda9cfc49cfbc41fd308', 'node.started', 1794855825386, CAST('{"attempt":1,"nodeId":"lead","typeId":"core.orchestrator.supervisor"}' AS BLOB), 'lead', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395010, '613b6a3c4d8e700e5c6ceaae', 'runOrchestrator.decided', 1794855825417, CAST('{"agentId":"host:editor","decision":{"kind":"next-worker","nextWorkerIds":["research"]}}' AS BLOB), 'lead', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395011, 'd6720898bcd080ca25162e08', 'node.completed', 1794855825417, CAST('{"nodeId":"lead","outputs":{"decision":{"kind":"next-worker","nextWorkerIds":["research"]},"iteration":0,"kind":"next-worker"}}' AS BLOB), 'lead', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395012, '022f5737cfafeafbfc4f56b2', 'node.started', 1794855825417, CAST('{"attempt":1,"nodeId":"send","typeId":"core.dispatch"}' AS BLOB), 'send', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395013, '3609430c51923b22391fb04b', 'core.workflowChain.event', 1794855825433, CAST('{"parentRunId":"01m7jvwvyjsp0zfwf1tgk5v9kj","phase":"dispatch.began","workerId":"research"}' AS BLOB), 'send', '613b6a3c4d8e700e5c6ceaae', 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395014, '362c2c52251ef8eff3c4b5d8', 'weftwork.child.started', 1794855825433, CAST('{"awaited":true,"childRunId":"01m7jvww0r00kv31mvpj3vdwas","key":"0","workflowId":"research"}' AS BLOB), 'send', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395015, 'fb20abff324fa39b33fb0e40', 'node.dispatched', 1794855825433, CAST('{"childRunId":"01m7jvww0r00kv31mvpj3vdwas","childWorkflowId":"research"}' AS BLOB), 'send', '613b6a3c4d8e700e5c6ceaae', 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395016, 'd0bd88b8c0a45020a3a1739a', 'core.workflowChain.event', 1794855825433, CAST('{"childRunId":"01m7jvww0r00kv31mvpj3vdwas","parentRunId":"01m7jvwvyjsp0zfwf1tgk5v9kj","phase":"dispatch.succeeded","workerId":"research"}' AS BLOB), 'send', '613b6a3c4d8e700e5c6ceaae', 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395017, '44f918fb77a5970d039db078', 'weftwork.child.ended', 1794855825468, CAST('{"childRunId":"01m7jvww0r00kv31mvpj3vdwas","key":"0","status":"completed","variables":{"found":"owls see in the dark"}}' AS BLOB), 'send', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395018, '610b7e2d1d708447634af6aa', 'core.workflowChain.event', 1794855825479, CAST('{"childRunId":"01m7jvww0r00kv31mvpj3vdwas","parentRunId":"01m7jvwvyjsp0zfwf1tgk5v9kj","phase":"child.completed","workerId":"research"}' AS BLOB), 'send', '613b6a3c4d8e700e5c6ceaae', 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395019, '95ffd7da5faa21da1f97d8f6', 'variable.changed', 1794855825479, CAST('{"name":"facts","next":"owls see in the dark","nodeId":"send"}' AS BLOB), 'send', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395020, '36c15255748fee33864bdd52', 'core.workflowChain.event', 1794855825479, CAST('{"childRunId":"01m7jvww0r00kv31mvpj3vdwas","harvestedKeys":["facts"],"parentRunId":"01m7jvwvyjsp0zfwf1tgk5v9kj","phase":"output.harvested","workerId":"research"}' AS BLOB), 'send', '613b6a3c4d8e700e5c6ceaae', 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395021, '13094c1c72339c2754b56d70', 'node.completed', 1794855825479, CAST('{"nodeId":"send","outputs":{"childRunId":"01m7jvww0r00kv31mvpj3vdwas","childStatus":"completed","kind":"next-worker","results":[{"childRunId":"01m7jvww0r00kv31mvpj3vdwas","childStatus":"completed","workerId":"research"}]}}' AS BLOB), 'send', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395022, 'c61e0f27ff862dd7ed5abce8', 'node.started', 1794855825479, CAST('{"attempt":1,"nodeId":"lead","typeId":"core.orchestrator.supervisor"}' AS BLOB), 'lead', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395023, '2c5dc4546770abf88decf107', 'runOrchestrator.decided', 1794855825498, CAST('{"agentId":"host:editor","decision":{"kind":"next-worker","nextWorkerIds":["write"]}}' AS BLOB), 'lead', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395024, '8beeb293814313fd4cf0a36f', 'node.completed', 1794855825498, CAST('{"nodeId":"lead","outputs":{"decision":{"kind":"next-worker","nextWorkerIds":["write"]},"iteration":1,"kind":"next-worker"}}' AS BLOB), 'lead', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395025, '01f08eedd8a48d9d4ce059a9', 'node.started', 1794855825498, CAST('{"attempt":1,"nodeId":"send","typeId":"core.dispatch"}' AS BLOB), 'send', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395026, '61bb5d8c70482842789a69c1', 'core.workflowChain.event', 1794855825520, CAST('{"parentRunId":"01m7jvwvyjsp0zfwf1tgk5v9kj","phase":"dispatch.began","workerId":"write"}' AS BLOB), 'send', '2c5dc4546770abf88decf107', 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395027, '385bf7dbd2eda81dd7076b20', 'weftwork.child.started', 1794855825520, CAST('{"awaited":true,"childRunId":"01m7jvww3fyg2rrwvm42a0sj6k","key":"0","workflowId":"write"}' AS BLOB), 'send', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395028, 'f704d971ab44ed28342dff55', 'node.dispatched', 1794855825520, CAST('{"childRunId":"01m7jvww3fyg2rrwvm42a0sj6k","childWorkflowId":"write"}' AS BLOB), 'send', '2c5dc4546770abf88decf107', 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395029, '1b79eac3a660a0500767f0d4', 'core.workflowChain.event', 1794855825520, CAST('{"childRunId":"01m7jvww3fyg2rrwvm42a0sj6k","parentRunId":"01m7jvwvyjsp0zfwf1tgk5v9kj","phase":"dispatch.succeeded","workerId":"write"}' AS BLOB), 'send', '2c5dc4546770abf88decf107', 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395030, 'e4994df1c19d887e5370ccd4', 'weftwork.child.ended', 1794855825555, CAST('{"childRunId":"01m7jvww3fyg2rrwvm42a0sj6k","key":"0","status":"completed","variables":{"text":"Did you know that owls see in the dark?"}}' AS BLOB), 'send', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395031, '0f6bb389d3cac73bdc2dca77', 'core.workflowChain.event', 1794855825575, CAST('{"childRunId":"01m7jvww3fyg2rrwvm42a0sj6k","parentRunId":"01m7jvwvyjsp0zfwf1tgk5v9kj","phase":"child.completed","workerId":"write"}' AS BLOB), 'send', '2c5dc4546770abf88decf107', 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395032, '3d4d46dfc24a2a29a3dcac3b', 'variable.changed', 1794855825575, CAST('{"name":"text","next":"Did you know that owls see in the dark?","nodeId":"send"}' AS BLOB), 'send', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395033, '1b43f25139f77ba2ec8f84a4', 'core.workflowChain.event', 1794855825575, CAST('{"childRunId":"01m7jvww3fyg2rrwvm42a0sj6k","harvestedKeys":["text"],"parentRunId":"01m7jvwvyjsp0zfwf1tgk5v9kj","phase":"output.harvested","workerId":"write"}' AS BLOB), 'send', '2c5dc4546770abf88decf107', 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395034, '6371e0e3717fa09eaaa9b845', 'node.completed', 1794855825575, CAST('{"nodeId":"send","outputs":{"childRunId":"01m7jvww3fyg2rrwvm42a0sj6k","childStatus":"completed","kind":"next-worker","results":[{"childRunId":"01m7jvww3fyg2rrwvm42a0sj6k","childStatus":"completed","workerId":"write"}]}}' AS BLOB), 'send', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395035, '1b8ef34dcb9f8edcf6ccae9b', 'node.started', 1794855825575, CAST('{"attempt":1,"nodeId":"lead","typeId":"core.orchestrator.supervisor"}' AS BLOB), 'lead', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395036, 'dd81f9da1aa9cec397082b42', 'runOrchestrator.decided', 1794855825591, CAST('{"agentId":"host:editor","decision":{"kind":"terminate","reason":"goal-reached"}}' AS BLOB), 'lead', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395037, '12496c6ab3edb349a456bef9', 'node.completed', 1794855825591, CAST('{"nodeId":"lead","outputs":{"decision":{"kind":"terminate","reason":"goal-reached"},"iteration":2,"kind":"terminate"}}' AS BLOB), 'lead', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395038, '75b90153110fe0d2be47aefa', 'node.skipped', 1794855825591, CAST('{"nodeId":"send","reason":"trigger-rule"}' AS BLOB), 'send', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395039, '9d64be537ee075c498b2613b', 'node.started', 1794855825591, CAST('{"attempt":1,"nodeId":"result","typeId":"core.transform"}' AS BLOB), 'result', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395040, '71dfd2bbef49dde32ce4327c', 'node.completed', 1794855825591, CAST('{"nodeId":"result","outputs":{"decisions":3,"text":"Did you know that owls see in the dark?"}}' AS BLOB), 'result', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395041, '22351c59a18769b64e3275a1', 'run.completed', 1794855825591, CAST('{"outputs":{"result":{"decisions":3,"text":"Did you know that owls see in the dark?"}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1543503872, '415df5193116b026fa357475', 'run.started', 1794855825430, CAST('{"inputs":{},"owner":{"principal":"key_17eb38966672b3f4","tenant":"acme"},"workflowId":"parcels"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1543503873, '0e1fd206fea066234ca0255c', 'node.started', 1794855825430, CAST('{"attempt":1,"nodeId":"pack","typeId":"core.flow.map"}' AS BLOB), 'pack', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1543503874, 'a6a3df5f959faf8a8965859d', 'weftwork.child.started', 1794855825454, CAST('{"awaited":true,"childRunId":"01m7jvww1dt3ab8szwyngqphea","key":"0","workflowId":"parcel"}' AS BLOB), 'pack', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1543503875, '5a1f3ed0748162e5be9b1758', 'weftwork.child.started', 1794855825454, CAST('{"awaited":true,"childRunId":"01m7jvww1e1kkba8gxm0wehkv0","key":"1","workflowId":"parcel"}' AS BLOB), 'pack', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1543503876, '7a8af1e0d04c8cc70c706a1b', 'weftwork.child.ended', 1794855825499, CAST('{"childRunId":"01m7jvww1dt3ab8szwyngqphea","key":"0","status":"completed","variables":{"label":"1: Ada"}}' AS BLOB), 'pack', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1543503877, 'ee95358995ab0bfa312e0cf0', 'weftwork.child.started', 1794855825511, CAST('{"awaited":true,"childRunId":"01m7jvww37zybbbz6qgzkfrrmh","key":"2","workflowId":"parcel"}' AS BLOB), 'pack', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1543503878, '36b55d421677b678e704a206', 'weftwork.child.ended', 1794855825560, CAST('{"childRunId":"01m7jvww37zybbbz6qgzkfrrmh","key":"2","status":"completed","variables":{"label":"3: Eve"}}' AS BLOB), 'pack', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1610612736, '277223271b373df34829aee0', 'run.started', 1794855825460, CAST('{"inputs":{"topic":"owls"},"owner":{"principal":"key_17eb38966672b3f4","tenant":"acme"},"workflowId":"research"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1610612737, 'c90bd84e1ac10fd923daf2ee', 'node.started', 1794855825460, CAST('{"attempt":1,"nodeId":"say","typeId":"core.template"}' AS BLOB), 'say', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1610612738, '5f973060a1760ec510fed976', 'node.completed', 1794855825460, CAST('{"nodeId":"say","outputs":{"output":"owls see in the dark"}}' AS BLOB), 'say', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1610612739, '5185d3d69518328e5a081226', 'node.started', 1794855825460, CAST('{"attempt":1,"nodeId":"keep","typeId":"core.setVariable"}' AS BLOB), 'keep', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1610612740, '72cf7e89a40c8d46ed70f483', 'variable.changed', 1794855825460, CAST('{"name":"found","next":"owls see in the dark","nodeId":"keep"}' AS BLOB), 'keep', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1610612741, '0f39a7a7e3e032d6ef7f6eb5', 'node.completed', 1794855825460, CAST('{"nodeId":"keep","outputs":{"output":"owls see in the dark"}}' AS BLOB), 'keep', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1610612742, '7c1417ecc1a982462146e08e', 'run.completed', 1794855825460, CAST('{"outputs":{"keep":{"output":"owls see in the dark"}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1677721600, 'aa202694cc59703c841548c8', 'run.started', 1794855825464, CAST('{"inputs":{"name":"Ada","number":1},"owner":{"principal":"key_17eb38966672b3f4","tenant":"acme"},"workflowId":"parcel"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1677721601, '485c524472ecd14f7ce4a80f', 'node.started', 1794855825464, CAST('{"attempt":1,"nodeId":"fill","typeId":"core.delay"}' AS BLOB), 'fill', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1677721602, '0452c101a1e9adc5eef29041', 'node.completed', 1794855825475, CAST('{"nodeId":"fill","outputs":{}}' AS BLOB), 'fill', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1677721603, 'faeb7a48ba3beb39f37e596a', 'node.started', 1794855825475, CAST('{"attempt":1,"nodeId":"write","typeId":"core.template"}' AS BLOB), 'write', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1677721604, 'c71d325513e4c051e7f18ef3', 'node.completed', 1794855825475, CAST('{"nodeId":"write","outputs":{"output":"1: Ada"}}' AS BLOB), 'write', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1677721605, '3a7895fbf3b6943254fe6b9a', 'node.started', 1794855825475, CAST('{"attempt":1,"nodeId":"stick","typeId":"core.setVariable"}' AS BLOB), 'stick', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1677721606, '640294bd592151f25bfab1aa', 'variable.changed', 1794855825475, CAST('{"name":"label","next":"1: Ada","nodeId":"stick"}' AS BLOB), 'stick', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1677721607, '0d2480f212600d09f7daa5b4', 'node.completed', 1794855825475, CAST('{"nodeId":"stick","outputs":{"output":"1: Ada"}}' AS BLOB), 'stick', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1677721608, '53274eb4e0fd3c7987c8f4e2', 'run.completed', 1794855825475, CAST('{"outputs":{"stick":{"output":"1: Ada"}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1744830464, 'b85d93decd6b27106bf48d1a', 'run.started', 1794855825464, CAST('{"inputs":{"name":"Bob","number":2},"owner":{"principal":"key_17eb38966672b3f4","tenant":"acme"},"workflowId":"parcel"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1744830465, 'fea1b6854609ad1de96fb661', 'node.started', 1794855825464, CAST('{"attempt":1,"nodeId":"fill","typeId":"core.delay"}' AS BLOB), 'fill', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1811939328, '4424ee1c57b47bab896c0b4b', 'run.started', 1794855825465, CAST('{"inputs":{},"owner":{"principal":"key_17eb38966672b3f4","tenant":"acme"},"workflowId":"parent"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1811939329, '5e6e78dffb38e1dca73621d1', 'node.started', 1794855825465, CAST('{"attempt":1,"nodeId":"s","typeId":"core.subWorkflow"}' AS BLOB), 's', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1811939330, '9319b4912543db4f07a300a6', 'weftwork.child.started', 1794855825478, CAST('{"awaited":true,"childRunId":"01m7jvww21aw55v4svzc3b4xm6","key":"child","workflowId":"delays"}' AS BLOB), 's', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1879048192, 'a1fb7e7a7d95c72841227ded', 'run.started', 1794855825493, CAST('{"inputs":{},"owner":{"principal":"key_17eb38966672b3f4","tenant":"acme"},"workflowId":"delays"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1879048193, 'd1a76bb982a75d3d97b7bed1', 'node.started', 1794855825493, CAST('{"attempt":1,"nodeId":"a","typeId":"core.identity"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1879048194, 'c315769e48df7ea8226f4cdf', 'node.completed', 1794855825493, CAST('{"nodeId":"a","outputs":{"secret":"[REDACTED:a.secret]"}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1879048195, 'eed3667e977dc88ceca77cbb', 'node.started', 1794855825493, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1946157056, '786c8f51dc2ce8b4aeb36582', 'run.started', 1794855825502, CAST('{"inputs":{},"owner":{"principal":"key_17eb38966672b3f4","tenant":"acme"},"workflowId":"parent"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1946157057, '47447a08f06ecfbc9e9489fe', 'node.started', 1794855825502, CAST('{"attempt":1,"nodeId":"s","typeId":"core.subWorkflow"}' AS BLOB), 's', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1946157058, 'bec177a80d9d2ce6e607996e', 'weftwork.child.started', 1794855825526, CAST('{"awaited":true,"childRunId":"01m7jvww3gjsqjrwbzbk65a772","key":"child","workflowId":"delays"}' AS BLOB), 's', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1946157059, '5921b9af137d5277d2c9e701', 'node.cancelled', 1794855826468, CAST('{"nodeId":"s"}' AS BLOB), 's', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1946157060, 'a37bd7e5ae6d74c106c2df7e', 'run.cancelled', 1794855826468, CAST('{"reason":"changed my mind"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2013265920, '54b50e624fb19fea302c33c0', 'run.started', 1794855825525, CAST('{"inputs":{"name":"Eve","number":3},"owner":{"principal":"key_17eb38966672b3f4","tenant":"acme"},"workflowId":"parcel"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2013265921, '6f84c541c39105122bda14ce', 'node.started', 1794855825525, CAST('{"attempt":1,"nodeId":"fill","typeId":"core.delay"}' AS BLOB), 'fill', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2013265922, '215cca1eb13033027577731b', 'node.completed', 1794855825547, CAST('{"nodeId":"fill","outputs":{}}' AS BLOB), 'fill', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2013265923, 'e438a0b3be32921946326434', 'node.started', 1794855825547, CAST('{"attempt":1,"nodeId":"write","typeId":"core.template"}' AS BLOB), 'write', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2013265924, '7fb41ab934161a78b574acd1', 'node.completed', 1794855825547, CAST('{"nodeId":"write","outputs":{"output":"3: Eve"}}' AS BLOB), 'write', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2013265925, '5892db6c1e8e790538c0887b', 'node.started', 1794855825547, CAST('{"attempt":1,"nodeId":"stick","typeId":"core.setVariable"}' AS BLOB), 'stick', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2013265926, '5c30c693463e48a783aca791', 'variable.changed', 1794855825547, CAST('{"name":"label","next":"3: Eve","nodeId":"stick"}' AS BLOB), 'stick', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2013265927, '87478e4a9fe435c4be9248ed', 'node.completed', 1794855825547, CAST('{"nodeId":"stick","outputs":{"output":"3: Eve"}}' AS BLOB), 'stick', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2013265928, 'b5664695e07b783f4a7f2300', 'run.completed', 1794855825547, CAST('{"outputs":{"stick":{"output":"3: Eve"}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2080374784, '00f36246e835429e2455d24d', 'run.started', 1794855825532, CAST('{"inputs":{"facts":"owls see in the dark"},"owner":{"principal":"key_17eb38966672b3f4","tenant":"acme"},"workflowId":"write"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2080374785, '8140989a3caa6a348dc3da6f', 'node.started', 1794855825532, CAST('{"attempt":1,"nodeId":"say","typeId":"core.template"}' AS BLOB), 'say', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2080374786, 'a0554e5ed265e300741849de', 'node.completed', 1794855825532, CAST('{"nodeId":"say","outputs":{"output":"Did you know that owls see in the dark?"}}' AS BLOB), 'say', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2080374787, '13043435f8cf76af387d7c65', 'node.started', 1794855825532, CAST('{"attempt":1,"nodeId":"keep","typeId":"core.setVariable"}' AS BLOB), 'keep', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2080374788, 'bdaccce0ee76763d0c58edd6', 'variable.changed', 1794855825532, CAST('{"name":"text","next":"Did you know that owls see in the dark?","nodeId":"keep"}' AS BLOB), 'keep', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2080374789, 'ffbb3cea5693d387789bb23c', 'node.completed', 1794855825532, CAST('{"nodeId":"keep","outputs":{"output":"Did you know that owls see in the dark?"}}' AS BLOB), 'keep', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2080374790, 'c11a6fa8548f5415513d7710', 'run.completed', 1794855825532, CAST('{"outputs":{"keep":{"output":"Did you know that owls see in the dark?"}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2147483648, 'd7d138eff86f4f0c4c7bbaf0', 'run.started', 1794855825542, CAST('{"inputs":{},"owner":{"principal":"key_17eb38966672b3f4","tenant":"acme"},"workflowId":"delays"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2147483649, 'b30431d41e61fd3b4d7ec973', 'node.started', 1794855825542, CAST('{"attempt":1,"nodeId":"a","typeId":"core.identity"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2147483650, 'a7e523082855cda09e500890', 'node.completed', 1794855825542, CAST('{"nodeId":"a","outputs":{"secret":"[REDACTED:a.secret]"}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2147483651, '84478a3d790cd581f083a3ce', 'node.started', 1794855825542, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2147483652, 'd57324457f9f1129a3fb4c2b', 'weftwork.run.cancel-requested', 1794855826475, CAST('{"parentRunId":"01m7jvww2gz6dnytvhcmn4qxka","reason":"parent-cancelled"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2147483653, '4afb865db53887335afd923a', 'node.cancelled', 1794855826493, CAST('{"nodeId":"d"}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2147483654, 'b8a235eea79b346ffe543421', 'run.cancelled', 1794855826493, CAST('{"parentRunId":"01m7jvww2gz6dnytvhcmn4qxka","reason":"parent-cancelled"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2214592512, '79c249a3ab9836fafe4934bf', 'run.started', 1794855825526, CAST('{"inputs":{},"owner":{"principal":"key_17eb38966672b3f4","tenant":"acme"},"workflowId":"parent-asks"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2214592513, 'adb1bf0b4f51ce8ce73ed6e7', 'node.started', 1794855825526, CAST('{"attempt":1,"nodeId":"s","typeId":"core.subWorkflow"}' AS BLOB), 's', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2214592514, '7cfb3dc57b91346403b4cd56', 'weftwork.child.started', 1794855825555, CAST('{"awaited":true,"childRunId":"01m7jvww4bkzap8kzt1x8k8vsf","key":"child","workflowId":"approval"}' AS BLOB), 's', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2214592515, '093d0b01c62b75eb4b3081cf', 'weftwork.child.status', 1794855825599, CAST('{"childRunId":"01m7jvww4bkzap8kzt1x8k8vsf","key":"child","status":"waiting-approval"}' AS BLOB), 's', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2281701376, '13a1b3703d182fb583c62f32', 'run.started', 1794855825568, CAST('{"inputs":{},"owner":{"principal":"key_17eb38966672b3f4","tenant":"acme"},"workflowId":"approval"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2281701377, 'ddd15fd1ea084b588f619163', 'node.started', 1794855825568, CAST('{"attempt":1,"nodeId":"gate","typeId":"core.approvalGate"}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2281701378, '9e7fa28990df235c7502a7cd', 'interrupt.requested', 1794855825568, CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","description":"Asked once; a reminder follows after a day.","title":"Pay 100 for a chair?"},"key":"gate","kind":"approval","timeoutMs":259200000}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (2281701379, 'ef8ee056e13926bf2f8ba666', 'approval.requested', 1794855825568, CAST('{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","interruptId":"gate.1","nodeId":"gate","title":"Pay 100 for a chair?"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (2281701380, '3378c852ac03c3351ff02250', 'node.suspended', 1794855825568, CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","remindAfterMs":[86400000]}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (2348810240, 'a669f841f3491e1cef75de8a', 'run.started', 1794855825558, CAST('{"inputs":{},"owner":{"principal":"key_17eb38966672b3f4","tenant":"acme"},"workflowId":"summary"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2348810241, 'a9648a8a92f640d823a26621', 'node.started', 1794855825558, CAST('{"attempt":1,"nodeId":"sum","typeId":"core.ai.callPrompt"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2348810242, '4c32a3a1d354fd3fcffe1054', 'output.chunk', 1794855825574, CAST('{"chunk":"A","isLast":false,"meta":{"model":"scripted-1","provider":"scripted"},"nodeId":"sum","runId":"01m7jvww4c96wn4kezfcc81rv0"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2348810243, '0adf27689798ff58027896a4', 'output.chunk', 1794855825574, CAST('{"chunk":" lamp","isLast":false,"meta":{"model":"scripted-1","provider":"scripted"},"nodeId":"sum","runId":"01m7jvww4c96wn4kezfcc81rv0"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2348810244, 'a861c248f52bfe809e457837', 'output.chunk', 1794855825574, CAST('{"chunk":" that","isLast":false,"meta":{"model":"scripted-1","provider":"scripted"},"nodeId":"sum","runId":"01m7jvww4c96wn4kezfcc81rv0"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2348810245, '12689157bba4cfeafeea3f89', 'output.chunk', 1794855825574, CAST('{"chunk":" came","isLast":false,"meta":{"model":"scripted-1","provider":"scripted"},"nodeId":"sum","runId":"01m7jvww4c96wn4kezfcc81rv0"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2348810246, '32574ffca50e3f111ff91faa', 'output.chunk', 1794855825574, CAST('{"chunk":" on","isLast":false,"meta":{"model":"scripted-1","provider":"scripted"},"nodeId":"sum","runId":"01m7jvww4c96wn4kezfcc81rv0"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2348810247, '9591ca5c43c90d5a0ad7332c', 'output.chunk', 1794855825574, CAST('{"chunk":" Monday","isLast":false,"meta":{"model":"scripted-1","provider":"scripted"},"nodeId":"sum","runId":"01m7jvww4c96wn4kezfcc81rv0"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2348810248, '95e50b3e9da8fb4f628f1ef6', 'output.chunk', 1794855825574, CAST('{"chunk":" is","isLast":false,"meta":{"model":"scripted-1","provider":"scripted"},"nodeId":"sum","runId":"01m7jvww4c96wn4kezfcc81rv0"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2348810249, '190df108e013de2ab0ba42ed', 'output.chunk', 1794855825574, CAST('{"chunk":" broken.","isLast":true,"meta":{"finishReason":"stop","model":"scripted-1","provider":"scripted","usage":{"completionTokens":10,"promptTokens":23,"totalTokens":33}},"nodeId":"sum","runId":"01m7jvww4c96wn4kezfcc81rv0"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2348810250, '8b91289cd0ecb3e0bfa7f2bd', 'weftwork.model.answered', 1794855825574, CAST('{"call":"/0.0","detail":"end_turn","inputTokens":23,"model":"scripted-1","nodeId":"sum","outputTokens":10,"provider":"scripted","stop":"stop","text":"A lamp that came on Monday is broken."}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2348810251, 'fd2ea6e9e2f0708bcbc5920c', 'provider.usage', 1794855825574, CAST('{"inputTokens":23,"model":"scripted-1","nodeId":"sum","outputTokens":10,"provider":"scripted","totalTokens":33}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2348810252, 'e088417eed9b3e18b3eb0bd3', 'node.completed', 1794855825590, CAST('{"nodeId":"sum","outputs":{"content":"A lamp that came on Monday is broken.","finishReason":"stop","model":"scripted-1","text":"A lamp that came on Monday is broken.","usage":{"inputTokens":23,"outputTokens":10,"totalTokens":33}}}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2348810253, '91f3ff9a90c4e70002a73eca', 'run.completed', 1794855825590, CAST('{"outputs":{"sum":{"content":"A lamp that came on Monday is broken.","finishReason":"stop","model":"scripted-1","text":"A lamp that came on Monday is broken.","usage":{"inputTokens":23,"outputTokens":10,"totalTokens":33}}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2415919104, '87bf41b0ce3be3d39d767e0a', 'run.started', 1794855825580, CAST('{"inputs":{},"owner":{"principal":"key_17eb38966672b3f4","tenant":"acme"},"workflowId":"clarify"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2415919105, 'd4eca47b4fd2ae498900ed33', 'node.started', 1794855825580, CAST('{"attempt":1,"nodeId":"book","typeId":"core.ai.generateEnvelope"}' AS BLOB), 'book', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2415919106, 'd66800daaf98d3797d879d18', 'weftwork.model.answered', 1794855825608, CAST('{"call":"/0.0","detail":"end_turn","inputTokens":128,"model":"scripted-1","nodeId":"book","outputTokens":36,"provider":"scripted","stop":"stop","text":"{\"type\": \"clarification.request\", \"payload\": {\"questions\": [{\"id\": \"people\", \"question\": \"How many are you?\", \"schema\": {\"type\": \"integer\"}}]}}"}' AS BLOB), 'book', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2415919107, '90bec9cdc5b983a2525a0a4b', 'provider.usage', 1794855825608, CAST('{"inputTokens":128,"model":"scripted-1","nodeId":"book","outputTokens":36,"provider":"scripted","totalTokens":164}' AS BLOB), 'book', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2415919108, '643856dd4ecbf525d0c55134', 'weftwork.envelope.recorded', 1794855825613, CAST('{"correlationId":"01m7jvww58sc0d8ywcbg6mjnt8:book:/0.0.0:0:5b97a253","drift":true,"envelopeId":"env-b2b5d0fafd46ea60047669d9a5e3afb8","floor":1,"nodeId":"book","payload":{"questions":[{"id":"people","question":"How many are you?","schema":{"type":"integer"}}]},"redactionCount":0,"schemaVersion":0,"status":"accepted","type":"clarification.request"}' AS BLOB), 'book', '01m7jvww58sc0d8ywcbg6mjnt8:book:/0.0.0:0:5b97a253', 1, 1, NULL, 'trusted');
INSERT INTO events VALUES (2415919109, '8adb6a92f908eaac5cc6d5e1', 'interrupt.requested', 1794855825613, CAST('{"data":{"questions":[{"id":"people","question":"How many are you?","schema":{"type":"integer"}}]},"key":"envelope:01m7jvww58sc0d8ywcbg6mjnt8:book:/0.0.0:0:5b97a253","kind":"clarification"}' AS BLOB), 'book', '01m7jvww58sc0d8ywcbg6mjnt8:book:/0.0.0:0:5b97a253', 1, 1, 'book.1', 'trusted');
INSERT INTO events VALUES (2415919110, '6c33db4fb0efdb13cc33c691', 'clarification.requested', 1794855825613, CAST('{"interruptId":"book.1","nodeId":"book","questions":[{"id":"people","question":"How many are you?","schema":{"type":"integer"}}]}' AS BLOB), 'book', '01m7jvww58sc0d8ywcbg6mjnt8:book:/0.0.0:0:5b97a253', 1, 1, 'book.1', 'trusted');
INSERT INTO events VALUES (2415919111, '4d9aaeafa58d3257fe5234bf', 'node.suspended', 1794855825613, CAST('{"interruptId":"book.1","key":"envelope:01m7jvww58sc0d8ywcbg6mjnt8:book:/0.0.0:0:5b97a253","kind":"clarification","nodeId":"book"}' AS BLOB), 'book', '01m7jvww58sc0d8ywcbg6mjnt8:book:/0.0.0:0:5b97a253', 1, 1, 'book.1', 'trusted');
INSERT INTO events VALUES (2483027968, 'ef7fcc97926d3590ee98efcc', 'run.started', 1794855825611, CAST('{"inputs":{"photo":{"mediaRef":"weftwork-asset:c07eee86e3bc55e47141167856ad607a4f94135409031548135cd1116893249f","mimeType":"image/png"}},"owner":{"principal":"key_17eb38966672b3f4","tenant":"acme"},"workflowId":"sees"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2483027969, '9201eacc6ec2e7e9cced1e22', 'node.started', 1794855825611, CAST('{"attempt":1,"nodeId":"read","typeId":"core.ai.callPrompt"}' AS BLOB), 'read', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2483027970, 'f4a22d08bdd1e28786417fe7', 'weftwork.content.outside', 1794855825622, CAST('{"nodeId":"read"}' AS BLOB), 'read', NULL, 1, 1, NULL, 'untrusted');
INSERT INTO events VALUES (2483027971, 'a2f1159af25c4cb748f0bbd1', 'output.chunk', 1794855825635, CAST('{"chunk":"A","isLast":false,"meta":{"model":"scripted-1","provider":"scripted"},"nodeId":"read","runId":"01m7jvww6912smzxsa68w2p82p"}' AS BLOB), 'read', NULL, 1, 1, NULL, 'untrusted');
INSERT INTO events VALUES (2483027972, '94069220edd43eb0e7447871', 'output.chunk', 1794855825635, CAST('{"chunk":" chair.","isLast":true,"meta":{"finishReason":"stop","model":"scripted-1","provider":"scripted","usage":{"completionTokens":2,"promptTokens":4,"totalTokens":6}},"nodeId":"read","runId":"01m7jvww6912smzxsa68w2p82p"}' AS BLOB), 'read', NULL, 1, 1, NULL, 'untrusted');
INSERT INTO events VALUES (2483027973, '282cd49e62a4940d02dd9963', 'weftwork.model.answered', 1794855825635, CAST('{"call":"/0.0","detail":"end_turn","inputTokens":4,"model":"scripted-1","nodeId":"read","outputTokens":2,"provider":"scripted","shown":["weftwork-asset:c07eee86e3bc55e47141167856ad607a4f94135409031548135cd1116893249f"],"stop":"stop","text":"A chair."}' AS BLOB), 'read', NULL, 1, 1, NULL, 'untrusted');
INSERT INTO events VALUES (2483027974, '6fdb12a8195e6e14ff4d26e6', 'provider.usage', 1794855825635, CAST('{"inputTokens":4,"model":"scripted-1","nodeId":"read","outputTokens":2,"provider":"scripted","totalTokens":6}' AS BLOB), 'read', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2483027975, '9238c41e7e9bff1be09412cf', 'node.completed', 1794855825644, CAST('{"nodeId":"read","outputs":{"content":"A chair.","finishReason":"stop","model":"scripted-1","text":"A chair.","usage":{"inputTokens":4,"outputTokens":2,"totalTokens":6}}}' AS BLOB), 'read', NULL, 1, 1, NULL, 'untrusted');
INSERT INTO events VALUES (2483027976, '311573b7302eff3dbf1cbefe', 'node.started', 1794855825644, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2550136832, 'cf5e91fcdbf17742649ea232', 'run.started', 1794855825628, CAST('{"inputs":{},"owner":{"principal":"key_17eb38966672b3f4","tenant":"acme"},"workflowId":"list"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2550136833, 'a1b3d872050f64141bf98b35', 'node.started', 1794855825628, CAST('{"attempt":1,"nodeId":"c","typeId":"core.channelWrite"}' AS BLOB), 'c', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2550136834, '14d81ce69e325ccd4f8fa18f', 'channel.written', 1794855825628, CAST('{"channel":"log","nodeId":"c","reducer":"append","value":"begun","writtenAt":"2026-11-16T19:03:45.628Z"}' AS BLOB), 'c', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2550136835, '9506ea98eec3991afc8567eb', 'node.completed', 1794855825628, CAST('{"nodeId":"c","outputs":{"output":"begun"}}' AS BLOB), 'c', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2550136836, '9fe43a51408c3d6fc9ee8bb8', 'node.started', 1794855825628, CAST('{"attempt":1,"nodeId":"m","typeId":"core.flow.map"}' AS BLOB), 'm', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2550136837, '94b7e9556b0671b413f8e253', 'weftwork.map.item', 1794855825644, CAST('{"index":0,"output":{}}' AS BLOB), 'm', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2550136838, '1726bd04395b91b4c42a446d', 'weftwork.map.item', 1794855825655, CAST('{"index":2,"output":{}}' AS BLOB), 'm', NULL, 1, 1, NULL, NULL);
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
INSERT INTO run_state VALUES (8, 'interrupt', 'ask.1', CAST('{"data":{"customKind":"supplier","payload":["north","south"]},"interruptId":"ask.1","key":"ask","kind":"custom","nodeId":"ask","requestedAt":"2026-11-16T19:03:45.095Z","status":"open"}' AS BLOB));
INSERT INTO run_state VALUES (8, 'node', 'ask', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (9, 'artifact', 'keep', CAST('{"artifactType":"order","nodeId":"keep","sequence":8,"version":1}' AS BLOB));
INSERT INTO run_state VALUES (9, 'interrupt', 'ask.1', CAST('{"interruptId":"ask.1","key":"ask","kind":"custom","nodeId":"ask","requestedAt":"2026-11-16T19:03:45.113Z","resolvedAt":"2026-11-16T19:03:45.983Z","resolvedBy":"key_17eb38966672b3f4","status":"resolved"}' AS BLOB));
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
INSERT INTO run_state VALUES (13, 'interrupt', 'gate.1', CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","description":"Asked once; a reminder follows after a day.","title":"Pay 100 for a chair?"},"dueAt":"2026-11-19T19:03:45.183Z","interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","requestedAt":"2026-11-16T19:03:45.183Z","status":"open","timeoutMs":259200000}' AS BLOB));
INSERT INTO run_state VALUES (13, 'node', 'gate', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (13, 'variable', 'amount', CAST('100' AS BLOB));
INSERT INTO run_state VALUES (13, 'variable', 'purpose', CAST('"a chair"' AS BLOB));
INSERT INTO run_state VALUES (14, 'interrupt', 'gate.1', CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","outcome":"accepted","requestedAt":"2026-11-16T19:03:45.205Z","resolvedAt":"2026-11-16T19:03:46.084Z","resolvedBy":"key_17eb38966672b3f4","status":"resolved"}' AS BLOB));
INSERT INTO run_state VALUES (14, 'node', 'gate', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (14, 'node', 'kept', CAST('{"status":"skipped"}' AS BLOB));
INSERT INTO run_state VALUES (14, 'node', 'paid', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (14, 'variable', 'amount', CAST('100' AS BLOB));
INSERT INTO run_state VALUES (14, 'variable', 'purpose', CAST('"a chair"' AS BLOB));
INSERT INTO run_state VALUES (15, 'interrupt', 'gate.1', CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","outcome":"rejected","requestedAt":"2026-11-16T19:03:45.224Z","resolvedAt":"2026-11-16T19:03:46.106Z","resolvedBy":"key_17eb38966672b3f4","status":"resolved"}' AS BLOB));
INSERT INTO run_state VALUES (15, 'node', 'gate', CAST('{"attempt":1,"error":{"code":"interrupt_rejected","details":{"decidedBy":"key_17eb38966672b3f4","reason":"rejected"},"message":"The approval was refused."},"status":"failed"}' AS BLOB));
INSERT INTO run_state VALUES (15, 'node', 'kept', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (15, 'node', 'paid', CAST('{"status":"skipped"}' AS BLOB));
INSERT INTO run_state VALUES (15, 'variable', 'amount', CAST('100' AS BLOB));
INSERT INTO run_state VALUES (15, 'variable', 'purpose', CAST('"a chair"' AS BLOB));
INSERT INTO run_state VALUES (16, 'interrupt', 'gate.1', CAST('{"data":{"actions":["accept","reject"],"approversList":[],"artifactId":"gate","artifactType":"approval","requiredApprovals":2,"title":"Release?"},"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","requestedAt":"2026-11-16T19:03:45.254Z","status":"open","votes":[{"action":"accept","voter":"key_17eb38966672b3f4"}]}' AS BLOB));
INSERT INTO run_state VALUES (16, 'node', 'gate', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (17, 'interrupt', 'wait.1', CAST('{"data":{"correlation":{"orderId":"o-1","status":"paid"},"eventType":"shop.order.paid"},"dueAt":"2026-11-16T20:03:45.275Z","interruptId":"wait.1","key":"wait","kind":"external-event","nodeId":"wait","requestedAt":"2026-11-16T19:03:45.275Z","status":"open","timeoutMs":3600000}' AS BLOB));
INSERT INTO run_state VALUES (17, 'node', 'wait', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (17, 'variable', 'orderId', CAST('"o-1"' AS BLOB));
INSERT INTO run_state VALUES (18, 'interrupt', 'ask.1', CAST('{"data":{"questions":[{"id":"day","question":"When do you come to Bern?","schema":{"minLength":3,"type":"string"}},{"id":"people","question":"How many are you?","schema":{"maximum":8,"minimum":1,"type":"integer"}},{"id":"lunch","question":"With lunch?","schema":{"type":"boolean"}}]},"dueAt":"2026-11-17T19:03:45.280Z","interruptId":"ask.1","key":"ask","kind":"clarification","nodeId":"ask","requestedAt":"2026-11-16T19:03:45.280Z","status":"open","timeoutMs":86400000}' AS BLOB));
INSERT INTO run_state VALUES (18, 'node', 'ask', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (18, 'variable', 'city', CAST('"Bern"' AS BLOB));
INSERT INTO run_state VALUES (19, 'interrupt', 't.1', CAST('{"interruptId":"t.1","key":"t:start","kind":"conversation.start","nodeId":"t","requestedAt":"2026-11-16T19:03:45.327Z","resolvedAt":"2026-11-16T19:03:45.327Z","status":"resolved"}' AS BLOB));
INSERT INTO run_state VALUES (19, 'interrupt', 't.2', CAST('{"data":{"conversationId":"01m7jvwvwjjyz03fzwtkysrafq:t:0","prompt":"Please answer.","turnIndex":1},"interruptId":"t.2","key":"t:1","kind":"conversation.exchange","nodeId":"t","requestedAt":"2026-11-16T19:03:45.330Z","status":"open"}' AS BLOB));
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
INSERT INTO run_state VALUES (28, 'node', 'a', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (28, 'node', 'd', CAST('{"attempt":1,"status":"running"}' AS BLOB));
INSERT INTO run_state VALUES (28, 'variable', 'secret', CAST('"[REDACTED:secret]"' AS BLOB));
INSERT INTO run_state VALUES (29, 'kin', 'children', CAST('1' AS BLOB));
INSERT INTO run_state VALUES (29, 'node', 's', CAST('{"attempt":1,"status":"cancelled"}' AS BLOB));
INSERT INTO run_state VALUES (30, 'node', 'fill', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (30, 'node', 'stick', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (30, 'node', 'write', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (30, 'variable', 'label', CAST('"3: Eve"' AS BLOB));
INSERT INTO run_state VALUES (30, 'variable', 'name', CAST('"Eve"' AS BLOB));
INSERT INTO run_state VALUES (30, 'variable', 'number', CAST('3' AS BLOB));
INSERT INTO run_state VALUES (31, 'node', 'keep', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (31, 'node', 'say', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (31, 'variable', 'facts', CAST('"owls see in the dark"' AS BLOB));
INSERT INTO run_state VALUES (31, 'variable', 'text', CAST('"Did you know that owls see in the dark?"' AS BLOB));
INSERT INTO run_state VALUES (32, 'node', 'a', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (32, 'node', 'd', CAST('{"attempt":1,"status":"cancelled"}' AS BLOB));
INSERT INTO run_state VALUES (32, 'variable', 'secret', CAST('"[REDACTED:secret]"' AS BLOB));
INSERT INTO run_state VALUES (33, 'kin', 'children', CAST('1' AS BLOB));
INSERT INTO run_state VALUES (33, 'node', 's', CAST('{"attempt":1,"status":"running"}' AS BLOB));
INSERT INTO run_state VALUES (34, 'interrupt', 'gate.1', CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","description":"Asked once; a reminder follows after a day.","title":"Pay 100 for a chair?"},"dueAt":"2026-11-19T19:03:45.568Z","interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","requestedAt":"2026-11-16T19:03:45.568Z","status":"open","timeoutMs":259200000}' AS BLOB));
INSERT INTO run_state VALUES (34, 'node', 'gate', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (34, 'variable', 'amount', CAST('100' AS BLOB));
INSERT INTO run_state VALUES (34, 'variable', 'purpose', CAST('"a chair"' AS BLOB));
INSERT INTO run_state VALUES (35, 'node', 'sum', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (35, 'variable', 'letter', CAST('"The lamp came on Monday. It does not work."' AS BLOB));
INSERT INTO run_state VALUES (36, 'interrupt', 'book.1', CAST('{"data":{"questions":[{"id":"people","question":"How many are you?","schema":{"type":"integer"}}]},"interruptId":"book.1","key":"envelope:01m7jvww58sc0d8ywcbg6mjnt8:book:/0.0.0:0:5b97a253","kind":"clarification","nodeId":"book","requestedAt":"2026-11-16T19:03:45.613Z","status":"open"}' AS BLOB));
INSERT INTO run_state VALUES (36, 'node', 'book', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (36, 'variable', 'wish', CAST('"A table on Monday, please."' AS BLOB));
INSERT INTO run_state VALUES (37, 'node', 'd', CAST('{"attempt":1,"status":"running"}' AS BLOB));
INSERT INTO run_state VALUES (37, 'node', 'read', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (37, 'variable', 'photo', CAST('{"mediaRef":"weftwork-asset:c07eee86e3bc55e47141167856ad607a4f94135409031548135cd1116893249f","mimeType":"image/png"}' AS BLOB));
INSERT INTO run_state VALUES (38, 'channel', 'log', CAST('["begun"]' AS BLOB));
INSERT INTO run_state VALUES (38, 'node', 'c', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (38, 'node', 'm', CAST('{"attempt":1,"status":"running"}' AS BLOB));
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
INSERT INTO hidden VALUES (20, 28, 2, '/outputs/secret', CAST('"xxxx"' AS BLOB));
INSERT INTO hidden VALUES (21, 32, 2, '/outputs/secret', CAST('"xxxx"' AS BLOB));
INSERT INTO run_tags VALUES ('live:acme', 'accept', 14);
INSERT INTO run_tags VALUES ('live:acme', 'annotate', 11);
INSERT INTO run_tags VALUES ('live:acme', 'answer', 9);
INSERT INTO run_tags VALUES ('live:acme', 'cancel', 5);
INSERT INTO run_tags VALUES ('live:acme', 'cancel', 29);
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
INSERT INTO run_tags VALUES ('live:acme', 'plain', 33);
INSERT INTO run_tags VALUES ('live:acme', 'plain', 35);
INSERT INTO run_tags VALUES ('live:acme', 'plain', 36);
INSERT INTO run_tags VALUES ('live:acme', 'plain', 37);
INSERT INTO run_tags VALUES ('live:acme', 'plain', 38);
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
INSERT INTO run_tags VALUES ('live:acme', 'recorded', 29);
INSERT INTO run_tags VALUES ('live:acme', 'recorded', 33);
INSERT INTO run_tags VALUES ('live:acme', 'recorded', 35);
INSERT INTO run_tags VALUES ('live:acme', 'recorded', 36);
INSERT INTO run_tags VALUES ('live:acme', 'recorded', 37);
INSERT INTO run_tags VALUES ('live:acme', 'recorded', 38);
INSERT INTO run_tags VALUES ('live:acme', 'reject', 15);
INSERT INTO run_tags VALUES ('live:acme', 'vote', 16);
INSERT INTO idempotency VALUES (1, 'live:acme', '61a985f870cc6e41f93abf2c7b2511e14c15b86e671537a8792ca3271a428477', 'bea331ee4f5f0b1a569ecda7bbe1e96ce82eba15e24f4b1fa0a4322da4b1646b', CAST('{"run_id":"01m7jvwvj36959a0jh36tpa4f3","status":"pending","replayed":false}' AS BLOB), 1794855824963);
INSERT INTO idempotency VALUES (2, 'live:acme', 'dfce0f4614e6373d7ac9bbf429dd89680e0127c208fba439cfe3ccd5d23c98ec', '410d8cc13960308047f90d0c1dec055eb74b241f8998df1dfd07cea4c11c40ee', CAST('{"run_id":"01m7jvwvjnvrh7xc2rsbzscb8z","status":"pending","replayed":false}' AS BLOB), 1794855824981);
INSERT INTO idempotency VALUES (3, 'live:acme', '8e3ec313a4420d425f5a0a6547b4f49e9c2fd2f2101c752a6982d28eed7ed7b2', '7d41ae182720cd4e7f96fe02996dd1311b613fdf6b743aa121da166959dbde3e', CAST('{"run_id":"01m7jvwvk89dp2yb4emrxk08yx","status":"pending","replayed":false}' AS BLOB), 1794855825000);
INSERT INTO idempotency VALUES (4, 'live:acme', '2dd923e5d6c5b95437f27bcbbb78858e459ca89f8a8cc26c61a0977dda6e5535', '294cb31a28ff3950c8e69947a62e65264bf09459769432db303ca6457b5823e9', CAST('{"run_id":"01m7jvwvkvjy305dm7kd0cwyp9","status":"pending","replayed":false}' AS BLOB), 1794855825019);
INSERT INTO idempotency VALUES (5, 'live:acme', '19f12c22be65e06a90e64b855f7419dcf205317475868848cc1f69ebf360f32a', '4e9585cdffde56256d715dbefdbecadda83655d126fc4191b4c740e9dde2820d', CAST('{"run_id":"01m7jvwvm87es1mqyy3s1rkfzk","status":"pending","replayed":false}' AS BLOB), 1794855825032);
INSERT INTO idempotency VALUES (6, 'live:acme', '772796833478311126761000a7046b58c32c54f1819dd5ad95325141a1a30d68', '9891ba3762f4fc4c919d2dbb38caf54bc387179056ba9d75278cc2b6d5afa10a', CAST('{"run_id":"01m7jvwvmxqwx6kj4tt8vzgna1","status":"pending","replayed":false}' AS BLOB), 1794855825053);
INSERT INTO idempotency VALUES (7, 'live:acme', '3ecf33d6f95f7eb106db493feab3b63e4b156acdcdf8f06423ed18e0a02423d4', '79d5fd2f04bd6d1b271dd9ca3cbd06d794f9a3d82823d341dbd4a4d5034dac3d', CAST('{"run_id":"01m7jvwvne1s5rqvr0f8qne4xd","status":"pending","replayed":false}' AS BLOB), 1794855825070);
INSERT INTO idempotency VALUES (8, 'live:acme', 'ec4fb0f6dc0d59a0bc614cf323f7bb615b07d925391457bbd1744f1f52d118fa', '46afdfb8fd29952388c0253cd020631707a78ccdccadbac2cbfe985181f30a15', CAST('{"run_id":"01m7jvwvp58epy7senq4jqbr8m","status":"pending","replayed":false}' AS BLOB), 1794855825093);
INSERT INTO idempotency VALUES (9, 'live:acme', '37770f8c8236ec98ff069dbbdb394cce6833da7ac70f59ea0727fc0958513a2f', '54acda9ff1f00697248e0d3471456d58ee39513ec586d0393e926d65d24d5d8d', CAST('{"run_id":"01m7jvwvps5snttscp0h5sj5ee","status":"pending","replayed":false}' AS BLOB), 1794855825113);
INSERT INTO idempotency VALUES (10, 'live:acme', '390f95671cbd0f40167f192b5e8dcaf85b72e2c9a97567c1b2e821f243683d39', '6871360561500a4b03b2d7a58ecb28aabd4b82e27a8769e01f700ad0984697be', CAST('{"run_id":"01m7jvwvq69k25nfjfns0gnezp","status":"pending","replayed":false}' AS BLOB), 1794855825126);
INSERT INTO idempotency VALUES (11, 'live:acme', 'fb1509fb9996b64704badca968bf731141f96b06ac5201dec96102e7fc089286', '59d219a28509ec722cdb5013b3ec52fc3308195ff17bc513368e7bf1820eb454', CAST('{"run_id":"01m7jvwvqr7p27ew05zfm8t8qq","status":"pending","replayed":false}' AS BLOB), 1794855825144);
INSERT INTO idempotency VALUES (12, 'live:acme', '1b934e79250a9827af3e2def4b5ae929c57ff2622280e40d2338ad859d1cfbab', 'de11a5bb1f69003541ca0ad959775fdfaf60dcf962d962cefe4fb52f05ecdacd', CAST('{"run_id":"01m7jvwvr4kk6bzsd9qmfb3gsj","status":"pending","replayed":false}' AS BLOB), 1794855825156);
INSERT INTO idempotency VALUES (13, 'live:acme', '0633fc297d43e48f3b239973ad348c2e44ebce32a392a3cde7f85d4279f34f15', '19d4e1b84d6f468cbc327c06cadb8e2bcbf1fe3ea764b1542483cdbb127420e5', CAST('{"run_id":"01m7jvwvrxxkjrte46h853skcj","status":"pending","replayed":false}' AS BLOB), 1794855825181);
INSERT INTO idempotency VALUES (14, 'live:acme', '670d9d85c2cc9737ee0bfbc2951787470ab94871af480464786e1d40954fe2db', 'bc884c55e359f172fcc1f1bc43a3a3e4c312779930d2f510bc023242b6e9a285', CAST('{"run_id":"01m7jvwvsk82vpakr8nsqjvn6w","status":"pending","replayed":false}' AS BLOB), 1794855825203);
INSERT INTO idempotency VALUES (15, 'live:acme', '9caf77c7ba86fb45f73acc1993d2ec1f9fbd05f3acd88d44a7a8109378f243c8', 'aca5d710b29cbf658776978c31547149c3ee01ad992f5717da2851fb183b143d', CAST('{"run_id":"01m7jvwvt6padmazgebc2e4vg0","status":"pending","replayed":false}' AS BLOB), 1794855825222);
INSERT INTO idempotency VALUES (16, 'live:acme', '8acea8f6f69addd4a47bf4caa18378ba63943dbac645f2fa71e7b22f3b968879', '7d5ec92d1b2f9785a16e54b622d74725160998054805e0b1bc488635d27ac252', CAST('{"run_id":"01m7jvwvtw6vcbzy059b58s0sx","status":"pending","replayed":false}' AS BLOB), 1794855825244);
INSERT INTO idempotency VALUES (17, 'live:acme', 'f3b928f7d5646ced4b9ca261bb4e8b9b65007e95fa1ec32475cdb4f4941a6d14', '48df3d086ab6a0fbf1975a30155ad7083720db87babf539b372f8c72f4109f90', CAST('{"run_id":"01m7jvwvvqhmv3n6ragxccmwx2","status":"pending","replayed":false}' AS BLOB), 1794855825271);
INSERT INTO idempotency VALUES (18, 'live:acme', 'ef26f01a0a380acb0948f69bc241ce7625ac57dd43a2cea8851bcc2841959bc5', '8f024abda60e2967d064310babe5b965b11a945cf90343a471378a7e5847e6d1', CAST('{"run_id":"01m7jvwvvz7125vyapx2028rcq","status":"pending","replayed":false}' AS BLOB), 1794855825279);
INSERT INTO idempotency VALUES (19, 'live:acme', '131cf9f5623746b35e973381fd45b7bc3afa47339f46ba42743d31687375ed72', '74fd0573c8b201d4d522cd932e287c0a98217f835657e171ceb009437d4f36f8', CAST('{"run_id":"01m7jvwvwjjyz03fzwtkysrafq","status":"pending","replayed":false}' AS BLOB), 1794855825298);
INSERT INTO idempotency VALUES (20, 'live:acme', 'c7aeec69fbe67d0521366e437768c1a9da818af4676845acc438022935bf61bc', 'b215bf8ecbd76cc23130359a4b63157862c1260d2d449fef2ab5a643f823d7b0', CAST('{"run_id":"01m7jvwvxh5qxdeq6evn06q7y3","status":"pending","replayed":false}' AS BLOB), 1794855825329);
INSERT INTO idempotency VALUES (21, 'live:acme', '06fe0f944cc9eff168fd188335b2e7295765057e4ee9c7e8a279d0c9a6b2bad0', '436e5abd0bfd273880a1e716db13d7142b4d5c4270fe7b0552c84fe1ed12780d', CAST('{"run_id":"01m7jvwvyjsp0zfwf1tgk5v9kj","status":"pending","replayed":false}' AS BLOB), 1794855825362);
INSERT INTO idempotency VALUES (22, 'live:acme', 'a8b5807e1f64e66bc5490b5cca90b4d8c3d0fa8eec9c5c4599a0b8d509ba238b', '1d55dd2e60c0e61d4b9e9188544a5082df9ea7ab51f96845d49d61899f33af34', CAST('{"run_id":"01m7jvww09x6525jqk8yhtgq36","status":"pending","replayed":false}' AS BLOB), 1794855825417);
INSERT INTO idempotency VALUES (23, 'live:acme', 'bec69e0a5a927c8ffdf30d72aa71bf7a176906aeebcfce402aac666d3b5d5a51', '23d9d82e8ff99f05ce27a647d291ce32fd6cf31fcaf4fd2a4e799c9622277757', CAST('{"run_id":"01m7jvww1msfx0s8xmpc1d0cm3","status":"pending","replayed":false}' AS BLOB), 1794855825460);
INSERT INTO idempotency VALUES (24, 'live:acme', 'f84d0fa6ef670211a10d4224470ae4c0ab8c8709d8e2981a08eb1c8193a93fea', 'b13eca0578c3580eb3ab47671370505f5f49136178467ea45668689adbe6e10d', CAST('{"run_id":"01m7jvww2gz6dnytvhcmn4qxka","status":"pending","replayed":false}' AS BLOB), 1794855825488);
INSERT INTO idempotency VALUES (25, 'live:acme', '4776239ae9449860a496a7aad0a89ceaaf44dd2ff753c28ecea11acab1f30e07', 'e51d8429ad9909e88989388756c2c71cc27bc716a1c889578f11717bbb867546', CAST('{"run_id":"01m7jvww3hjp903tmpa8ygbf2m","status":"pending","replayed":false}' AS BLOB), 1794855825521);
INSERT INTO idempotency VALUES (26, 'live:acme', 'e98ff7f3abe1826830af0f6890bb6fe24e1b604125ec1ccc1c442ea63f97536e', '27b4244743b3bc84ddab2570ee8df1410d3dc7836566fbe28279e8f1cd013756', CAST('{"run_id":"01m7jvww4c96wn4kezfcc81rv0","status":"pending","replayed":false}' AS BLOB), 1794855825548);
INSERT INTO idempotency VALUES (27, 'live:acme', '6c131af5d64a2f4d15e4c9d6ac780ae09a244fdbaff2600ff40695e16cc01eb2', '9faf76e36df1cded40aeab619301f369c458bb15eac9baa6ecf8410e1128218e', CAST('{"run_id":"01m7jvww58sc0d8ywcbg6mjnt8","status":"pending","replayed":false}' AS BLOB), 1794855825576);
INSERT INTO idempotency VALUES (28, 'live:acme', 'e00d5072ab72261e52da479e6664ac53642eb04eae4c974952b27c17df54070c', '8dfafe1982944fe319a31b6061fd3a65d7fd3c653372e20754bd1dc76ec3fba3', CAST('{"run_id":"01m7jvww6912smzxsa68w2p82p","status":"pending","replayed":false}' AS BLOB), 1794855825609);
INSERT INTO idempotency VALUES (29, 'live:acme', '94f15e8bc513f6d738a62274fb498753551676143fda617fb8f6cb25a37a35cc', '80f780932b689c0e0cfc6cad6d1082d02c1bb0eda0a22a371397fc8fc9ba1a6e', CAST('{"run_id":"01m7jvww6v94jdv9exzwg928vg","status":"pending","replayed":false}' AS BLOB), 1794855825627);
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
INSERT INTO definitions VALUES ('c7ef7e8c3f6b648be849ccf231390837ab78552ae39676b4c03fe501bcf051ab', CAST('{"edges":[{"id":"e0","sourceNodeId":"read","targetNodeId":"d"},{"id":"e1","sourceNodeId":"d","targetNodeId":"c"}],"id":"sees","metadata":{},"name":"sees","nodes":[{"config":{"maxTokens":50,"prompt":"What is this?"},"id":"read","inputs":{"media":{"type":"variable","variableName":"photo"}},"name":"read","position":{"x":0,"y":0},"typeId":"core.ai.callPrompt"},{"config":{},"id":"d","inputs":{"delayMs":{"type":"static","value":60000}},"name":"d","position":{"x":0,"y":0},"typeId":"core.delay"},{"config":{},"id":"c","inputs":{"photo":{"type":"variable","variableName":"photo"}},"name":"c","position":{"x":0,"y":0},"typeId":"core.identity"}],"settings":{},"triggers":[{"enabled":true,"id":"manual","type":"manual"}],"variables":[{"name":"photo","required":true,"type":"object"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('d6b64959f223a5adaf4139ae0946777d86eca73a21718b19042bdda0b07cb747', CAST('{"description":"A worker: it knows nothing of who sent it.","edges":[{"id":"say-keep","sourceNodeId":"say","targetNodeId":"keep"}],"id":"research","metadata":{},"name":"Finds something out","nodes":[{"config":{"template":"{{variables.topic}} see in the dark"},"id":"say","inputs":{},"name":"Put it into words","position":{"x":200,"y":0},"typeId":"core.template"},{"config":{"name":"found"},"id":"keep","inputs":{"value":{"nodeId":"say","outputKey":"output","type":"connection"}},"name":"Keep it","position":{"x":400,"y":0},"typeId":"core.setVariable"}],"settings":{},"triggers":[{"id":"manual","type":"manual"}],"variables":[{"defaultValue":"owls","name":"topic","type":"string"},{"defaultValue":"","name":"found","type":"string"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('d6e399155a0cfeed0d837a74eb058ebb9b2760805ccafb18bf5c4267b0ac2f65', CAST('{"description":"A model books a table. What it does not know it asks a person, and goes on with the answer.","edges":[{"id":"book-confirm","sourceNodeId":"book","targetNodeId":"confirm"}],"id":"clarify","metadata":{"envelopeKinds":{"vendor.example.booking":{"schema":{"additionalProperties":false,"properties":{"day":{"type":"string"},"people":{"minimum":1,"type":"integer"}},"required":["day","people"],"type":"object"}}}},"name":"A model that asks","nodes":[{"config":{"envelopeType":"vendor.example.booking","systemPrompt":"You book tables. Ask for what you do not know.","userMessage":"{{variables.wish}}"},"envelopeContract":{"accepts":["vendor.example.booking"]},"id":"book","inputs":{},"name":"Book","position":{"x":0,"y":0},"typeId":"core.ai.generateEnvelope"},{"config":{"template":"A table for {{ports.booking.people}}, {{ports.booking.day}}"},"id":"confirm","inputs":{"booking":{"nodeId":"book","outputKey":"payload","type":"connection"}},"name":"Confirm","position":{"x":200,"y":0},"typeId":"core.template"}],"settings":{},"triggers":[{"id":"manual","type":"manual"}],"variables":[{"defaultValue":"A table on Monday, please.","name":"wish","type":"string"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('df9219a1cca3ff383a253b781b9c78879cdbee9f787cace1165ce0dc2f79e4b6', CAST('{"description":"Asks three questions at once. After a day without answers it goes on with its own.","edges":[{"id":"ask-book","sourceNodeId":"ask","targetNodeId":"book"}],"id":"form","metadata":{},"name":"A form","nodes":[{"config":{"defaultAnswers":{"day":"any day","lunch":false,"people":1},"questions":[{"id":"day","question":"When do you come to {{variables.city}}?","schema":{"minLength":3,"type":"string"}},{"id":"people","question":"How many are you?","schema":{"maximum":8,"minimum":1,"type":"integer"}},{"id":"lunch","question":"With lunch?","schema":{"type":"boolean"}}],"timeoutMs":86400000},"id":"ask","inputs":{},"name":"What do you need?","position":{"x":0,"y":0},"typeId":"core.clarificationGate"},{"config":{"template":"A table for {{ports.need.people}} in {{variables.city}}, {{ports.need.day}}"},"id":"book","inputs":{"need":{"nodeId":"ask","outputKey":"answers","type":"connection"}},"name":"Book","position":{"x":200,"y":0},"typeId":"core.template"}],"settings":{},"triggers":[{"id":"manual","type":"manual"}],"variables":[{"defaultValue":"Bern","name":"city","type":"string"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('e667f69a7a9e970bb9291b13ab7a59aa465609b69723478d85f8448f45658e5f', CAST('{"description":"Waits until a shop says that an order is paid, and takes no other order for it.","edges":[{"id":"wait-ship","sourceNodeId":"wait","targetNodeId":"ship"}],"id":"event","metadata":{},"name":"An event from outside","nodes":[{"config":{"data":{"eventType":"shop.order.paid"},"kind":"external-event","timeoutMs":3600000},"id":"wait","inputs":{"correlation":{"expression":"{''orderId'': variables.orderId, ''status'': ''paid''}","type":"expression"}},"name":"Is it paid?","position":{"x":0,"y":0},"typeId":"core.interrupt"},{"config":{"template":"{{ports.paid.orderId}} is shipped, {{ports.paid.amount}} is paid"},"id":"ship","inputs":{"paid":{"nodeId":"wait","outputKey":"output","type":"connection"}},"name":"Ship","position":{"x":200,"y":0},"typeId":"core.template"}],"settings":{},"triggers":[{"id":"manual","type":"manual"}],"variables":[{"name":"orderId","required":true,"type":"string"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('f135f29a3129ebc717f3388f8c37bc9dd7911ea39123eaed282626c4376ac89c', CAST('{"edges":[{"id":"e0","sourceNodeId":"a","targetNodeId":"b"},{"id":"e1","sourceNodeId":"b","targetNodeId":"c"}],"id":"steps","metadata":{},"name":"steps","nodes":[{"config":{},"id":"a","inputs":{},"name":"a","position":{"x":0,"y":0},"typeId":"core.noop"},{"config":{},"id":"b","inputs":{"secret":{"type":"variable","variableName":"secret"},"word":{"type":"variable","variableName":"word"}},"name":"b","position":{"x":0,"y":0},"typeId":"core.identity"},{"config":{},"id":"c","inputs":{"word":{"nodeId":"b","outputKey":"word","type":"connection"}},"name":"c","outputRole":"primary","position":{"x":0,"y":0},"typeId":"core.identity"}],"settings":{},"triggers":[{"enabled":true,"id":"manual","type":"manual"}],"variables":[{"defaultValue":"owl","name":"word","type":"string"},{"defaultValue":"hush","name":"secret","sensitive":true,"type":"string"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('f179ef4592407ef4e57c451d33379660c6deac48eb155f72c5f64417074062ee', CAST('{"description":"Looks at what is there already, and decides who is next.","edges":[{"id":"lead-send","sourceNodeId":"lead","targetNodeId":"send"},{"id":"send-lead","sourceNodeId":"send","targetNodeId":"lead"},{"condition":{"expression":"nodes.lead.outputs.kind == ''terminate''","type":"expression"},"id":"lead-result","sourceNodeId":"lead","targetNodeId":"result"}],"id":"article","metadata":{},"name":"A supervisor with two workers","nodes":[{"agent":{"agentId":"host:editor","name":"The editor"},"config":{"decision":"variables.facts == '''' ? {''kind'': ''next-worker'', ''nextWorkerIds'': [''research'']} : variables.text == '''' ? {''kind'': ''next-worker'', ''nextWorkerIds'': [''write'']} : {''kind'': ''terminate'', ''reason'': ''goal-reached''}"},"id":"lead","inputs":{},"name":"What is missing?","position":{"x":0,"y":0},"typeId":"core.orchestrator.supervisor"},{"config":{"perWorkerInputMappings":{"research":{"topic":"topic"},"write":{"facts":"facts"}},"perWorkerOutputMappings":{"research":{"facts":"found"},"write":{"text":"text"}}},"id":"send","inputs":{},"name":"Let somebody do it","position":{"x":200,"y":0},"typeId":"core.dispatch"},{"config":{"fields":{"decisions":"nodes.lead.outputs.iteration + 1.0","text":"variables.text"}},"id":"result","inputs":{},"name":"Say what came out","outputRole":"primary","position":{"x":200,"y":200},"typeId":"core.transform"}],"settings":{"timeout":60000},"triggers":[{"id":"manual","type":"manual"}],"variables":[{"defaultValue":"owls","name":"topic","type":"string"},{"defaultValue":"","name":"facts","type":"string"},{"defaultValue":"","name":"text","type":"string"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('f37993a1d7c029c4a62769e4d310c0c6b3dccd7a6798d7be9e01f9ea45faed82', CAST('{"description":"A model sums up a letter in one sentence, word by word.","edges":[],"id":"summary","metadata":{},"name":"A summary","nodes":[{"config":{"maxTokens":100,"prompt":"The letter: {{variables.letter}}","systemPrompt":"You sum up letters in one sentence."},"id":"sum","inputs":{},"name":"Sum up","position":{"x":0,"y":0},"typeId":"core.ai.callPrompt"}],"settings":{},"triggers":[{"id":"manual","type":"manual"}],"variables":[{"defaultValue":"The lamp came on Monday. It does not work.","name":"letter","type":"string"}],"version":"1.0"}' AS BLOB));
INSERT INTO deleted_runs VALUES (12, 'live:acme', '01m7jvwvr4kk6bzsd9qmfb3gsj', 1794855826051, 1);
INSERT INTO annotations VALUES (1, 11, '10c2ac89ba92a95765951643', CAST('{"annotationId":"10c2ac89ba92a95765951643","target":{"runId":"01m7jvwvqr7p27ew05zfm8t8qq"},"signal":{"kind":"rating","rating":4},"actor":{"principalRef":"key_17eb38966672b3f4"},"createdAt":"2026-11-16T19:03:46.027Z","note":"ok"}' AS BLOB));
INSERT INTO open_interrupts VALUES (8, 'ask.1', 'live:acme', '01m7jvwvp58epy7senq4jqbr8m', 'asks', 'custom', 'ask', 1794855825095, NULL);
INSERT INTO open_interrupts VALUES (13, 'gate.1', 'live:acme', '01m7jvwvrxxkjrte46h853skcj', 'approval', 'approval', 'gate', 1794855825183, 1795115025183);
INSERT INTO open_interrupts VALUES (16, 'gate.1', 'live:acme', '01m7jvwvtw6vcbzy059b58s0sx', 'quorum', 'approval', 'gate', 1794855825254, NULL);
INSERT INTO open_interrupts VALUES (17, 'wait.1', 'live:acme', '01m7jvwvvqhmv3n6ragxccmwx2', 'event', 'external-event', 'wait', 1794855825275, 1794859425275);
INSERT INTO open_interrupts VALUES (18, 'ask.1', 'live:acme', '01m7jvwvvz7125vyapx2028rcq', 'form', 'clarification', 'ask', 1794855825280, 1794942225280);
INSERT INTO open_interrupts VALUES (19, 't.2', 'live:acme', '01m7jvwvwjjyz03fzwtkysrafq', 'talks', 'conversation.exchange', 't', 1794855825330, NULL);
INSERT INTO open_interrupts VALUES (34, 'gate.1', 'live:acme', '01m7jvww4bkzap8kzt1x8k8vsf', 'approval', 'approval', 'gate', 1794855825568, 1795115025568);
INSERT INTO open_interrupts VALUES (36, 'book.1', 'live:acme', '01m7jvww58sc0d8ywcbg6mjnt8', 'clarify', 'clarification', 'book', 1794855825613, NULL);
INSERT INTO kinship VALUES (21, 20, 'live:acme', '01m7jvwvxh5qxdeq6evn06q7y3', 1, 1);
INSERT INTO kinship VALUES (24, 22, 'live:acme', '01m7jvwvyjsp0zfwf1tgk5v9kj', 1, 1);
INSERT INTO kinship VALUES (25, 23, 'live:acme', '01m7jvww09x6525jqk8yhtgq36', 1, 1);
INSERT INTO kinship VALUES (26, 23, 'live:acme', '01m7jvww09x6525jqk8yhtgq36', 1, 1);
INSERT INTO kinship VALUES (28, 27, 'live:acme', '01m7jvww1msfx0s8xmpc1d0cm3', 1, 1);
INSERT INTO kinship VALUES (30, 23, 'live:acme', '01m7jvww09x6525jqk8yhtgq36', 1, 1);
INSERT INTO kinship VALUES (31, 22, 'live:acme', '01m7jvwvyjsp0zfwf1tgk5v9kj', 1, 1);
INSERT INTO kinship VALUES (32, 29, 'live:acme', '01m7jvww2gz6dnytvhcmn4qxka', 1, 1);
INSERT INTO kinship VALUES (34, 33, 'live:acme', '01m7jvww3hjp903tmpa8ygbf2m', 1, 1);
INSERT INTO assets VALUES (1, 'live:acme', 'c07eee86e3bc55e47141167856ad607a4f94135409031548135cd1116893249f', 'c2512ba6566cb155c54e5f7c090361aa/c0/7e/c07eee86e3bc55e47141167856ad607a4f94135409031548135cd1116893249f-401650e90bd0cafe3e08d283', 404, 'image/png', 1794855824945, 1795460624945, 1);
INSERT INTO asset_refs VALUES (37, 1);
INSERT INTO asset_usage VALUES ('live:acme', 1, 404);
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
CREATE UNIQUE INDEX assets_by_digest ON assets (partition, sha256);
CREATE UNIQUE INDEX assets_by_key ON assets (key);
CREATE INDEX assets_by_age ON assets (partition);
CREATE INDEX assets_by_time ON assets (partition, created_at);
CREATE INDEX assets_loose ON assets (held_until, size) WHERE refs = 0;
CREATE TRIGGER asset_referred AFTER INSERT ON asset_refs BEGIN
  UPDATE assets SET refs = refs + 1 WHERE asset_no = NEW.asset_no;
END;
CREATE TRIGGER asset_released AFTER DELETE ON asset_refs BEGIN
  UPDATE assets SET refs = refs - 1 WHERE asset_no = OLD.asset_no;
END;
CREATE TRIGGER asset_kept AFTER INSERT ON assets BEGIN
  INSERT INTO asset_usage (partition, count, size) VALUES (NEW.partition, 1, NEW.size)
  ON CONFLICT (partition) DO UPDATE SET count = count + 1, size = size + excluded.size;
END;
CREATE TRIGGER asset_dropped AFTER DELETE ON assets BEGIN
  UPDATE asset_usage SET count = count - 1, size = size - OLD.size WHERE partition = OLD.partition;
END;
COMMIT;
