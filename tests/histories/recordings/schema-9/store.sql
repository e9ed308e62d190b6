PRAGMA user_version = 9;
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
INSERT INTO runs VALUES (1, 'live:acme', '01m7jvwv40k1a6paqs95g7cw06', 'steps', NULL, 'completed', 7, 1794855824514, 1794855824514, NULL, 3, NULL, CAST('{"c":{"word":"[REDACTED:c.word]"}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (2, 'live:acme', '01m7jvwv47kqr92rjxk8827pkz', 'steps', NULL, 'completed', 7, 1794855824520, 1794855824520, NULL, 3, NULL, CAST('{"c":{"word":"[REDACTED:c.word]"}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (3, 'live:acme', '01m7jvwv57jdv9b1efpv9j5x95', 'fails', NULL, 'failed', 5, 1794855824554, 1794855824554, NULL, 2, CAST('{"code":"conformance_test_failure","message":"Intentional conformance failure"}' AS BLOB), NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (4, 'live:acme', '01m7jvwv5yxjs0rq3tb8xy349j', 'delays', NULL, 'running', 3, 1794855824578, NULL, 'd', 2, NULL, NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (5, 'live:acme', '01m7jvwv6mhvfz3j0x0v48k8q4', 'delays', NULL, 'cancelled', 6, 1794855824597, 1794855825410, NULL, 2, NULL, NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (6, 'live:acme', '01m7jvwv6xfq90qxqsftwk0p9a', 'graph', NULL, 'running', 5, 1794855824614, NULL, 'ship', 3, NULL, NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (7, 'live:acme', '01m7jvwv7ydm8x147mg7p5kaz2', 'loop', NULL, 'running', 12, 1794855824642, NULL, 'wait', 6, NULL, NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (8, 'live:acme', '01m7jvwv8ea8dpc5w201g8qee5', 'asks', NULL, 'waiting-input', 3, 1794855824658, NULL, 'ask', 1, NULL, NULL, 1, NULL, 0, 0);
INSERT INTO runs VALUES (9, 'live:acme', '01m7jvwv99ab9mvkygz6j4cqay', 'asks', NULL, 'completed', 10, 1794855824681, 1794855825428, NULL, 2, NULL, CAST('{"keep":{"artifactId":"keep","artifactType":"order","output":{"supplier":"north"}}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (10, 'live:acme', '01m7jvwv9m1c9vezapvxyn1tqj', 'delays', NULL, 'running', 4, 1794855824695, NULL, 'd', 2, NULL, NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (11, 'live:acme', '01m7jvwva54gg5496jb9sq36q7', 'steps', NULL, 'completed', 7, 1794855824714, 1794855824714, NULL, 3, NULL, CAST('{"c":{"word":"[REDACTED:c.word]"}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (13, 'live:acme', '01m7jvwvb4b5b4vb2azb70pdg8', 'approval', NULL, 'waiting-approval', 4, 1794855824744, NULL, 'gate', 1, NULL, NULL, 1, 1794942224744, 0, 0);
INSERT INTO runs VALUES (14, 'live:acme', '01m7jvwvbhgdd6systavcyzfrh', 'approval', NULL, 'completed', 12, 1794855824757, 1794855825490, NULL, 2, NULL, CAST('{"paid":{"output":"a chair is paid: 100"}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (15, 'live:acme', '01m7jvwvc8qdhk6v67gqj98jmx', 'approval', NULL, 'completed', 12, 1794855824778, 1794855825523, NULL, 2, NULL, CAST('{"kept":{"output":"a chair is not paid"}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (16, 'live:acme', '01m7jvwvcm9fq4sj14pms35f3h', 'quorum', NULL, 'waiting-approval', 5, 1794855824791, NULL, 'gate', 1, NULL, NULL, 1, NULL, 0, 0);
INSERT INTO runs VALUES (17, 'live:acme', '01m7jvwvd2qcpty9rhcnxpeq64', 'event', NULL, 'waiting-external', 3, 1794855824803, NULL, 'wait', 1, NULL, NULL, 1, 1794859424803, 0, 0);
INSERT INTO runs VALUES (18, 'live:acme', '01m7jvwvd8jz1nz1bf57rqdrqp', 'form', NULL, 'waiting-input', 4, 1794855824813, NULL, 'ask', 1, NULL, NULL, 1, 1794942224813, 0, 0);
INSERT INTO runs VALUES (19, 'live:acme', '01m7jvwvdvqp350e0r1hqndbde', 'talks', NULL, 'waiting-approval', 6, 1794855824827, NULL, 't', 1, NULL, NULL, 1, NULL, 0, 0);
INSERT INTO runs VALUES (20, 'live:acme', '01m7jvwve5r990h1pknsvmr2hp', 'order', NULL, 'completed', 8, 1794855824838, 1794855824915, NULL, 2, NULL, CAST('{"offer":{"output":"12 chairs for 384"}}' AS BLOB), 0, NULL, 0, 1);
INSERT INTO runs VALUES (21, 'live:acme', '01m7jvwvekjf58vq7ctt573618', 'price', NULL, 'completed', 4, 1794855824866, 1794855824866, NULL, 1, NULL, CAST('{"total":{"output":384}}' AS BLOB), 0, NULL, 1, 0);
INSERT INTO runs VALUES (22, 'live:acme', '01m7jvwvepewxfftdh5mad2zpc', 'article', NULL, 'completed', 33, 1794855824856, 1794855825053, NULL, 6, NULL, CAST('{"result":{"decisions":3,"text":"Did you know that owls see in the dark?"}}' AS BLOB), 0, NULL, 0, 1);
INSERT INTO runs VALUES (23, 'live:acme', '01m7jvwvfg8c8bq8yprqcryk68', 'parcels', NULL, 'running', 6, 1794855824882, NULL, 'pack', 1, NULL, NULL, 1, NULL, 0, 1);
INSERT INTO runs VALUES (24, 'live:acme', '01m7jvwvgfw2v8c2z7a4db7bh9', 'research', NULL, 'completed', 6, 1794855824939, 1794855824939, NULL, 2, NULL, CAST('{"keep":{"output":"owls see in the dark"}}' AS BLOB), 0, NULL, 1, 0);
INSERT INTO runs VALUES (25, 'live:acme', '01m7jvwvgj6jc7caaexwrj2qc7', 'parcel', NULL, 'completed', 8, 1794855824940, 1794855824959, NULL, 3, NULL, CAST('{"stick":{"output":"1: Ada"}}' AS BLOB), 0, NULL, 1, 0);
INSERT INTO runs VALUES (26, 'live:acme', '01m7jvwvgtnp8wrwvfmpsfezfm', 'parcel', NULL, 'running', 1, 1794855824940, NULL, 'fill', 1, NULL, NULL, 0, NULL, 1, 0);
INSERT INTO runs VALUES (27, 'live:acme', '01m7jvwvgk8ntnavpqnte4r44q', 'parent', NULL, 'running', 2, 1794855824927, NULL, 's', 1, NULL, NULL, 1, NULL, 0, 1);
INSERT INTO runs VALUES (28, 'live:acme', '01m7jvwvhgxsgy70m0yqkx9hrn', 'parent', NULL, 'cancelled', 4, 1794855824946, 1794855825854, NULL, 1, NULL, NULL, 0, NULL, 0, 1);
INSERT INTO runs VALUES (29, 'live:acme', '01m7jvwvhch8t4jw8exqnwn556', 'delays', NULL, 'running', 3, 1794855824964, NULL, 'd', 2, NULL, NULL, 0, NULL, 1, 0);
INSERT INTO runs VALUES (30, 'live:acme', '01m7jvwvj3abb2m7sx756zr9e1', 'delays', NULL, 'cancelled', 6, 1794855824984, 1794855825868, NULL, 2, NULL, NULL, 0, NULL, 1, 0);
INSERT INTO runs VALUES (31, 'live:acme', '01m7jvwvjah7xa20vhk1swqn4p', 'parent-asks', NULL, 'waiting-approval', 3, 1794855824974, NULL, 's', 1, NULL, NULL, 1, NULL, 0, 1);
INSERT INTO runs VALUES (32, 'live:acme', '01m7jvwvk0et90rfwdzw2d58hb', 'parcel', NULL, 'completed', 8, 1794855824998, 1794855825020, NULL, 3, NULL, CAST('{"stick":{"output":"3: Eve"}}' AS BLOB), 0, NULL, 1, 0);
INSERT INTO runs VALUES (33, 'live:acme', '01m7jvwvk0vxtf6dwq5ntf0dk0', 'approval', NULL, 'waiting-approval', 4, 1794855825006, NULL, 'gate', 1, NULL, NULL, 1, 1794942225006, 1, 0);
INSERT INTO runs VALUES (34, 'live:acme', '01m7jvwvk2a3d50zgnrd3kxyej', 'summary', NULL, 'completed', 13, 1794855824997, 1794855825021, NULL, 1, NULL, CAST('{"sum":{"content":"A lamp that came on Monday is broken.","finishReason":"stop","model":"scripted-1","text":"A lamp that came on Monday is broken.","usage":{"inputTokens":23,"outputTokens":10,"totalTokens":33}}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (35, 'live:acme', '01m7jvwvk7d0hz2vfngkbzpfbw', 'write', NULL, 'completed', 6, 1794855825019, 1794855825019, NULL, 2, NULL, CAST('{"keep":{"output":"Did you know that owls see in the dark?"}}' AS BLOB), 0, NULL, 1, 0);
INSERT INTO runs VALUES (36, 'live:acme', '01m7jvwvkvj0qfyab1zbvbp673', 'clarify', NULL, 'waiting-input', 7, 1794855825029, NULL, 'book', 1, NULL, NULL, 1, NULL, 0, 0);
INSERT INTO runs VALUES (37, 'live:acme', '01m7jvwvmvp7npjpknn16szdps', 'list', NULL, 'running', 6, 1794855825054, NULL, 'm', 2, NULL, NULL, 0, NULL, 0, 0);
INSERT INTO run_headers VALUES (1, CAST('{"run_id":"01m7jvwv40k1a6paqs95g7cw06","partition":"live:acme","owner":{"tenant":"acme","principal":"key_625311cab9512597"},"workflow_id":"steps","definition":"f135f29a3129ebc717f3388f8c37bc9dd7911ea39123eaed282626c4376ac89c","created_at":1794855824512,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (2, CAST(X'7b2272756e5f6964223a2230316d376a76777634376b71723932726a786b38383237706b7a222c22706172746974696f6e223a226c6976653a61636d65222c226f776e6572223a7b2274656e616e74223a2261636d65222c227072696e636970616c223a226b65795f36323533313163616239353132353937227d2c22776f726b666c6f775f6964223a227374657073222c22646566696e6974696f6e223a2266313335663239613331323965626337313766333338386638633337626339646437393131656133393132336561656432383236323663343337366163383963222c22637265617465645f6174223a313739343835353832343531392c22696e70757473223a7b22776f7264223a22c3a96c616e20e280a820e29882227d2c2274616773223a5b227265636f72646564222c22706c61696e225d7d' AS BLOB));
INSERT INTO run_headers VALUES (3, CAST('{"run_id":"01m7jvwv57jdv9b1efpv9j5x95","partition":"live:acme","owner":{"tenant":"acme","principal":"key_625311cab9512597"},"workflow_id":"fails","definition":"6aa4e5ff4ef8090e3ae2db68089f63c27d179f826e33286017859a5f668d2376","created_at":1794855824551,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (4, CAST('{"run_id":"01m7jvwv5yxjs0rq3tb8xy349j","partition":"live:acme","owner":{"tenant":"acme","principal":"key_625311cab9512597"},"workflow_id":"delays","definition":"2104b2443464777c07d85868e1802c0005d2c4770e716a133ab045c91cb47eeb","created_at":1794855824574,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (5, CAST('{"run_id":"01m7jvwv6mhvfz3j0x0v48k8q4","partition":"live:acme","owner":{"tenant":"acme","principal":"key_625311cab9512597"},"workflow_id":"delays","definition":"2104b2443464777c07d85868e1802c0005d2c4770e716a133ab045c91cb47eeb","created_at":1794855824596,"tags":["recorded","cancel"]}' AS BLOB));
INSERT INTO run_headers VALUES (6, CAST('{"run_id":"01m7jvwv6xfq90qxqsftwk0p9a","partition":"live:acme","owner":{"tenant":"acme","principal":"key_625311cab9512597"},"workflow_id":"graph","definition":"ab91191d59ff8f9734d0ff7341ee3569b6ad9ff6ca96631810906aed3b0f99fd","created_at":1794855824605,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (7, CAST('{"run_id":"01m7jvwv7ydm8x147mg7p5kaz2","partition":"live:acme","owner":{"tenant":"acme","principal":"key_625311cab9512597"},"workflow_id":"loop","definition":"55fa38846b98bac0d4277e240e539eecfaa2e1e9e0c6ff70fd268c29c761cbef","created_at":1794855824638,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (8, CAST('{"run_id":"01m7jvwv8ea8dpc5w201g8qee5","partition":"live:acme","owner":{"tenant":"acme","principal":"key_625311cab9512597"},"workflow_id":"asks","definition":"210403c04c63e6d326493908fce767f01a257d7e9887af7c9784e8f1ef85b1b1","created_at":1794855824654,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (9, CAST('{"run_id":"01m7jvwv99ab9mvkygz6j4cqay","partition":"live:acme","owner":{"tenant":"acme","principal":"key_625311cab9512597"},"workflow_id":"asks","definition":"210403c04c63e6d326493908fce767f01a257d7e9887af7c9784e8f1ef85b1b1","created_at":1794855824681,"tags":["recorded","answer"]}' AS BLOB));
INSERT INTO run_headers VALUES (10, CAST('{"run_id":"01m7jvwv9m1c9vezapvxyn1tqj","partition":"live:acme","owner":{"tenant":"acme","principal":"key_625311cab9512597"},"workflow_id":"delays","definition":"2104b2443464777c07d85868e1802c0005d2c4770e716a133ab045c91cb47eeb","created_at":1794855824692,"tags":["recorded","pause"]}' AS BLOB));
INSERT INTO run_headers VALUES (11, CAST('{"run_id":"01m7jvwva54gg5496jb9sq36q7","partition":"live:acme","owner":{"tenant":"acme","principal":"key_625311cab9512597"},"workflow_id":"steps","definition":"f135f29a3129ebc717f3388f8c37bc9dd7911ea39123eaed282626c4376ac89c","created_at":1794855824709,"tags":["recorded","annotate"]}' AS BLOB));
INSERT INTO run_headers VALUES (13, CAST('{"run_id":"01m7jvwvb4b5b4vb2azb70pdg8","partition":"live:acme","owner":{"tenant":"acme","principal":"key_625311cab9512597"},"workflow_id":"approval","definition":"bacdd63a00f3c50e359a39db4fe7e8ff55b87b9799706626ad70cd5946790078","created_at":1794855824740,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (14, CAST('{"run_id":"01m7jvwvbhgdd6systavcyzfrh","partition":"live:acme","owner":{"tenant":"acme","principal":"key_625311cab9512597"},"workflow_id":"approval","definition":"bacdd63a00f3c50e359a39db4fe7e8ff55b87b9799706626ad70cd5946790078","created_at":1794855824753,"tags":["recorded","accept"]}' AS BLOB));
INSERT INTO run_headers VALUES (15, CAST('{"run_id":"01m7jvwvc8qdhk6v67gqj98jmx","partition":"live:acme","owner":{"tenant":"acme","principal":"key_625311cab9512597"},"workflow_id":"approval","definition":"bacdd63a00f3c50e359a39db4fe7e8ff55b87b9799706626ad70cd5946790078","created_at":1794855824776,"tags":["recorded","reject"]}' AS BLOB));
INSERT INTO run_headers VALUES (16, CAST('{"run_id":"01m7jvwvcm9fq4sj14pms35f3h","partition":"live:acme","owner":{"tenant":"acme","principal":"key_625311cab9512597"},"workflow_id":"quorum","definition":"66389366a5ab12a4055a83795db1e08c233a4a707cd2a41c85c2113722be98c8","created_at":1794855824788,"tags":["recorded","vote"]}' AS BLOB));
INSERT INTO run_headers VALUES (17, CAST('{"run_id":"01m7jvwvd2qcpty9rhcnxpeq64","partition":"live:acme","owner":{"tenant":"acme","principal":"key_625311cab9512597"},"workflow_id":"event","definition":"e667f69a7a9e970bb9291b13ab7a59aa465609b69723478d85f8448f45658e5f","created_at":1794855824802,"inputs":{"orderId":"o-1"},"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (18, CAST('{"run_id":"01m7jvwvd8jz1nz1bf57rqdrqp","partition":"live:acme","owner":{"tenant":"acme","principal":"key_625311cab9512597"},"workflow_id":"form","definition":"df9219a1cca3ff383a253b781b9c78879cdbee9f787cace1165ce0dc2f79e4b6","created_at":1794855824808,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (19, CAST('{"run_id":"01m7jvwvdvqp350e0r1hqndbde","partition":"live:acme","owner":{"tenant":"acme","principal":"key_625311cab9512597"},"workflow_id":"talks","definition":"14dbfc7eb701b74aa49048323c0cb93d7ebde6a792f6d4fa618afe9b7d669aa5","created_at":1794855824827,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (20, CAST('{"run_id":"01m7jvwve5r990h1pknsvmr2hp","partition":"live:acme","owner":{"tenant":"acme","principal":"key_625311cab9512597"},"workflow_id":"order","definition":"bd0c929534cdf1f2f9f2f6cf0a0109a5128c6c64d3779ae4a6c85175d16a088c","created_at":1794855824837,"inputs":{"amount":12},"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (21, CAST('{"run_id":"01m7jvwvekjf58vq7ctt573618","partition":"live:acme","owner":{"tenant":"acme","principal":"key_625311cab9512597"},"workflow_id":"price","definition":"26871ffd9de43d63b96b5c830756850535027b04cd61ba9b7963884d42ab7ff3","created_at":1794855824851,"inputs":{"amount":12},"traceparent":"00-8d48088482166a05c7551bdb39b67726-74dc075b907659bc-01","parent":{"run_id":"01m7jvwve5r990h1pknsvmr2hp","node_id":"price","key":"child","cause":"core.subWorkflow","root":"01m7jvwve5r990h1pknsvmr2hp","variables":["total"],"outputs":true}}' AS BLOB));
INSERT INTO run_headers VALUES (22, CAST('{"run_id":"01m7jvwvepewxfftdh5mad2zpc","partition":"live:acme","owner":{"tenant":"acme","principal":"key_625311cab9512597"},"workflow_id":"article","definition":"f179ef4592407ef4e57c451d33379660c6deac48eb155f72c5f64417074062ee","created_at":1794855824854,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (23, CAST('{"run_id":"01m7jvwvfg8c8bq8yprqcryk68","partition":"live:acme","owner":{"tenant":"acme","principal":"key_625311cab9512597"},"workflow_id":"parcels","definition":"a3a75611a91931a4e74ce96d70b02cd815477c45686604b0805e87657b2360ca","created_at":1794855824880,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (24, CAST('{"run_id":"01m7jvwvgfw2v8c2z7a4db7bh9","partition":"live:acme","owner":{"tenant":"acme","principal":"key_625311cab9512597"},"workflow_id":"research","definition":"d6b64959f223a5adaf4139ae0946777d86eca73a21718b19042bdda0b07cb747","created_at":1794855824911,"inputs":{"topic":"owls"},"traceparent":"00-000442fda7f566f893aa1b536aa07b50-d0dbaf3587366804-01","parent":{"run_id":"01m7jvwvepewxfftdh5mad2zpc","node_id":"send","key":"0","cause":"core.dispatch","root":"01m7jvwvepewxfftdh5mad2zpc","variables":["found"]}}' AS BLOB));
INSERT INTO run_headers VALUES (25, CAST('{"run_id":"01m7jvwvgj6jc7caaexwrj2qc7","partition":"live:acme","owner":{"tenant":"acme","principal":"key_625311cab9512597"},"workflow_id":"parcel","definition":"19baf1664cc61854f33a13a0b3d750172c1f6524018272fa0f55f70e7187828b","created_at":1794855824914,"inputs":{"name":"Ada","number":1},"traceparent":"00-22bc67cacf6886e46b2c4aa44fdba5c7-e1bd7c090d757cee-01","parent":{"run_id":"01m7jvwvfg8c8bq8yprqcryk68","node_id":"pack","key":"0","cause":"core.subWorkflow","root":"01m7jvwvfg8c8bq8yprqcryk68","variables":["label"]}}' AS BLOB));
INSERT INTO run_headers VALUES (26, CAST('{"run_id":"01m7jvwvgtnp8wrwvfmpsfezfm","partition":"live:acme","owner":{"tenant":"acme","principal":"key_625311cab9512597"},"workflow_id":"parcel","definition":"19baf1664cc61854f33a13a0b3d750172c1f6524018272fa0f55f70e7187828b","created_at":1794855824922,"inputs":{"name":"Bob","number":2},"traceparent":"00-22bc67cacf6886e46b2c4aa44fdba5c7-e1bd7c090d757cee-01","parent":{"run_id":"01m7jvwvfg8c8bq8yprqcryk68","node_id":"pack","key":"1","cause":"core.subWorkflow","root":"01m7jvwvfg8c8bq8yprqcryk68","variables":["label"]}}' AS BLOB));
INSERT INTO run_headers VALUES (27, CAST('{"run_id":"01m7jvwvgk8ntnavpqnte4r44q","partition":"live:acme","owner":{"tenant":"acme","principal":"key_625311cab9512597"},"workflow_id":"parent","definition":"12b16dcc72e3958fef70eff45a8bfec36b843a509542597c4b2f586d0051f185","created_at":1794855824915,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (28, CAST('{"run_id":"01m7jvwvhgxsgy70m0yqkx9hrn","partition":"live:acme","owner":{"tenant":"acme","principal":"key_625311cab9512597"},"workflow_id":"parent","definition":"12b16dcc72e3958fef70eff45a8bfec36b843a509542597c4b2f586d0051f185","created_at":1794855824944,"tags":["recorded","cancel"]}' AS BLOB));
INSERT INTO run_headers VALUES (29, CAST('{"run_id":"01m7jvwvhch8t4jw8exqnwn556","partition":"live:acme","owner":{"tenant":"acme","principal":"key_625311cab9512597"},"workflow_id":"delays","definition":"2104b2443464777c07d85868e1802c0005d2c4770e716a133ab045c91cb47eeb","created_at":1794855824940,"traceparent":"00-53f9804cb94a3d45b89e501fb7d3eb74-0b9d88918938b1ac-01","parent":{"run_id":"01m7jvwvgk8ntnavpqnte4r44q","node_id":"s","key":"child","cause":"core.subWorkflow","root":"01m7jvwvgk8ntnavpqnte4r44q","outputs":true}}' AS BLOB));
INSERT INTO run_headers VALUES (30, CAST('{"run_id":"01m7jvwvj3abb2m7sx756zr9e1","partition":"live:acme","owner":{"tenant":"acme","principal":"key_625311cab9512597"},"workflow_id":"delays","definition":"2104b2443464777c07d85868e1802c0005d2c4770e716a133ab045c91cb47eeb","created_at":1794855824963,"traceparent":"00-66d03c755a8a242e82c27ac55b73b4e6-01e0fe253abb89cb-01","parent":{"run_id":"01m7jvwvhgxsgy70m0yqkx9hrn","node_id":"s","key":"child","cause":"core.subWorkflow","root":"01m7jvwvhgxsgy70m0yqkx9hrn","outputs":true}}' AS BLOB));
INSERT INTO run_headers VALUES (31, CAST('{"run_id":"01m7jvwvjah7xa20vhk1swqn4p","partition":"live:acme","owner":{"tenant":"acme","principal":"key_625311cab9512597"},"workflow_id":"parent-asks","definition":"ab1d14801d1838949bf03d51c0253e5200a8fcd6a7ecfb97d9215e2f1a23b293","created_at":1794855824970,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (32, CAST('{"run_id":"01m7jvwvk0et90rfwdzw2d58hb","partition":"live:acme","owner":{"tenant":"acme","principal":"key_625311cab9512597"},"workflow_id":"parcel","definition":"19baf1664cc61854f33a13a0b3d750172c1f6524018272fa0f55f70e7187828b","created_at":1794855824992,"inputs":{"name":"Eve","number":3},"traceparent":"00-22bc67cacf6886e46b2c4aa44fdba5c7-e1bd7c090d757cee-01","parent":{"run_id":"01m7jvwvfg8c8bq8yprqcryk68","node_id":"pack","key":"2","cause":"core.subWorkflow","root":"01m7jvwvfg8c8bq8yprqcryk68","variables":["label"]}}' AS BLOB));
INSERT INTO run_headers VALUES (33, CAST('{"run_id":"01m7jvwvk0vxtf6dwq5ntf0dk0","partition":"live:acme","owner":{"tenant":"acme","principal":"key_625311cab9512597"},"workflow_id":"approval","definition":"bacdd63a00f3c50e359a39db4fe7e8ff55b87b9799706626ad70cd5946790078","created_at":1794855824992,"traceparent":"00-28f0708e0e3acdd450003720b89c82fe-47341b2fcfe38048-01","parent":{"run_id":"01m7jvwvjah7xa20vhk1swqn4p","node_id":"s","key":"child","cause":"core.subWorkflow","root":"01m7jvwvjah7xa20vhk1swqn4p","outputs":true}}' AS BLOB));
INSERT INTO run_headers VALUES (34, CAST('{"run_id":"01m7jvwvk2a3d50zgnrd3kxyej","partition":"live:acme","owner":{"tenant":"acme","principal":"key_625311cab9512597"},"workflow_id":"summary","definition":"f37993a1d7c029c4a62769e4d310c0c6b3dccd7a6798d7be9e01f9ea45faed82","created_at":1794855824994,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (35, CAST('{"run_id":"01m7jvwvk7d0hz2vfngkbzpfbw","partition":"live:acme","owner":{"tenant":"acme","principal":"key_625311cab9512597"},"workflow_id":"write","definition":"203267bc7c464bace318e2e58c84ee2f39c182751c7b7315632bd0490025c7b8","created_at":1794855824999,"inputs":{"facts":"owls see in the dark"},"traceparent":"00-000442fda7f566f893aa1b536aa07b50-e45d30ffbca80028-01","parent":{"run_id":"01m7jvwvepewxfftdh5mad2zpc","node_id":"send","key":"0","cause":"core.dispatch","root":"01m7jvwvepewxfftdh5mad2zpc","variables":["text"]}}' AS BLOB));
INSERT INTO run_headers VALUES (36, CAST('{"run_id":"01m7jvwvkvj0qfyab1zbvbp673","partition":"live:acme","owner":{"tenant":"acme","principal":"key_625311cab9512597"},"workflow_id":"clarify","definition":"d6e399155a0cfeed0d837a74eb058ebb9b2760805ccafb18bf5c4267b0ac2f65","created_at":1794855825019,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO run_headers VALUES (37, CAST('{"run_id":"01m7jvwvmvp7npjpknn16szdps","partition":"live:acme","owner":{"tenant":"acme","principal":"key_625311cab9512597"},"workflow_id":"list","definition":"1d2a1ee644677f92561014341fc1db3f86972df42f1b3df3ed081fe2a577242d","created_at":1794855825051,"tags":["recorded","plain"]}' AS BLOB));
INSERT INTO events VALUES (67108864, 'dc054d9e22cb15b9d8098a6f', 'run.started', 1794855824514, CAST('{"inputs":{},"owner":{"principal":"key_625311cab9512597","tenant":"acme"},"workflowId":"steps"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108865, '3fcacc6ee0d2a2ccc1713796', 'node.started', 1794855824514, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108866, '1a7786100f710df143c075ba', 'node.completed', 1794855824514, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108867, '2afcc9f44c80e5941ea2ed90', 'node.started', 1794855824514, CAST('{"attempt":1,"nodeId":"b","typeId":"core.identity"}' AS BLOB), 'b', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108868, '86b52b941436daf20f4ee8bd', 'node.completed', 1794855824514, CAST('{"nodeId":"b","outputs":{"secret":"[REDACTED:b.secret]","word":"[REDACTED:b.word]"}}' AS BLOB), 'b', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108869, '1b2eeb9c2f9b8df0d09800ef', 'node.started', 1794855824514, CAST('{"attempt":1,"nodeId":"c","typeId":"core.identity"}' AS BLOB), 'c', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108870, '3251ca67514a4a5c250a98b0', 'node.completed', 1794855824514, CAST('{"nodeId":"c","outputs":{"word":"[REDACTED:c.word]"}}' AS BLOB), 'c', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108871, 'ce01635102acc0b6ef82a528', 'run.completed', 1794855824514, CAST('{"outputs":{"c":{"word":"[REDACTED:c.word]"}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217728, '3e571d7a14a2604d623c155b', 'run.started', 1794855824520, CAST(X'7b22696e70757473223a7b22776f7264223a22c3a96c616e20e280a820e29882227d2c226f776e6572223a7b227072696e636970616c223a226b65795f36323533313163616239353132353937222c2274656e616e74223a2261636d65227d2c22776f726b666c6f774964223a227374657073227d' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217729, 'c7e3f3b52cdfb36ae69da1eb', 'node.started', 1794855824520, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217730, 'ca9a029572190b5f8b441833', 'node.completed', 1794855824520, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217731, '6a7cd99e2578393c339c290f', 'node.started', 1794855824520, CAST('{"attempt":1,"nodeId":"b","typeId":"core.identity"}' AS BLOB), 'b', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217732, 'e258cd97fe455b987d7b1d8d', 'node.completed', 1794855824520, CAST('{"nodeId":"b","outputs":{"secret":"[REDACTED:b.secret]","word":"[REDACTED:b.word]"}}' AS BLOB), 'b', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217733, 'ee3e8844cfecedc93ba44dab', 'node.started', 1794855824520, CAST('{"attempt":1,"nodeId":"c","typeId":"core.identity"}' AS BLOB), 'c', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217734, '014117418de6d5636d3dfc42', 'node.completed', 1794855824520, CAST('{"nodeId":"c","outputs":{"word":"[REDACTED:c.word]"}}' AS BLOB), 'c', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217735, '73ce6c421151c231dd8dfbf6', 'run.completed', 1794855824520, CAST('{"outputs":{"c":{"word":"[REDACTED:c.word]"}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326592, '26c39a5ba035c4fb6b4641ae', 'run.started', 1794855824554, CAST('{"inputs":{},"owner":{"principal":"key_625311cab9512597","tenant":"acme"},"workflowId":"fails"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326593, '7589a26f19901247ed593b04', 'node.started', 1794855824554, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326594, 'abedde1325030b21f2943551', 'node.completed', 1794855824554, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326595, 'd77980f0bf763950fafc3da3', 'node.started', 1794855824554, CAST('{"attempt":1,"nodeId":"b","typeId":"core.fail"}' AS BLOB), 'b', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326596, '394d57abc0ac42a250a512eb', 'node.failed', 1794855824554, CAST('{"error":{"code":"conformance_test_failure","message":"Intentional conformance failure"},"nodeId":"b"}' AS BLOB), 'b', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326597, 'c979a63642ac66619622dcc6', 'run.failed', 1794855824554, CAST('{"error":{"code":"conformance_test_failure","message":"Intentional conformance failure"},"failedNodeId":"b"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435456, 'db2382aa6de2c1c5ae9bb418', 'run.started', 1794855824578, CAST('{"inputs":{},"owner":{"principal":"key_625311cab9512597","tenant":"acme"},"workflowId":"delays"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435457, '7f2cc26272277bdd1e11229b', 'node.started', 1794855824578, CAST('{"attempt":1,"nodeId":"a","typeId":"core.identity"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435458, '8140380d9787e7a63a023988', 'node.completed', 1794855824578, CAST('{"nodeId":"a","outputs":{"secret":"[REDACTED:a.secret]"}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435459, '4cb2404fa21ae3e0606e62ca', 'node.started', 1794855824578, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (335544320, 'ed9a0efc28eb6c4635f181a4', 'run.started', 1794855824597, CAST('{"inputs":{},"owner":{"principal":"key_625311cab9512597","tenant":"acme"},"workflowId":"delays"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (335544321, 'ebd8830828ce78fab9fe0820', 'node.started', 1794855824597, CAST('{"attempt":1,"nodeId":"a","typeId":"core.identity"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (335544322, 'c18d1b5c44d1b62506ab4000', 'node.completed', 1794855824597, CAST('{"nodeId":"a","outputs":{"secret":"[REDACTED:a.secret]"}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (335544323, '1d287e33ce4d93e202b05202', 'node.started', 1794855824597, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (335544324, '67b2cd166f4a9f65585717c5', 'weftwork.run.cancel-requested', 1794855825383, CAST('{"reason":"changed my mind"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (335544325, 'e4a3f7f5f21eb403008304a5', 'node.cancelled', 1794855825410, CAST('{"nodeId":"d"}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (335544326, '00f2f35a64c4c8fbfb8b0513', 'run.cancelled', 1794855825410, CAST('{"reason":"changed my mind"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (402653184, '1d85e45cd8ca1de7e4b159b6', 'run.started', 1794855824614, CAST('{"inputs":{},"owner":{"principal":"key_625311cab9512597","tenant":"acme"},"workflowId":"graph"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (402653185, '4f7f2e379425eba8e78807c6', 'node.started', 1794855824614, CAST('{"attempt":1,"nodeId":"order","typeId":"core.identity"}' AS BLOB), 'order', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (402653186, '7df1f2a9fec64186c270cc10', 'node.completed', 1794855824614, CAST('{"nodeId":"order","outputs":{"price":120}}' AS BLOB), 'order', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (402653187, '2c4325d3e67f95394603146f', 'node.started', 1794855824614, CAST('{"attempt":1,"nodeId":"ship","typeId":"core.delay"}' AS BLOB), 'ship', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (402653188, 'c255276aa2687ab3d3dcbe87', 'node.started', 1794855824614, CAST('{"attempt":1,"nodeId":"tax","typeId":"core.transform"}' AS BLOB), 'tax', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (402653189, '5afc1745523a3ec9eb6cf36c', 'node.completed', 1794855824614, CAST('{"nodeId":"tax","outputs":{"output":30}}' AS BLOB), 'tax', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762048, '19d82960d83bbadc338c5d16', 'run.started', 1794855824642, CAST('{"inputs":{},"owner":{"principal":"key_625311cab9512597","tenant":"acme"},"workflowId":"loop"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762049, '11d55c054eaab19fcbb4fb17', 'node.started', 1794855824642, CAST('{"attempt":1,"nodeId":"head","typeId":"core.loop"}' AS BLOB), 'head', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762050, '6a9abbfac3dcf9ecd933ec1d', 'node.completed', 1794855824642, CAST('{"nodeId":"head","outputs":{"body":0,"iteration":0}}' AS BLOB), 'head', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762051, 'c84bbf8404914f9e9a463ed5', 'node.started', 1794855824642, CAST('{"attempt":1,"nodeId":"wait","typeId":"core.delay"}' AS BLOB), 'wait', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762052, 'b110b72d538f5b3b5330c37c', 'node.completed', 1794855824649, CAST('{"nodeId":"wait","outputs":{}}' AS BLOB), 'wait', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762053, '3420c5261d0e418733388fe0', 'node.started', 1794855824649, CAST('{"attempt":1,"nodeId":"sum","typeId":"core.transform"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762054, '3a5a2950e92af38411f988f6', 'node.completed', 1794855824649, CAST('{"nodeId":"sum","outputs":{"output":1}}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762055, '4dbf8a53eea12dbe1abeaa54', 'node.started', 1794855824649, CAST('{"attempt":1,"nodeId":"keep","typeId":"core.setVariable"}' AS BLOB), 'keep', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762056, 'cf4c7e32247fb64ffb65ccaa', 'variable.changed', 1794855824649, CAST('{"name":"n","next":1,"nodeId":"keep"}' AS BLOB), 'keep', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762057, 'c49bbfd0a25e0863b64cd6d1', 'node.completed', 1794855824649, CAST('{"nodeId":"keep","outputs":{"output":1}}' AS BLOB), 'keep', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762058, '103fbcdc6a0e2d4e26b2670c', 'node.started', 1794855824649, CAST('{"attempt":1,"nodeId":"head","typeId":"core.loop"}' AS BLOB), 'head', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762059, 'ae1b22121ecd53bf1a914fac', 'node.completed', 1794855824649, CAST('{"nodeId":"head","outputs":{"body":1,"iteration":1}}' AS BLOB), 'head', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762060, '06ec5dec47fc04dcd20cf9bf', 'node.started', 1794855824649, CAST('{"attempt":1,"nodeId":"wait","typeId":"core.delay"}' AS BLOB), 'wait', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (536870912, '578f04010aa9ccae93ba3dc0', 'run.started', 1794855824658, CAST('{"inputs":{},"owner":{"principal":"key_625311cab9512597","tenant":"acme"},"workflowId":"asks"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (536870913, '3cab770d0ab41ae98ec0d340', 'node.started', 1794855824658, CAST('{"attempt":1,"nodeId":"ask","typeId":"core.interrupt"}' AS BLOB), 'ask', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (536870914, 'bd643d0b3482df4478fbd349', 'interrupt.requested', 1794855824658, CAST('{"data":{"customKind":"supplier","payload":["north","south"]},"key":"ask","kind":"custom"}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1', NULL);
INSERT INTO events VALUES (536870915, '094d7150d00007df0d4ee6df', 'node.suspended', 1794855824658, CAST('{"interruptId":"ask.1","key":"ask","kind":"custom","nodeId":"ask"}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1', NULL);
INSERT INTO events VALUES (603979776, '9b9b70386505fa3339863668', 'run.started', 1794855824681, CAST('{"inputs":{},"owner":{"principal":"key_625311cab9512597","tenant":"acme"},"workflowId":"asks"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (603979777, 'd602ee7276d5ddf4241d9ea8', 'node.started', 1794855824681, CAST('{"attempt":1,"nodeId":"ask","typeId":"core.interrupt"}' AS BLOB), 'ask', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (603979778, '8f6c2835e4ae61371ec1770d', 'interrupt.requested', 1794855824681, CAST('{"data":{"customKind":"supplier","payload":["north","south"]},"key":"ask","kind":"custom"}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1', NULL);
INSERT INTO events VALUES (603979779, '0f477d489affd8a9e8aeae1a', 'node.suspended', 1794855824681, CAST('{"interruptId":"ask.1","key":"ask","kind":"custom","nodeId":"ask"}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1', NULL);
INSERT INTO events VALUES (603979780, 'c87758bf55f64e3a9d60b5ca', 'interrupt.resolved', 1794855825428, CAST('{"interruptId":"ask.1","kind":"custom","nodeId":"ask","resolvedBy":"key_625311cab9512597","resumeValue":{"supplier":"north"}}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1', NULL);
INSERT INTO events VALUES (603979781, '30389f31237cf578f4bfa37b', 'node.resumed', 1794855825428, CAST('{"interruptId":"ask.1","nodeId":"ask"}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1', NULL);
INSERT INTO events VALUES (603979782, '62ec5b1635ed4954a622fdcb', 'node.completed', 1794855825428, CAST('{"nodeId":"ask","outputs":{"output":{"supplier":"north"}}}' AS BLOB), 'ask', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (603979783, 'a8793d0cdefac414d4bf6db2', 'node.started', 1794855825428, CAST('{"attempt":1,"nodeId":"keep","typeId":"core.artifact.emit"}' AS BLOB), 'keep', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (603979784, 'ad81e210f572c40349c2d630', 'artifact.created', 1794855825428, CAST('{"artifactId":"keep","artifactType":"order","data":{"supplier":"north"},"nodeId":"keep","version":"1"}' AS BLOB), 'keep', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (603979785, 'ecb6292df41b0e07e76899a0', 'node.completed', 1794855825428, CAST('{"nodeId":"keep","outputs":{"artifactId":"keep","artifactType":"order","output":{"supplier":"north"}}}' AS BLOB), 'keep', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (603979786, '5bd99e2092ce693d731b68ed', 'run.completed', 1794855825428, CAST('{"outputs":{"keep":{"artifactId":"keep","artifactType":"order","output":{"supplier":"north"}}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (671088640, 'bc847627a9af00b97c5221f5', 'run.started', 1794855824695, CAST('{"inputs":{},"owner":{"principal":"key_625311cab9512597","tenant":"acme"},"workflowId":"delays"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (671088641, 'd4699e6ffe1635fb42e443d7', 'node.started', 1794855824695, CAST('{"attempt":1,"nodeId":"a","typeId":"core.identity"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (671088642, '1ed109837d48cea9f642e78d', 'node.completed', 1794855824695, CAST('{"nodeId":"a","outputs":{"secret":"[REDACTED:a.secret]"}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (671088643, '1386100518b7c8beb6dfe459', 'node.started', 1794855824695, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (671088644, '37e593ad4fa82be120a0a0ab', 'weftwork.run.pause-requested', 1794855825452, CAST('{"drainPolicy":"drain-current-node"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (738197504, 'aa2cae59d7c2c13389b59d7c', 'run.started', 1794855824714, CAST('{"inputs":{},"owner":{"principal":"key_625311cab9512597","tenant":"acme"},"workflowId":"steps"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (738197505, '42ea5569f3ae3a5df1487174', 'node.started', 1794855824714, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (738197506, 'f2910aba556ef9b8bd463675', 'node.completed', 1794855824714, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (738197507, '0c6d5fddbbd7d474443359a7', 'node.started', 1794855824714, CAST('{"attempt":1,"nodeId":"b","typeId":"core.identity"}' AS BLOB), 'b', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (738197508, '62ead3b2d6e2e985997c91c4', 'node.completed', 1794855824714, CAST('{"nodeId":"b","outputs":{"secret":"[REDACTED:b.secret]","word":"[REDACTED:b.word]"}}' AS BLOB), 'b', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (738197509, 'ab0936b83a22a977a8fb6a9c', 'node.started', 1794855824714, CAST('{"attempt":1,"nodeId":"c","typeId":"core.identity"}' AS BLOB), 'c', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (738197510, '342a22ab3481bd6b8fd127b7', 'node.completed', 1794855824714, CAST('{"nodeId":"c","outputs":{"word":"[REDACTED:c.word]"}}' AS BLOB), 'c', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (738197511, 'd53832086ae9569c6043ae8a', 'run.completed', 1794855824714, CAST('{"outputs":{"c":{"word":"[REDACTED:c.word]"}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (872415232, 'bc54074d3f7277a410237302', 'run.started', 1794855824744, CAST('{"inputs":{},"owner":{"principal":"key_625311cab9512597","tenant":"acme"},"workflowId":"approval"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (872415233, '5410759ee86d4297b60bc475', 'node.started', 1794855824744, CAST('{"attempt":1,"nodeId":"gate","typeId":"core.approvalGate"}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (872415234, 'cf2cd5b660e8047f4f9f77c6', 'interrupt.requested', 1794855824744, CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","description":"Asked once; a reminder follows after a day.","title":"Pay 100 for a chair?"},"key":"gate","kind":"approval","timeoutMs":259200000}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (872415235, '29ecb003dbc1a424a7155b79', 'approval.requested', 1794855824744, CAST('{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","interruptId":"gate.1","nodeId":"gate","title":"Pay 100 for a chair?"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (872415236, '670bf578bc8f452bd2f601bb', 'node.suspended', 1794855824744, CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","remindAfterMs":[86400000]}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (939524096, '66d4f5bbe9f1ddaadb3c474e', 'run.started', 1794855824757, CAST('{"inputs":{},"owner":{"principal":"key_625311cab9512597","tenant":"acme"},"workflowId":"approval"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (939524097, '1474211dd969a4e451c604f1', 'node.started', 1794855824757, CAST('{"attempt":1,"nodeId":"gate","typeId":"core.approvalGate"}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (939524098, '2ab51aa20cbf980e6ca95ae4', 'interrupt.requested', 1794855824757, CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","description":"Asked once; a reminder follows after a day.","title":"Pay 100 for a chair?"},"key":"gate","kind":"approval","timeoutMs":259200000}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (939524099, 'a1c8e2fe944f31859575c244', 'approval.requested', 1794855824757, CAST('{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","interruptId":"gate.1","nodeId":"gate","title":"Pay 100 for a chair?"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (939524100, 'b384261b7776ce8f4b5fb810', 'node.suspended', 1794855824757, CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","remindAfterMs":[86400000]}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (939524101, 'c063be877d9e069ebe0bcaff', 'interrupt.resolved', 1794855825490, CAST('{"interruptId":"gate.1","kind":"approval","nodeId":"gate","outcome":"accepted","resolvedBy":"key_625311cab9512597","resumeValue":{"action":"accept","decidedBy":"key_625311cab9512597"}}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (939524102, '33828207923ca85fe20e26be', 'approval.received', 1794855825490, CAST('{"action":"accept","decidedBy":"key_625311cab9512597","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (939524103, '9da47ef336b8817ee5c43773', 'node.resumed', 1794855825490, CAST('{"interruptId":"gate.1","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (939524104, 'ad58cd46a1510914462907ab', 'node.completed', 1794855825490, CAST('{"nodeId":"gate","outputs":{"action":"accept","approved":true,"decidedBy":"key_625311cab9512597"}}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (939524105, '4897421ea3020d4fb881adab', 'node.skipped', 1794855825490, CAST('{"nodeId":"kept","reason":"trigger-rule"}' AS BLOB), 'kept', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (939524106, '211bf801f256b38a1dca0d6b', 'node.started', 1794855825490, CAST('{"attempt":1,"nodeId":"paid","typeId":"core.template"}' AS BLOB), 'paid', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (939524107, '6073ff6de846fe1f688b055f', 'node.completed', 1794855825490, CAST('{"nodeId":"paid","outputs":{"output":"a chair is paid: 100"}}' AS BLOB), 'paid', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (939524108, '7502d1af38067a9dbbb6bbac', 'run.completed', 1794855825490, CAST('{"outputs":{"paid":{"output":"a chair is paid: 100"}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1006632960, 'ecc38815a133d799798558d9', 'run.started', 1794855824778, CAST('{"inputs":{},"owner":{"principal":"key_625311cab9512597","tenant":"acme"},"workflowId":"approval"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1006632961, '6f12fbb5f97e4f38e215c3b2', 'node.started', 1794855824778, CAST('{"attempt":1,"nodeId":"gate","typeId":"core.approvalGate"}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1006632962, 'f9f679218daef6ec080b8b3b', 'interrupt.requested', 1794855824778, CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","description":"Asked once; a reminder follows after a day.","title":"Pay 100 for a chair?"},"key":"gate","kind":"approval","timeoutMs":259200000}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1006632963, '87c53f7364ca5a5e542ed890', 'approval.requested', 1794855824778, CAST('{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","interruptId":"gate.1","nodeId":"gate","title":"Pay 100 for a chair?"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1006632964, '4d179a6ec193714299414670', 'node.suspended', 1794855824778, CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","remindAfterMs":[86400000]}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1006632965, '91e5933f7c1971782acfaa34', 'interrupt.resolved', 1794855825523, CAST('{"interruptId":"gate.1","kind":"approval","nodeId":"gate","outcome":"rejected","resolvedBy":"key_625311cab9512597","resumeValue":{"action":"reject","decidedBy":"key_625311cab9512597"}}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1006632966, 'adbd3f109ce05414265d751a', 'approval.received', 1794855825523, CAST('{"action":"reject","decidedBy":"key_625311cab9512597","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1006632967, '98550f6a9b0df9e478f4e553', 'node.resumed', 1794855825523, CAST('{"interruptId":"gate.1","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1006632968, 'a545d3d2f6b23e0ee81fcc1d', 'node.failed', 1794855825523, CAST('{"error":{"code":"interrupt_rejected","details":{"decidedBy":"key_625311cab9512597","reason":"rejected"},"message":"The approval was refused."},"nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1006632969, '420f5c26f5a7164a18d84d23', 'node.skipped', 1794855825523, CAST('{"nodeId":"paid","reason":"trigger-rule"}' AS BLOB), 'paid', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1006632970, '480dd6581fc6cb84b80dbd7a', 'node.started', 1794855825523, CAST('{"attempt":1,"nodeId":"kept","typeId":"core.template"}' AS BLOB), 'kept', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1006632971, '32ab13c4dd1021484ea6f93f', 'node.completed', 1794855825523, CAST('{"nodeId":"kept","outputs":{"output":"a chair is not paid"}}' AS BLOB), 'kept', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1006632972, '5eb89a745bbcd73cbb280c37', 'run.completed', 1794855825523, CAST('{"outputs":{"kept":{"output":"a chair is not paid"}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1073741824, '0ba721191756034756fbb20b', 'run.started', 1794855824791, CAST('{"inputs":{},"owner":{"principal":"key_625311cab9512597","tenant":"acme"},"workflowId":"quorum"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1073741825, '1b8af93a04d69307d14fd389', 'node.started', 1794855824791, CAST('{"attempt":1,"nodeId":"gate","typeId":"core.approvalGate"}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1073741826, 'bf931098aab24089ae8f205a', 'interrupt.requested', 1794855824791, CAST('{"data":{"actions":["accept","reject"],"approversList":[],"artifactId":"gate","artifactType":"approval","requiredApprovals":2,"title":"Release?"},"key":"gate","kind":"approval"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1073741827, '6cbbed909838c3e48b687147', 'approval.requested', 1794855824791, CAST('{"actions":["accept","reject"],"approversList":[],"artifactId":"gate","artifactType":"approval","interruptId":"gate.1","nodeId":"gate","requiredApprovals":2,"title":"Release?"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1073741828, '511c0869bd3916de22a18748', 'node.suspended', 1794855824791, CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1073741829, '32d2f171d9d8d22528fe4571', 'approval.granted', 1794855825541, CAST('{"gateId":"gate","principal":"key_625311cab9512597","quorumProgress":{"granted":1,"required":2}}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1140850688, 'ebdb976780d4fe3d02891fc2', 'run.started', 1794855824803, CAST('{"inputs":{"orderId":"o-1"},"owner":{"principal":"key_625311cab9512597","tenant":"acme"},"workflowId":"event"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1140850689, '45341fae42eeeda4f05d9076', 'node.started', 1794855824803, CAST('{"attempt":1,"nodeId":"wait","typeId":"core.interrupt"}' AS BLOB), 'wait', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1140850690, '17578a2a3e05826bd165672f', 'interrupt.requested', 1794855824803, CAST('{"data":{"correlation":{"orderId":"o-1","status":"paid"},"eventType":"shop.order.paid"},"key":"wait","kind":"external-event","timeoutMs":3600000}' AS BLOB), 'wait', NULL, 1, 1, 'wait.1', NULL);
INSERT INTO events VALUES (1140850691, 'c9e9062a6e17d28b983a79ed', 'node.suspended', 1794855824803, CAST('{"interruptId":"wait.1","key":"wait","kind":"external-event","nodeId":"wait"}' AS BLOB), 'wait', NULL, 1, 1, 'wait.1', NULL);
INSERT INTO events VALUES (1207959552, '461222675ccc0be4ddf81744', 'run.started', 1794855824813, CAST('{"inputs":{},"owner":{"principal":"key_625311cab9512597","tenant":"acme"},"workflowId":"form"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1207959553, '668f3b79e1a4a1118f758758', 'node.started', 1794855824813, CAST('{"attempt":1,"nodeId":"ask","typeId":"core.clarificationGate"}' AS BLOB), 'ask', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1207959554, 'ed1e3f140a99e009f0f70d18', 'interrupt.requested', 1794855824813, CAST('{"data":{"questions":[{"id":"day","question":"When do you come to Bern?","schema":{"minLength":3,"type":"string"}},{"id":"people","question":"How many are you?","schema":{"maximum":8,"minimum":1,"type":"integer"}},{"id":"lunch","question":"With lunch?","schema":{"type":"boolean"}}]},"key":"ask","kind":"clarification","timeoutMs":86400000}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1', NULL);
INSERT INTO events VALUES (1207959555, '0f57743f74538586af0c1b99', 'clarification.requested', 1794855824813, CAST('{"interruptId":"ask.1","nodeId":"ask","questions":[{"id":"day","question":"When do you come to Bern?","schema":{"minLength":3,"type":"string"}},{"id":"people","question":"How many are you?","schema":{"maximum":8,"minimum":1,"type":"integer"}},{"id":"lunch","question":"With lunch?","schema":{"type":"boolean"}}]}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1', NULL);
INSERT INTO events VALUES (1207959556, '3ecfd204c326ce99ebacc83f', 'node.suspended', 1794855824813, CAST('{"interruptId":"ask.1","key":"ask","kind":"clarification","nodeId":"ask"}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1', NULL);
INSERT INTO events VALUES (1275068416, '5d86548028b47f727d27829a', 'run.started', 1794855824827, CAST('{"inputs":{},"owner":{"principal":"key_625311cab9512597","tenant":"acme"},"workflowId":"talks"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1275068417, '9f432835c1751c32cdc66eac', 'node.started', 1794855824827, CAST('{"attempt":1,"nodeId":"t","typeId":"core.conversationGate"}' AS BLOB), 't', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1275068418, '9f34a2686f1776df1a6d23ef', 'interrupt.requested', 1794855824835, CAST('{"data":{"conversationId":"01m7jvwvdvqp350e0r1hqndbde:t:0","title":"Conversation"},"key":"t:start","kind":"conversation.start"}' AS BLOB), 't', NULL, 1, 1, 't.1', NULL);
INSERT INTO events VALUES (1275068419, 'c57248d61740f42f988e2d79', 'conversation.opened', 1794855824835, CAST('{"capabilities":["multi-turn"],"conversationId":"01m7jvwvdvqp350e0r1hqndbde:t:0","initialTurn":{"content":"Conversation","from":"t","messageId":"t.0.0","role":"system","ts":1794855824835,"turnIndex":0}}' AS BLOB), 't', NULL, 1, 1, 't.1', NULL);
INSERT INTO events VALUES (1275068420, 'ee6fee7362b149f5b0b18346', 'interrupt.resolved', 1794855824835, CAST('{"interruptId":"t.1","kind":"conversation.start","nodeId":"t","resumeValue":null}' AS BLOB), 't', NULL, 1, 1, 't.1', NULL);
INSERT INTO events VALUES (1275068421, 'afadc7fd7853aebd3f113ac4', 'interrupt.requested', 1794855824845, CAST('{"data":{"conversationId":"01m7jvwvdvqp350e0r1hqndbde:t:0","prompt":"Please answer.","turnIndex":1},"key":"t:1","kind":"conversation.exchange"}' AS BLOB), 't', NULL, 1, 1, 't.2', NULL);
INSERT INTO events VALUES (1275068422, '3b31227693d9ff2e2b1a01e1', 'node.suspended', 1794855824845, CAST('{"interruptId":"t.2","key":"t:1","kind":"conversation.exchange","nodeId":"t","reason":"conversation-input"}' AS BLOB), 't', NULL, 1, 1, 't.2', NULL);
INSERT INTO events VALUES (1342177280, 'cabf36a3abdbf062b1481983', 'run.started', 1794855824838, CAST('{"inputs":{"amount":12},"owner":{"principal":"key_625311cab9512597","tenant":"acme"},"workflowId":"order"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1342177281, '9b40fcd983451ae4b5b1cc90', 'node.started', 1794855824838, CAST('{"attempt":1,"nodeId":"price","typeId":"core.subWorkflow"}' AS BLOB), 'price', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1342177282, '92328aba62132812aaec435c', 'weftwork.child.started', 1794855824854, CAST('{"awaited":true,"childRunId":"01m7jvwvekjf58vq7ctt573618","key":"child","workflowId":"price"}' AS BLOB), 'price', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1342177283, 'dd4e0cda1d4a4864deff7266', 'weftwork.child.ended', 1794855824900, CAST('{"childRunId":"01m7jvwvekjf58vq7ctt573618","key":"child","outputs":{"total":{"output":384}},"status":"completed","variables":{"total":384}}' AS BLOB), 'price', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1342177284, '971fbf044485131c517685d9', 'variable.changed', 1794855824915, CAST('{"name":"total","next":384,"nodeId":"price"}' AS BLOB), 'price', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1342177285, '4b85a8fa04e975e02b8964d9', 'node.completed', 1794855824915, CAST('{"nodeId":"price","outputs":{"childRunId":"01m7jvwvekjf58vq7ctt573618","childStatus":"completed","outputs":{"total":{"output":384}}}}' AS BLOB), 'price', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1342177286, '7c60bb61ce8deba3bcaefeb0', 'node.started', 1794855824915, CAST('{"attempt":1,"nodeId":"offer","typeId":"core.template"}' AS BLOB), 'offer', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1342177287, '65e1ae5ebd71bcb4770fb5a4', 'node.completed', 1794855824915, CAST('{"nodeId":"offer","outputs":{"output":"12 chairs for 384"}}' AS BLOB), 'offer', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1342177288, 'ae616833d847030fc178ab80', 'run.completed', 1794855824915, CAST('{"outputs":{"offer":{"output":"12 chairs for 384"}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1409286144, 'd121c630c14886cb277bbd4d', 'run.started', 1794855824866, CAST('{"inputs":{"amount":12},"owner":{"principal":"key_625311cab9512597","tenant":"acme"},"workflowId":"price"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1409286145, '8a1b16281fd5b82ea74c6813', 'node.started', 1794855824866, CAST('{"attempt":1,"nodeId":"total","typeId":"core.setVariable"}' AS BLOB), 'total', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1409286146, 'c5c7523d2dce719043405c7d', 'variable.changed', 1794855824866, CAST('{"name":"total","next":384,"nodeId":"total"}' AS BLOB), 'total', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1409286147, '80ca1c4f09e9e7a660084ecc', 'node.completed', 1794855824866, CAST('{"nodeId":"total","outputs":{"output":384}}' AS BLOB), 'total', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1409286148, 'dee373edf2c88259a50edc40', 'run.completed', 1794855824866, CAST('{"outputs":{"total":{"output":384}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395008, '9e98a3a725c59399699b17dc', 'run.started', 1794855824856, CAST('{"inputs":{},"owner":{"principal":"key_625311cab9512597","tenant":"acme"},"workflowId":"article"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395009, '4399ebc24f73da4445e67415', 'node.started', 1794855824856, CAST('{"attempt":1,"nodeId":"lead","typeId":"core.orchestrator.supervisor"}' AS BLOB), 'lead', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395010, '256e0693f174294d390dd649', 'runOrchestrator.decided', 1794855824880, CAST('{"agentId":"host:editor","decision":{"kind":"next-worker","nextWorkerIds":["research"]}}' AS BLOB), 'lead', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395011, '132f64bf6dab3293ed1fa3ba', 'node.completed', 1794855824880, CAST('{"nodeId":"lead","outputs":{"decision":{"kind":"next-worker","nextWorkerIds":["research"]},"iteration":0,"kind":"next-worker"}}' AS BLOB), 'lead', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395012, 'b3c7e1b517220835f151caf3', 'node.started', 1794855824880, CAST('{"attempt":1,"nodeId":"send","typeId":"core.dispatch"}' AS BLOB), 'send', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395013, 'c80782d21a6f30c7b6fd0794', 'core.workflowChain.event', 1794855824926, CAST('{"parentRunId":"01m7jvwvepewxfftdh5mad2zpc","phase":"dispatch.began","workerId":"research"}' AS BLOB), 'send', '256e0693f174294d390dd649', 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395014, '3a91279b359ce22ecd3b7302', 'weftwork.child.started', 1794855824926, CAST('{"awaited":true,"childRunId":"01m7jvwvgfw2v8c2z7a4db7bh9","key":"0","workflowId":"research"}' AS BLOB), 'send', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395015, '10815f22f115957565659ea4', 'node.dispatched', 1794855824926, CAST('{"childRunId":"01m7jvwvgfw2v8c2z7a4db7bh9","childWorkflowId":"research"}' AS BLOB), 'send', '256e0693f174294d390dd649', 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395016, 'ca995f63dea68a3cb960e957', 'core.workflowChain.event', 1794855824926, CAST('{"childRunId":"01m7jvwvgfw2v8c2z7a4db7bh9","parentRunId":"01m7jvwvepewxfftdh5mad2zpc","phase":"dispatch.succeeded","workerId":"research"}' AS BLOB), 'send', '256e0693f174294d390dd649', 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395017, '747ec9081e44d2ca8ea73b07', 'weftwork.child.ended', 1794855824960, CAST('{"childRunId":"01m7jvwvgfw2v8c2z7a4db7bh9","key":"0","status":"completed","variables":{"found":"owls see in the dark"}}' AS BLOB), 'send', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395018, 'a5b2ae5b04d4b1102888b07b', 'core.workflowChain.event', 1794855824973, CAST('{"childRunId":"01m7jvwvgfw2v8c2z7a4db7bh9","parentRunId":"01m7jvwvepewxfftdh5mad2zpc","phase":"child.completed","workerId":"research"}' AS BLOB), 'send', '256e0693f174294d390dd649', 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395019, 'b4af7fb6bbe013b8b386811e', 'variable.changed', 1794855824973, CAST('{"name":"facts","next":"owls see in the dark","nodeId":"send"}' AS BLOB), 'send', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395020, '31e147f7c0d51e04240e89c1', 'core.workflowChain.event', 1794855824973, CAST('{"childRunId":"01m7jvwvgfw2v8c2z7a4db7bh9","harvestedKeys":["facts"],"parentRunId":"01m7jvwvepewxfftdh5mad2zpc","phase":"output.harvested","workerId":"research"}' AS BLOB), 'send', '256e0693f174294d390dd649', 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395021, 'b4075df3220a61002e986ec7', 'node.completed', 1794855824973, CAST('{"nodeId":"send","outputs":{"childRunId":"01m7jvwvgfw2v8c2z7a4db7bh9","childStatus":"completed","kind":"next-worker","results":[{"childRunId":"01m7jvwvgfw2v8c2z7a4db7bh9","childStatus":"completed","workerId":"research"}]}}' AS BLOB), 'send', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395022, 'c31287ebbe945dc24be3498c', 'node.started', 1794855824973, CAST('{"attempt":1,"nodeId":"lead","typeId":"core.orchestrator.supervisor"}' AS BLOB), 'lead', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395023, 'd4d338d35a0f55877a8d364b', 'runOrchestrator.decided', 1794855824993, CAST('{"agentId":"host:editor","decision":{"kind":"next-worker","nextWorkerIds":["write"]}}' AS BLOB), 'lead', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395024, '549eaaf0df410de5dd662299', 'node.completed', 1794855824993, CAST('{"nodeId":"lead","outputs":{"decision":{"kind":"next-worker","nextWorkerIds":["write"]},"iteration":1,"kind":"next-worker"}}' AS BLOB), 'lead', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395025, '65f38d42b94049e565af2da9', 'node.started', 1794855824993, CAST('{"attempt":1,"nodeId":"send","typeId":"core.dispatch"}' AS BLOB), 'send', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395026, '65c0441301509d47093ab9bf', 'core.workflowChain.event', 1794855824999, CAST('{"parentRunId":"01m7jvwvepewxfftdh5mad2zpc","phase":"dispatch.began","workerId":"write"}' AS BLOB), 'send', 'd4d338d35a0f55877a8d364b', 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395027, '31a7a8ab97ccab0c1eb6ff5f', 'weftwork.child.started', 1794855824999, CAST('{"awaited":true,"childRunId":"01m7jvwvk7d0hz2vfngkbzpfbw","key":"0","workflowId":"write"}' AS BLOB), 'send', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395028, '96fd22d5a962867985054d82', 'node.dispatched', 1794855824999, CAST('{"childRunId":"01m7jvwvk7d0hz2vfngkbzpfbw","childWorkflowId":"write"}' AS BLOB), 'send', 'd4d338d35a0f55877a8d364b', 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395029, '50654ebeb285c62b8ea507db', 'core.workflowChain.event', 1794855824999, CAST('{"childRunId":"01m7jvwvk7d0hz2vfngkbzpfbw","parentRunId":"01m7jvwvepewxfftdh5mad2zpc","phase":"dispatch.succeeded","workerId":"write"}' AS BLOB), 'send', 'd4d338d35a0f55877a8d364b', 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395030, '53e90d18947de211d5758ab9', 'weftwork.child.ended', 1794855825026, CAST('{"childRunId":"01m7jvwvk7d0hz2vfngkbzpfbw","key":"0","status":"completed","variables":{"text":"Did you know that owls see in the dark?"}}' AS BLOB), 'send', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395031, 'e16d072e488c467a24e4088c', 'core.workflowChain.event', 1794855825033, CAST('{"childRunId":"01m7jvwvk7d0hz2vfngkbzpfbw","parentRunId":"01m7jvwvepewxfftdh5mad2zpc","phase":"child.completed","workerId":"write"}' AS BLOB), 'send', 'd4d338d35a0f55877a8d364b', 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395032, '756347e24651a2b074b9ee5a', 'variable.changed', 1794855825033, CAST('{"name":"text","next":"Did you know that owls see in the dark?","nodeId":"send"}' AS BLOB), 'send', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395033, 'c5297ea23ff1f20c72be1ca3', 'core.workflowChain.event', 1794855825033, CAST('{"childRunId":"01m7jvwvk7d0hz2vfngkbzpfbw","harvestedKeys":["text"],"parentRunId":"01m7jvwvepewxfftdh5mad2zpc","phase":"output.harvested","workerId":"write"}' AS BLOB), 'send', 'd4d338d35a0f55877a8d364b', 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395034, '8e9f08b3f3240eaa51041a54', 'node.completed', 1794855825033, CAST('{"nodeId":"send","outputs":{"childRunId":"01m7jvwvk7d0hz2vfngkbzpfbw","childStatus":"completed","kind":"next-worker","results":[{"childRunId":"01m7jvwvk7d0hz2vfngkbzpfbw","childStatus":"completed","workerId":"write"}]}}' AS BLOB), 'send', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395035, 'daf7a911298d3a83a73fd168', 'node.started', 1794855825033, CAST('{"attempt":1,"nodeId":"lead","typeId":"core.orchestrator.supervisor"}' AS BLOB), 'lead', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395036, '2764dd84c26121129a3dca94', 'runOrchestrator.decided', 1794855825053, CAST('{"agentId":"host:editor","decision":{"kind":"terminate","reason":"goal-reached"}}' AS BLOB), 'lead', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395037, 'aada5b69512ff5ad344c1c55', 'node.completed', 1794855825053, CAST('{"nodeId":"lead","outputs":{"decision":{"kind":"terminate","reason":"goal-reached"},"iteration":2,"kind":"terminate"}}' AS BLOB), 'lead', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395038, '308b0f2482a19cd4cf7b389e', 'node.skipped', 1794855825053, CAST('{"nodeId":"send","reason":"trigger-rule"}' AS BLOB), 'send', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395039, 'ebad74b12e4c09b4d0dddcd9', 'node.started', 1794855825053, CAST('{"attempt":1,"nodeId":"result","typeId":"core.transform"}' AS BLOB), 'result', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395040, '954829d3f7ccd4a6407ddcad', 'node.completed', 1794855825053, CAST('{"nodeId":"result","outputs":{"decisions":3,"text":"Did you know that owls see in the dark?"}}' AS BLOB), 'result', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395041, 'cbef0e3d159aa40edc4f18fc', 'run.completed', 1794855825053, CAST('{"outputs":{"result":{"decisions":3,"text":"Did you know that owls see in the dark?"}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1543503872, 'ed023d2cbde09c34020ede21', 'run.started', 1794855824882, CAST('{"inputs":{},"owner":{"principal":"key_625311cab9512597","tenant":"acme"},"workflowId":"parcels"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1543503873, 'fbb4c7a1118e0d3aef0bd09c', 'node.started', 1794855824882, CAST('{"attempt":1,"nodeId":"pack","typeId":"core.flow.map"}' AS BLOB), 'pack', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1543503874, '6ff9e8c3229ce3d1b8bc5c2e', 'weftwork.child.started', 1794855824926, CAST('{"awaited":true,"childRunId":"01m7jvwvgj6jc7caaexwrj2qc7","key":"0","workflowId":"parcel"}' AS BLOB), 'pack', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1543503875, '1c9960faacfa0a8945a30f1c', 'weftwork.child.started', 1794855824926, CAST('{"awaited":true,"childRunId":"01m7jvwvgtnp8wrwvfmpsfezfm","key":"1","workflowId":"parcel"}' AS BLOB), 'pack', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1543503876, '6538d494b1ed5c4b5a7b83c9', 'weftwork.child.ended', 1794855824973, CAST('{"childRunId":"01m7jvwvgj6jc7caaexwrj2qc7","key":"0","status":"completed","variables":{"label":"1: Ada"}}' AS BLOB), 'pack', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1543503877, 'ea6025ae1c5c9b88bb5b1dd4', 'weftwork.child.started', 1794855824993, CAST('{"awaited":true,"childRunId":"01m7jvwvk0et90rfwdzw2d58hb","key":"2","workflowId":"parcel"}' AS BLOB), 'pack', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1543503878, '454b6cc1ced9f7128bba2178', 'weftwork.child.ended', 1794855825026, CAST('{"childRunId":"01m7jvwvk0et90rfwdzw2d58hb","key":"2","status":"completed","variables":{"label":"3: Eve"}}' AS BLOB), 'pack', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1610612736, '2f9c65e4a10711e176439c44', 'run.started', 1794855824939, CAST('{"inputs":{"topic":"owls"},"owner":{"principal":"key_625311cab9512597","tenant":"acme"},"workflowId":"research"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1610612737, '89ca7fae40d16920f689f2f9', 'node.started', 1794855824939, CAST('{"attempt":1,"nodeId":"say","typeId":"core.template"}' AS BLOB), 'say', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1610612738, '512bb991a9a5dae4a53698b0', 'node.completed', 1794855824939, CAST('{"nodeId":"say","outputs":{"output":"owls see in the dark"}}' AS BLOB), 'say', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1610612739, 'bd53c0579bbcc497e125c409', 'node.started', 1794855824939, CAST('{"attempt":1,"nodeId":"keep","typeId":"core.setVariable"}' AS BLOB), 'keep', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1610612740, 'f75e266b3390ddef361c98ec', 'variable.changed', 1794855824939, CAST('{"name":"found","next":"owls see in the dark","nodeId":"keep"}' AS BLOB), 'keep', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1610612741, '3120469d65ea8c7f66ee7ab7', 'node.completed', 1794855824939, CAST('{"nodeId":"keep","outputs":{"output":"owls see in the dark"}}' AS BLOB), 'keep', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1610612742, '5fe8dd4016fa6fa513fa7647', 'run.completed', 1794855824939, CAST('{"outputs":{"keep":{"output":"owls see in the dark"}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1677721600, '80c82b3f79227618d3fc9b9f', 'run.started', 1794855824940, CAST('{"inputs":{"name":"Ada","number":1},"owner":{"principal":"key_625311cab9512597","tenant":"acme"},"workflowId":"parcel"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1677721601, '3b485d1e7c91f2b04d98a71c', 'node.started', 1794855824940, CAST('{"attempt":1,"nodeId":"fill","typeId":"core.delay"}' AS BLOB), 'fill', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1677721602, '41b339b7dc1bb0ddeed95af0', 'node.completed', 1794855824959, CAST('{"nodeId":"fill","outputs":{}}' AS BLOB), 'fill', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1677721603, '1781f1784faa0cb8d1c6a95b', 'node.started', 1794855824959, CAST('{"attempt":1,"nodeId":"write","typeId":"core.template"}' AS BLOB), 'write', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1677721604, 'f3dc73b86d71a99ee12df0f1', 'node.completed', 1794855824959, CAST('{"nodeId":"write","outputs":{"output":"1: Ada"}}' AS BLOB), 'write', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1677721605, 'c3745c7ddda2ee54dabbd1a3', 'node.started', 1794855824959, CAST('{"attempt":1,"nodeId":"stick","typeId":"core.setVariable"}' AS BLOB), 'stick', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1677721606, '64150c52d23b0e3caba06afe', 'variable.changed', 1794855824959, CAST('{"name":"label","next":"1: Ada","nodeId":"stick"}' AS BLOB), 'stick', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1677721607, 'ca90787f0f43005e22d08570', 'node.completed', 1794855824959, CAST('{"nodeId":"stick","outputs":{"output":"1: Ada"}}' AS BLOB), 'stick', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1677721608, 'dfd25ed6fc9c969ed5b505d0', 'run.completed', 1794855824959, CAST('{"outputs":{"stick":{"output":"1: Ada"}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1744830464, '58d2d7fd969d78cdd03221ef', 'run.started', 1794855824940, CAST('{"inputs":{"name":"Bob","number":2},"owner":{"principal":"key_625311cab9512597","tenant":"acme"},"workflowId":"parcel"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1744830465, 'f64c27467591cfd072e8e24c', 'node.started', 1794855824940, CAST('{"attempt":1,"nodeId":"fill","typeId":"core.delay"}' AS BLOB), 'fill', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1811939328, '2aac3730c2910430da3de034', 'run.started', 1794855824927, CAST('{"inputs":{},"owner":{"principal":"key_625311cab9512597","tenant":"acme"},"workflowId":"parent"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1811939329, '7df2ae7f623629acfa493ec5', 'node.started', 1794855824927, CAST('{"attempt":1,"nodeId":"s","typeId":"core.subWorkflow"}' AS BLOB), 's', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1811939330, 'c0dc326114da58658509d702', 'weftwork.child.started', 1794855824946, CAST('{"awaited":true,"childRunId":"01m7jvwvhch8t4jw8exqnwn556","key":"child","workflowId":"delays"}' AS BLOB), 's', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1879048192, '673a849113bdf29b134b8463', 'run.started', 1794855824946, CAST('{"inputs":{},"owner":{"principal":"key_625311cab9512597","tenant":"acme"},"workflowId":"parent"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1879048193, '59ba6e73bf13d65073a3619a', 'node.started', 1794855824946, CAST('{"attempt":1,"nodeId":"s","typeId":"core.subWorkflow"}' AS BLOB), 's', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1879048194, 'c3919e0e3d404ce7188e3b42', 'weftwork.child.started', 1794855824966, CAST('{"awaited":true,"childRunId":"01m7jvwvj3abb2m7sx756zr9e1","key":"child","workflowId":"delays"}' AS BLOB), 's', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1879048195, '67ef66a7dc9879f5055f972c', 'node.cancelled', 1794855825854, CAST('{"nodeId":"s"}' AS BLOB), 's', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1879048196, '39e4646a86215037f89bae7d', 'run.cancelled', 1794855825854, CAST('{"reason":"changed my mind"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1946157056, 'ee63b2ca6d731327de678e33', 'run.started', 1794855824964, CAST('{"inputs":{},"owner":{"principal":"key_625311cab9512597","tenant":"acme"},"workflowId":"delays"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1946157057, 'e898692380957f08b99c0d61', 'node.started', 1794855824964, CAST('{"attempt":1,"nodeId":"a","typeId":"core.identity"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1946157058, '6851b54d5a79101589121bae', 'node.completed', 1794855824964, CAST('{"nodeId":"a","outputs":{"secret":"[REDACTED:a.secret]"}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1946157059, '968492c5c4523b64b2e7120f', 'node.started', 1794855824964, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2013265920, 'e44e414df42e5af4e6c33aad', 'run.started', 1794855824984, CAST('{"inputs":{},"owner":{"principal":"key_625311cab9512597","tenant":"acme"},"workflowId":"delays"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2013265921, 'f1def03cfc627c9406b9c657', 'node.started', 1794855824984, CAST('{"attempt":1,"nodeId":"a","typeId":"core.identity"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2013265922, '6afb88989a5cd9b9ca064766', 'node.completed', 1794855824984, CAST('{"nodeId":"a","outputs":{"secret":"[REDACTED:a.secret]"}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2013265923, '37d1ef13fa17fb677efc87e3', 'node.started', 1794855824984, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2013265924, 'aa8ef63e75e35a1fba1d7e31', 'weftwork.run.cancel-requested', 1794855825862, CAST('{"parentRunId":"01m7jvwvhgxsgy70m0yqkx9hrn","reason":"parent-cancelled"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2013265925, '38e432e885e76d8d13abda15', 'node.cancelled', 1794855825868, CAST('{"nodeId":"d"}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2013265926, '4f946c15a1ae88be6d840940', 'run.cancelled', 1794855825868, CAST('{"parentRunId":"01m7jvwvhgxsgy70m0yqkx9hrn","reason":"parent-cancelled"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2080374784, '68317876bafd7bbd5fc24a39', 'run.started', 1794855824974, CAST('{"inputs":{},"owner":{"principal":"key_625311cab9512597","tenant":"acme"},"workflowId":"parent-asks"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2080374785, '131df29dc148a4a9de4be580', 'node.started', 1794855824974, CAST('{"attempt":1,"nodeId":"s","typeId":"core.subWorkflow"}' AS BLOB), 's', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2080374786, 'b568303aa1c0e6b9bb4ebc9b', 'weftwork.child.started', 1794855824995, CAST('{"awaited":true,"childRunId":"01m7jvwvk0vxtf6dwq5ntf0dk0","key":"child","workflowId":"approval"}' AS BLOB), 's', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2080374787, '0574b36536b1f794a3198cc2', 'weftwork.child.status', 1794855825021, CAST('{"childRunId":"01m7jvwvk0vxtf6dwq5ntf0dk0","key":"child","status":"waiting-approval"}' AS BLOB), 's', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2147483648, 'fd9cdf7db2d9a878a3846bea', 'run.started', 1794855824998, CAST('{"inputs":{"name":"Eve","number":3},"owner":{"principal":"key_625311cab9512597","tenant":"acme"},"workflowId":"parcel"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2147483649, 'b2cd1bdb52e7bcb2493a00b5', 'node.started', 1794855824998, CAST('{"attempt":1,"nodeId":"fill","typeId":"core.delay"}' AS BLOB), 'fill', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2147483650, 'ec4c87e17a1c247b16905e15', 'node.completed', 1794855825020, CAST('{"nodeId":"fill","outputs":{}}' AS BLOB), 'fill', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2147483651, 'e33bbd0d50ffd8a2e0615b9d', 'node.started', 1794855825020, CAST('{"attempt":1,"nodeId":"write","typeId":"core.template"}' AS BLOB), 'write', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2147483652, '0cdc7c435cb74f4e7c541f91', 'node.completed', 1794855825020, CAST('{"nodeId":"write","outputs":{"output":"3: Eve"}}' AS BLOB), 'write', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2147483653, 'fd31652b2809e776feee63f0', 'node.started', 1794855825020, CAST('{"attempt":1,"nodeId":"stick","typeId":"core.setVariable"}' AS BLOB), 'stick', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2147483654, '9976a270b8a435b950674406', 'variable.changed', 1794855825020, CAST('{"name":"label","next":"3: Eve","nodeId":"stick"}' AS BLOB), 'stick', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2147483655, '0e8e52025389e4df7d759d5c', 'node.completed', 1794855825020, CAST('{"nodeId":"stick","outputs":{"output":"3: Eve"}}' AS BLOB), 'stick', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2147483656, '635ed4e72e6da0afcd02e5dc', 'run.completed', 1794855825020, CAST('{"outputs":{"stick":{"output":"3: Eve"}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2214592512, 'a6ebb3993eeba07df9043d38', 'run.started', 1794855825006, CAST('{"inputs":{},"owner":{"principal":"key_625311cab9512597","tenant":"acme"},"workflowId":"approval"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2214592513, '40f44db0e79d1806007b8530', 'node.started', 1794855825006, CAST('{"attempt":1,"nodeId":"gate","typeId":"core.approvalGate"}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2214592514, '2c714fbfdf6edbabb17c5d74', 'interrupt.requested', 1794855825006, CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","description":"Asked once; a reminder follows after a day.","title":"Pay 100 for a chair?"},"key":"gate","kind":"approval","timeoutMs":259200000}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (2214592515, '8fb25034970ad1b0aea5e2ec', 'approval.requested', 1794855825006, CAST('{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","interruptId":"gate.1","nodeId":"gate","title":"Pay 100 for a chair?"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (2214592516, 'b859e361f957f30811217c56', 'node.suspended', 1794855825006, CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","remindAfterMs":[86400000]}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (2281701376, '9c39e5147b4b08387f6f21f3', 'run.started', 1794855824997, CAST('{"inputs":{},"owner":{"principal":"key_625311cab9512597","tenant":"acme"},"workflowId":"summary"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2281701377, '12e2061827dd2959c25419f2', 'node.started', 1794855824997, CAST('{"attempt":1,"nodeId":"sum","typeId":"core.ai.callPrompt"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2281701378, '8c4ea32bd1796a0f62456f0f', 'output.chunk', 1794855825007, CAST('{"chunk":"A","isLast":false,"meta":{"model":"scripted-1","provider":"scripted"},"nodeId":"sum","runId":"01m7jvwvk2a3d50zgnrd3kxyej"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2281701379, '655fb44fd6ca126e82a91d1c', 'output.chunk', 1794855825007, CAST('{"chunk":" lamp","isLast":false,"meta":{"model":"scripted-1","provider":"scripted"},"nodeId":"sum","runId":"01m7jvwvk2a3d50zgnrd3kxyej"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2281701380, '711a5c81683a3f787d6669a2', 'output.chunk', 1794855825007, CAST('{"chunk":" that","isLast":false,"meta":{"model":"scripted-1","provider":"scripted"},"nodeId":"sum","runId":"01m7jvwvk2a3d50zgnrd3kxyej"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2281701381, 'cffcdb43e978efd727cb11cb', 'output.chunk', 1794855825007, CAST('{"chunk":" came","isLast":false,"meta":{"model":"scripted-1","provider":"scripted"},"nodeId":"sum","runId":"01m7jvwvk2a3d50zgnrd3kxyej"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2281701382, '5a6c75d9b6f5abc4596301ec', 'output.chunk', 1794855825007, CAST('{"chunk":" on","isLast":false,"meta":{"model":"scripted-1","provider":"scripted"},"nodeId":"sum","runId":"01m7jvwvk2a3d50zgnrd3kxyej"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2281701383, '9d64038ca69f421f41987347', 'output.chunk', 1794855825007, CAST('{"chunk":" Monday","isLast":false,"meta":{"model":"scripted-1","provider":"scripted"},"nodeId":"sum","runId":"01m7jvwvk2a3d50zgnrd3kxyej"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2281701384, '431402fd653c8ccdfceeae89', 'output.chunk', 1794855825007, CAST('{"chunk":" is","isLast":false,"meta":{"model":"scripted-1","provider":"scripted"},"nodeId":"sum","runId":"01m7jvwvk2a3d50zgnrd3kxyej"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2281701385, 'da8129b97f8d6f125f96340b', 'output.chunk', 1794855825007, CAST('{"chunk":" broken.","isLast":true,"meta":{"finishReason":"stop","model":"scripted-1","provider":"scripted","usage":{"completionTokens":10,"promptTokens":23,"totalTokens":33}},"nodeId":"sum","runId":"01m7jvwvk2a3d50zgnrd3kxyej"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2281701386, '527656385362f8121ef7cd1a', 'weftwork.model.answered', 1794855825007, CAST('{"call":"/0.0","detail":"end_turn","inputTokens":23,"model":"scripted-1","nodeId":"sum","outputTokens":10,"provider":"scripted","stop":"stop","text":"A lamp that came on Monday is broken."}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2281701387, '896fd69f5e2a65c3f3425a72', 'provider.usage', 1794855825007, CAST('{"inputTokens":23,"model":"scripted-1","nodeId":"sum","outputTokens":10,"provider":"scripted","totalTokens":33}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2281701388, '14e76883c8306d55d2873b46', 'node.completed', 1794855825021, CAST('{"nodeId":"sum","outputs":{"content":"A lamp that came on Monday is broken.","finishReason":"stop","model":"scripted-1","text":"A lamp that came on Monday is broken.","usage":{"inputTokens":23,"outputTokens":10,"totalTokens":33}}}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2281701389, 'ff60c7aece10582de93a231e', 'run.completed', 1794855825021, CAST('{"outputs":{"sum":{"content":"A lamp that came on Monday is broken.","finishReason":"stop","model":"scripted-1","text":"A lamp that came on Monday is broken.","usage":{"inputTokens":23,"outputTokens":10,"totalTokens":33}}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2348810240, 'e6e0214569c88ecbf5e5ee09', 'run.started', 1794855825019, CAST('{"inputs":{"facts":"owls see in the dark"},"owner":{"principal":"key_625311cab9512597","tenant":"acme"},"workflowId":"write"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2348810241, '0bebe31dc6981f5225f43096', 'node.started', 1794855825019, CAST('{"attempt":1,"nodeId":"say","typeId":"core.template"}' AS BLOB), 'say', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2348810242, 'c4f423929cf0b1a8ac24611d', 'node.completed', 1794855825019, CAST('{"nodeId":"say","outputs":{"output":"Did you know that owls see in the dark?"}}' AS BLOB), 'say', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2348810243, '3c48f887f725987139f4f700', 'node.started', 1794855825019, CAST('{"attempt":1,"nodeId":"keep","typeId":"core.setVariable"}' AS BLOB), 'keep', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2348810244, '3a91736e32f2c7b7c5f31e19', 'variable.changed', 1794855825019, CAST('{"name":"text","next":"Did you know that owls see in the dark?","nodeId":"keep"}' AS BLOB), 'keep', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2348810245, 'e1226981a9ab5bdb568312b2', 'node.completed', 1794855825019, CAST('{"nodeId":"keep","outputs":{"output":"Did you know that owls see in the dark?"}}' AS BLOB), 'keep', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2348810246, 'cbbf25e46496545b16596dcc', 'run.completed', 1794855825019, CAST('{"outputs":{"keep":{"output":"Did you know that owls see in the dark?"}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2415919104, 'e2c288470328c9e0c4418860', 'run.started', 1794855825029, CAST('{"inputs":{},"owner":{"principal":"key_625311cab9512597","tenant":"acme"},"workflowId":"clarify"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2415919105, 'a55c1f6a6b156f7bc776d899', 'node.started', 1794855825029, CAST('{"attempt":1,"nodeId":"book","typeId":"core.ai.generateEnvelope"}' AS BLOB), 'book', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2415919106, '4bad9fa37082d901799c936f', 'weftwork.model.answered', 1794855825045, CAST('{"call":"/0.0","detail":"end_turn","inputTokens":128,"model":"scripted-1","nodeId":"book","outputTokens":36,"provider":"scripted","stop":"stop","text":"{\"type\": \"clarification.request\", \"payload\": {\"questions\": [{\"id\": \"people\", \"question\": \"How many are you?\", \"schema\": {\"type\": \"integer\"}}]}}"}' AS BLOB), 'book', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2415919107, 'a238005befbb5c0058b6434f', 'provider.usage', 1794855825045, CAST('{"inputTokens":128,"model":"scripted-1","nodeId":"book","outputTokens":36,"provider":"scripted","totalTokens":164}' AS BLOB), 'book', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2415919108, 'bb117909134157260a856322', 'weftwork.envelope.recorded', 1794855825061, CAST('{"correlationId":"01m7jvwvkvj0qfyab1zbvbp673:book:/0.0.0:0:5b97a253","drift":true,"envelopeId":"env-134c4b927d8b53cdfab63744f942e2d5","floor":1,"nodeId":"book","payload":{"questions":[{"id":"people","question":"How many are you?","schema":{"type":"integer"}}]},"redactionCount":0,"schemaVersion":0,"status":"accepted","type":"clarification.request"}' AS BLOB), 'book', '01m7jvwvkvj0qfyab1zbvbp673:book:/0.0.0:0:5b97a253', 1, 1, NULL, 'trusted');
INSERT INTO events VALUES (2415919109, '201c1e390a790176db33e193', 'interrupt.requested', 1794855825061, CAST('{"data":{"questions":[{"id":"people","question":"How many are you?","schema":{"type":"integer"}}]},"key":"envelope:01m7jvwvkvj0qfyab1zbvbp673:book:/0.0.0:0:5b97a253","kind":"clarification"}' AS BLOB), 'book', '01m7jvwvkvj0qfyab1zbvbp673:book:/0.0.0:0:5b97a253', 1, 1, 'book.1', 'trusted');
INSERT INTO events VALUES (2415919110, '80803be7ab8dc0aba2b154c3', 'clarification.requested', 1794855825061, CAST('{"interruptId":"book.1","nodeId":"book","questions":[{"id":"people","question":"How many are you?","schema":{"type":"integer"}}]}' AS BLOB), 'book', '01m7jvwvkvj0qfyab1zbvbp673:book:/0.0.0:0:5b97a253', 1, 1, 'book.1', 'trusted');
INSERT INTO events VALUES (2415919111, 'daca2545b73d4cf88a0d0b96', 'node.suspended', 1794855825061, CAST('{"interruptId":"book.1","key":"envelope:01m7jvwvkvj0qfyab1zbvbp673:book:/0.0.0:0:5b97a253","kind":"clarification","nodeId":"book"}' AS BLOB), 'book', '01m7jvwvkvj0qfyab1zbvbp673:book:/0.0.0:0:5b97a253', 1, 1, 'book.1', 'trusted');
INSERT INTO events VALUES (2483027968, 'd518f7ee0f08b43a755678cc', 'run.started', 1794855825054, CAST('{"inputs":{},"owner":{"principal":"key_625311cab9512597","tenant":"acme"},"workflowId":"list"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2483027969, 'd802dc4e90a2faaa6d16cdb6', 'node.started', 1794855825054, CAST('{"attempt":1,"nodeId":"c","typeId":"core.channelWrite"}' AS BLOB), 'c', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2483027970, 'bd36f76346c6e1b2fab31993', 'channel.written', 1794855825054, CAST('{"channel":"log","nodeId":"c","reducer":"append","value":"begun","writtenAt":"2026-11-16T19:03:45.054Z"}' AS BLOB), 'c', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2483027971, 'f4e777efd1e4cd1b51531d52', 'node.completed', 1794855825054, CAST('{"nodeId":"c","outputs":{"output":"begun"}}' AS BLOB), 'c', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2483027972, '6cb462d98cd598dd74265bb7', 'node.started', 1794855825054, CAST('{"attempt":1,"nodeId":"m","typeId":"core.flow.map"}' AS BLOB), 'm', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2483027973, 'b68a1bd6881f9a6a51756b2c', 'weftwork.map.item', 1794855825075, CAST('{"index":0,"output":{}}' AS BLOB), 'm', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2483027974, '922b79aa061efbea4869fe01', 'weftwork.map.item', 1794855825083, CAST('{"index":2,"output":{}}' AS BLOB), 'm', NULL, 1, 1, NULL, NULL);
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
INSERT INTO run_state VALUES (8, 'interrupt', 'ask.1', CAST('{"data":{"customKind":"supplier","payload":["north","south"]},"interruptId":"ask.1","key":"ask","kind":"custom","nodeId":"ask","requestedAt":"2026-11-16T19:03:44.658Z","status":"open"}' AS BLOB));
INSERT INTO run_state VALUES (8, 'node', 'ask', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (9, 'artifact', 'keep', CAST('{"artifactType":"order","nodeId":"keep","sequence":8,"version":1}' AS BLOB));
INSERT INTO run_state VALUES (9, 'interrupt', 'ask.1', CAST('{"interruptId":"ask.1","key":"ask","kind":"custom","nodeId":"ask","requestedAt":"2026-11-16T19:03:44.681Z","resolvedAt":"2026-11-16T19:03:45.428Z","resolvedBy":"key_625311cab9512597","status":"resolved"}' AS BLOB));
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
INSERT INTO run_state VALUES (13, 'interrupt', 'gate.1', CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","description":"Asked once; a reminder follows after a day.","title":"Pay 100 for a chair?"},"dueAt":"2026-11-19T19:03:44.744Z","interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","requestedAt":"2026-11-16T19:03:44.744Z","status":"open","timeoutMs":259200000}' AS BLOB));
INSERT INTO run_state VALUES (13, 'node', 'gate', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (13, 'variable', 'amount', CAST('100' AS BLOB));
INSERT INTO run_state VALUES (13, 'variable', 'purpose', CAST('"a chair"' AS BLOB));
INSERT INTO run_state VALUES (14, 'interrupt', 'gate.1', CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","outcome":"accepted","requestedAt":"2026-11-16T19:03:44.757Z","resolvedAt":"2026-11-16T19:03:45.490Z","resolvedBy":"key_625311cab9512597","status":"resolved"}' AS BLOB));
INSERT INTO run_state VALUES (14, 'node', 'gate', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (14, 'node', 'kept', CAST('{"status":"skipped"}' AS BLOB));
INSERT INTO run_state VALUES (14, 'node', 'paid', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (14, 'variable', 'amount', CAST('100' AS BLOB));
INSERT INTO run_state VALUES (14, 'variable', 'purpose', CAST('"a chair"' AS BLOB));
INSERT INTO run_state VALUES (15, 'interrupt', 'gate.1', CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","outcome":"rejected","requestedAt":"2026-11-16T19:03:44.778Z","resolvedAt":"2026-11-16T19:03:45.523Z","resolvedBy":"key_625311cab9512597","status":"resolved"}' AS BLOB));
INSERT INTO run_state VALUES (15, 'node', 'gate', CAST('{"attempt":1,"error":{"code":"interrupt_rejected","details":{"decidedBy":"key_625311cab9512597","reason":"rejected"},"message":"The approval was refused."},"status":"failed"}' AS BLOB));
INSERT INTO run_state VALUES (15, 'node', 'kept', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (15, 'node', 'paid', CAST('{"status":"skipped"}' AS BLOB));
INSERT INTO run_state VALUES (15, 'variable', 'amount', CAST('100' AS BLOB));
INSERT INTO run_state VALUES (15, 'variable', 'purpose', CAST('"a chair"' AS BLOB));
INSERT INTO run_state VALUES (16, 'interrupt', 'gate.1', CAST('{"data":{"actions":["accept","reject"],"approversList":[],"artifactId":"gate","artifactType":"approval","requiredApprovals":2,"title":"Release?"},"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","requestedAt":"2026-11-16T19:03:44.791Z","status":"open","votes":[{"action":"accept","voter":"key_625311cab9512597"}]}' AS BLOB));
INSERT INTO run_state VALUES (16, 'node', 'gate', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (17, 'interrupt', 'wait.1', CAST('{"data":{"correlation":{"orderId":"o-1","status":"paid"},"eventType":"shop.order.paid"},"dueAt":"2026-11-16T20:03:44.803Z","interruptId":"wait.1","key":"wait","kind":"external-event","nodeId":"wait","requestedAt":"2026-11-16T19:03:44.803Z","status":"open","timeoutMs":3600000}' AS BLOB));
INSERT INTO run_state VALUES (17, 'node', 'wait', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (17, 'variable', 'orderId', CAST('"o-1"' AS BLOB));
INSERT INTO run_state VALUES (18, 'interrupt', 'ask.1', CAST('{"data":{"questions":[{"id":"day","question":"When do you come to Bern?","schema":{"minLength":3,"type":"string"}},{"id":"people","question":"How many are you?","schema":{"maximum":8,"minimum":1,"type":"integer"}},{"id":"lunch","question":"With lunch?","schema":{"type":"boolean"}}]},"dueAt":"2026-11-17T19:03:44.813Z","interruptId":"ask.1","key":"ask","kind":"clarification","nodeId":"ask","requestedAt":"2026-11-16T19:03:44.813Z","status":"open","timeoutMs":86400000}' AS BLOB));
INSERT INTO run_state VALUES (18, 'node', 'ask', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (18, 'variable', 'city', CAST('"Bern"' AS BLOB));
INSERT INTO run_state VALUES (19, 'interrupt', 't.1', CAST('{"interruptId":"t.1","key":"t:start","kind":"conversation.start","nodeId":"t","requestedAt":"2026-11-16T19:03:44.835Z","resolvedAt":"2026-11-16T19:03:44.835Z","status":"resolved"}' AS BLOB));
INSERT INTO run_state VALUES (19, 'interrupt', 't.2', CAST('{"data":{"conversationId":"01m7jvwvdvqp350e0r1hqndbde:t:0","prompt":"Please answer.","turnIndex":1},"interruptId":"t.2","key":"t:1","kind":"conversation.exchange","nodeId":"t","requestedAt":"2026-11-16T19:03:44.845Z","status":"open"}' AS BLOB));
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
INSERT INTO run_state VALUES (33, 'interrupt', 'gate.1', CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","description":"Asked once; a reminder follows after a day.","title":"Pay 100 for a chair?"},"dueAt":"2026-11-19T19:03:45.006Z","interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","requestedAt":"2026-11-16T19:03:45.006Z","status":"open","timeoutMs":259200000}' AS BLOB));
INSERT INTO run_state VALUES (33, 'node', 'gate', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (33, 'variable', 'amount', CAST('100' AS BLOB));
INSERT INTO run_state VALUES (33, 'variable', 'purpose', CAST('"a chair"' AS BLOB));
INSERT INTO run_state VALUES (34, 'node', 'sum', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (34, 'variable', 'letter', CAST('"The lamp came on Monday. It does not work."' AS BLOB));
INSERT INTO run_state VALUES (35, 'node', 'keep', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (35, 'node', 'say', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (35, 'variable', 'facts', CAST('"owls see in the dark"' AS BLOB));
INSERT INTO run_state VALUES (35, 'variable', 'text', CAST('"Did you know that owls see in the dark?"' AS BLOB));
INSERT INTO run_state VALUES (36, 'interrupt', 'book.1', CAST('{"data":{"questions":[{"id":"people","question":"How many are you?","schema":{"type":"integer"}}]},"interruptId":"book.1","key":"envelope:01m7jvwvkvj0qfyab1zbvbp673:book:/0.0.0:0:5b97a253","kind":"clarification","nodeId":"book","requestedAt":"2026-11-16T19:03:45.061Z","status":"open"}' AS BLOB));
INSERT INTO run_state VALUES (36, 'node', 'book', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (36, 'variable', 'wish', CAST('"A table on Monday, please."' AS BLOB));
INSERT INTO run_state VALUES (37, 'channel', 'log', CAST('["begun"]' AS BLOB));
INSERT INTO run_state VALUES (37, 'node', 'c', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (37, 'node', 'm', CAST('{"attempt":1,"status":"running"}' AS BLOB));
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
INSERT INTO run_tags VALUES ('live:acme', 'plain', 36);
INSERT INTO run_tags VALUES ('live:acme', 'plain', 37);
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
INSERT INTO run_tags VALUES ('live:acme', 'recorded', 36);
INSERT INTO run_tags VALUES ('live:acme', 'recorded', 37);
INSERT INTO run_tags VALUES ('live:acme', 'reject', 15);
INSERT INTO run_tags VALUES ('live:acme', 'vote', 16);
INSERT INTO idempotency VALUES (1, 'live:acme', '61a985f870cc6e41f93abf2c7b2511e14c15b86e671537a8792ca3271a428477', 'bea331ee4f5f0b1a569ecda7bbe1e96ce82eba15e24f4b1fa0a4322da4b1646b', CAST('{"run_id":"01m7jvwv40k1a6paqs95g7cw06","status":"pending","replayed":false}' AS BLOB), 1794855824512);
INSERT INTO idempotency VALUES (2, 'live:acme', 'dfce0f4614e6373d7ac9bbf429dd89680e0127c208fba439cfe3ccd5d23c98ec', '410d8cc13960308047f90d0c1dec055eb74b241f8998df1dfd07cea4c11c40ee', CAST('{"run_id":"01m7jvwv47kqr92rjxk8827pkz","status":"pending","replayed":false}' AS BLOB), 1794855824519);
INSERT INTO idempotency VALUES (3, 'live:acme', '8e3ec313a4420d425f5a0a6547b4f49e9c2fd2f2101c752a6982d28eed7ed7b2', '7d41ae182720cd4e7f96fe02996dd1311b613fdf6b743aa121da166959dbde3e', CAST('{"run_id":"01m7jvwv57jdv9b1efpv9j5x95","status":"pending","replayed":false}' AS BLOB), 1794855824551);
INSERT INTO idempotency VALUES (4, 'live:acme', '2dd923e5d6c5b95437f27bcbbb78858e459ca89f8a8cc26c61a0977dda6e5535', '294cb31a28ff3950c8e69947a62e65264bf09459769432db303ca6457b5823e9', CAST('{"run_id":"01m7jvwv5yxjs0rq3tb8xy349j","status":"pending","replayed":false}' AS BLOB), 1794855824574);
INSERT INTO idempotency VALUES (5, 'live:acme', '19f12c22be65e06a90e64b855f7419dcf205317475868848cc1f69ebf360f32a', '4e9585cdffde56256d715dbefdbecadda83655d126fc4191b4c740e9dde2820d', CAST('{"run_id":"01m7jvwv6mhvfz3j0x0v48k8q4","status":"pending","replayed":false}' AS BLOB), 1794855824596);
INSERT INTO idempotency VALUES (6, 'live:acme', '772796833478311126761000a7046b58c32c54f1819dd5ad95325141a1a30d68', '9891ba3762f4fc4c919d2dbb38caf54bc387179056ba9d75278cc2b6d5afa10a', CAST('{"run_id":"01m7jvwv6xfq90qxqsftwk0p9a","status":"pending","replayed":false}' AS BLOB), 1794855824605);
INSERT INTO idempotency VALUES (7, 'live:acme', '3ecf33d6f95f7eb106db493feab3b63e4b156acdcdf8f06423ed18e0a02423d4', '79d5fd2f04bd6d1b271dd9ca3cbd06d794f9a3d82823d341dbd4a4d5034dac3d', CAST('{"run_id":"01m7jvwv7ydm8x147mg7p5kaz2","status":"pending","replayed":false}' AS BLOB), 1794855824638);
INSERT INTO idempotency VALUES (8, 'live:acme', 'ec4fb0f6dc0d59a0bc614cf323f7bb615b07d925391457bbd1744f1f52d118fa', '46afdfb8fd29952388c0253cd020631707a78ccdccadbac2cbfe985181f30a15', CAST('{"run_id":"01m7jvwv8ea8dpc5w201g8qee5","status":"pending","replayed":false}' AS BLOB), 1794855824654);
INSERT INTO idempotency VALUES (9, 'live:acme', '37770f8c8236ec98ff069dbbdb394cce6833da7ac70f59ea0727fc0958513a2f', '54acda9ff1f00697248e0d3471456d58ee39513ec586d0393e926d65d24d5d8d', CAST('{"run_id":"01m7jvwv99ab9mvkygz6j4cqay","status":"pending","replayed":false}' AS BLOB), 1794855824681);
INSERT INTO idempotency VALUES (10, 'live:acme', '390f95671cbd0f40167f192b5e8dcaf85b72e2c9a97567c1b2e821f243683d39', '6871360561500a4b03b2d7a58ecb28aabd4b82e27a8769e01f700ad0984697be', CAST('{"run_id":"01m7jvwv9m1c9vezapvxyn1tqj","status":"pending","replayed":false}' AS BLOB), 1794855824692);
INSERT INTO idempotency VALUES (11, 'live:acme', 'fb1509fb9996b64704badca968bf731141f96b06ac5201dec96102e7fc089286', '59d219a28509ec722cdb5013b3ec52fc3308195ff17bc513368e7bf1820eb454', CAST('{"run_id":"01m7jvwva54gg5496jb9sq36q7","status":"pending","replayed":false}' AS BLOB), 1794855824709);
INSERT INTO idempotency VALUES (12, 'live:acme', '1b934e79250a9827af3e2def4b5ae929c57ff2622280e40d2338ad859d1cfbab', 'de11a5bb1f69003541ca0ad959775fdfaf60dcf962d962cefe4fb52f05ecdacd', CAST('{"run_id":"01m7jvwvakb5mkgert8zkrpebm","status":"pending","replayed":false}' AS BLOB), 1794855824723);
INSERT INTO idempotency VALUES (13, 'live:acme', '0633fc297d43e48f3b239973ad348c2e44ebce32a392a3cde7f85d4279f34f15', '19d4e1b84d6f468cbc327c06cadb8e2bcbf1fe3ea764b1542483cdbb127420e5', CAST('{"run_id":"01m7jvwvb4b5b4vb2azb70pdg8","status":"pending","replayed":false}' AS BLOB), 1794855824740);
INSERT INTO idempotency VALUES (14, 'live:acme', '670d9d85c2cc9737ee0bfbc2951787470ab94871af480464786e1d40954fe2db', 'bc884c55e359f172fcc1f1bc43a3a3e4c312779930d2f510bc023242b6e9a285', CAST('{"run_id":"01m7jvwvbhgdd6systavcyzfrh","status":"pending","replayed":false}' AS BLOB), 1794855824753);
INSERT INTO idempotency VALUES (15, 'live:acme', '9caf77c7ba86fb45f73acc1993d2ec1f9fbd05f3acd88d44a7a8109378f243c8', 'aca5d710b29cbf658776978c31547149c3ee01ad992f5717da2851fb183b143d', CAST('{"run_id":"01m7jvwvc8qdhk6v67gqj98jmx","status":"pending","replayed":false}' AS BLOB), 1794855824776);
INSERT INTO idempotency VALUES (16, 'live:acme', '8acea8f6f69addd4a47bf4caa18378ba63943dbac645f2fa71e7b22f3b968879', '7d5ec92d1b2f9785a16e54b622d74725160998054805e0b1bc488635d27ac252', CAST('{"run_id":"01m7jvwvcm9fq4sj14pms35f3h","status":"pending","replayed":false}' AS BLOB), 1794855824788);
INSERT INTO idempotency VALUES (17, 'live:acme', 'f3b928f7d5646ced4b9ca261bb4e8b9b65007e95fa1ec32475cdb4f4941a6d14', '48df3d086ab6a0fbf1975a30155ad7083720db87babf539b372f8c72f4109f90', CAST('{"run_id":"01m7jvwvd2qcpty9rhcnxpeq64","status":"pending","replayed":false}' AS BLOB), 1794855824802);
INSERT INTO idempotency VALUES (18, 'live:acme', 'ef26f01a0a380acb0948f69bc241ce7625ac57dd43a2cea8851bcc2841959bc5', '8f024abda60e2967d064310babe5b965b11a945cf90343a471378a7e5847e6d1', CAST('{"run_id":"01m7jvwvd8jz1nz1bf57rqdrqp","status":"pending","replayed":false}' AS BLOB), 1794855824808);
INSERT INTO idempotency VALUES (19, 'live:acme', '131cf9f5623746b35e973381fd45b7bc3afa47339f46ba42743d31687375ed72', '74fd0573c8b201d4d522cd932e287c0a98217f835657e171ceb009437d4f36f8', CAST('{"run_id":"01m7jvwvdvqp350e0r1hqndbde","status":"pending","replayed":false}' AS BLOB), 1794855824827);
INSERT INTO idempotency VALUES (20, 'live:acme', 'c7aeec69fbe67d0521366e437768c1a9da818af4676845acc438022935bf61bc', 'b215bf8ecbd76cc23130359a4b63157862c1260d2d449fef2ab5a643f823d7b0', CAST('{"run_id":"01m7jvwve5r990h1pknsvmr2hp","status":"pending","replayed":false}' AS BLOB), 1794855824837);
INSERT INTO idempotency VALUES (21, 'live:acme', '06fe0f944cc9eff168fd188335b2e7295765057e4ee9c7e8a279d0c9a6b2bad0', '436e5abd0bfd273880a1e716db13d7142b4d5c4270fe7b0552c84fe1ed12780d', CAST('{"run_id":"01m7jvwvepewxfftdh5mad2zpc","status":"pending","replayed":false}' AS BLOB), 1794855824854);
INSERT INTO idempotency VALUES (22, 'live:acme', 'a8b5807e1f64e66bc5490b5cca90b4d8c3d0fa8eec9c5c4599a0b8d509ba238b', '1d55dd2e60c0e61d4b9e9188544a5082df9ea7ab51f96845d49d61899f33af34', CAST('{"run_id":"01m7jvwvfg8c8bq8yprqcryk68","status":"pending","replayed":false}' AS BLOB), 1794855824880);
INSERT INTO idempotency VALUES (23, 'live:acme', 'bec69e0a5a927c8ffdf30d72aa71bf7a176906aeebcfce402aac666d3b5d5a51', '23d9d82e8ff99f05ce27a647d291ce32fd6cf31fcaf4fd2a4e799c9622277757', CAST('{"run_id":"01m7jvwvgk8ntnavpqnte4r44q","status":"pending","replayed":false}' AS BLOB), 1794855824915);
INSERT INTO idempotency VALUES (24, 'live:acme', 'f84d0fa6ef670211a10d4224470ae4c0ab8c8709d8e2981a08eb1c8193a93fea', 'b13eca0578c3580eb3ab47671370505f5f49136178467ea45668689adbe6e10d', CAST('{"run_id":"01m7jvwvhgxsgy70m0yqkx9hrn","status":"pending","replayed":false}' AS BLOB), 1794855824944);
INSERT INTO idempotency VALUES (25, 'live:acme', '4776239ae9449860a496a7aad0a89ceaaf44dd2ff753c28ecea11acab1f30e07', 'e51d8429ad9909e88989388756c2c71cc27bc716a1c889578f11717bbb867546', CAST('{"run_id":"01m7jvwvjah7xa20vhk1swqn4p","status":"pending","replayed":false}' AS BLOB), 1794855824970);
INSERT INTO idempotency VALUES (26, 'live:acme', 'e98ff7f3abe1826830af0f6890bb6fe24e1b604125ec1ccc1c442ea63f97536e', '27b4244743b3bc84ddab2570ee8df1410d3dc7836566fbe28279e8f1cd013756', CAST('{"run_id":"01m7jvwvk2a3d50zgnrd3kxyej","status":"pending","replayed":false}' AS BLOB), 1794855824994);
INSERT INTO idempotency VALUES (27, 'live:acme', '6c131af5d64a2f4d15e4c9d6ac780ae09a244fdbaff2600ff40695e16cc01eb2', '9faf76e36df1cded40aeab619301f369c458bb15eac9baa6ecf8410e1128218e', CAST('{"run_id":"01m7jvwvkvj0qfyab1zbvbp673","status":"pending","replayed":false}' AS BLOB), 1794855825019);
INSERT INTO idempotency VALUES (28, 'live:acme', 'e00d5072ab72261e52da479e6664ac53642eb04eae4c974952b27c17df54070c', '80f780932b689c0e0cfc6cad6d1082d02c1bb0eda0a22a371397fc8fc9ba1a6e', CAST('{"run_id":"01m7jvwvmvp7npjpknn16szdps","status":"pending","replayed":false}' AS BLOB), 1794855825051);
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
INSERT INTO definitions VALUES ('d6e399155a0cfeed0d837a74eb058ebb9b2760805ccafb18bf5c4267b0ac2f65', CAST('{"description":"A model books a table. What it does not know it asks a person, and goes on with the answer.","edges":[{"id":"book-confirm","sourceNodeId":"book","targetNodeId":"confirm"}],"id":"clarify","metadata":{"envelopeKinds":{"vendor.example.booking":{"schema":{"additionalProperties":false,"properties":{"day":{"type":"string"},"people":{"minimum":1,"type":"integer"}},"required":["day","people"],"type":"object"}}}},"name":"A model that asks","nodes":[{"config":{"envelopeType":"vendor.example.booking","systemPrompt":"You book tables. Ask for what you do not know.","userMessage":"{{variables.wish}}"},"envelopeContract":{"accepts":["vendor.example.booking"]},"id":"book","inputs":{},"name":"Book","position":{"x":0,"y":0},"typeId":"core.ai.generateEnvelope"},{"config":{"template":"A table for {{ports.booking.people}}, {{ports.booking.day}}"},"id":"confirm","inputs":{"booking":{"nodeId":"book","outputKey":"payload","type":"connection"}},"name":"Confirm","position":{"x":200,"y":0},"typeId":"core.template"}],"settings":{},"triggers":[{"id":"manual","type":"manual"}],"variables":[{"defaultValue":"A table on Monday, please.","name":"wish","type":"string"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('df9219a1cca3ff383a253b781b9c78879cdbee9f787cace1165ce0dc2f79e4b6', CAST('{"description":"Asks three questions at once. After a day without answers it goes on with its own.","edges":[{"id":"ask-book","sourceNodeId":"ask","targetNodeId":"book"}],"id":"form","metadata":{},"name":"A form","nodes":[{"config":{"defaultAnswers":{"day":"any day","lunch":false,"people":1},"questions":[{"id":"day","question":"When do you come to {{variables.city}}?","schema":{"minLength":3,"type":"string"}},{"id":"people","question":"How many are you?","schema":{"maximum":8,"minimum":1,"type":"integer"}},{"id":"lunch","question":"With lunch?","schema":{"type":"boolean"}}],"timeoutMs":86400000},"id":"ask","inputs":{},"name":"What do you need?","position":{"x":0,"y":0},"typeId":"core.clarificationGate"},{"config":{"template":"A table for {{ports.need.people}} in {{variables.city}}, {{ports.need.day}}"},"id":"book","inputs":{"need":{"nodeId":"ask","outputKey":"answers","type":"connection"}},"name":"Book","position":{"x":200,"y":0},"typeId":"core.template"}],"settings":{},"triggers":[{"id":"manual","type":"manual"}],"variables":[{"defaultValue":"Bern","name":"city","type":"string"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('e667f69a7a9e970bb9291b13ab7a59aa465609b69723478d85f8448f45658e5f', CAST('{"description":"Waits until a shop says that an order is paid, and takes no other order for it.","edges":[{"id":"wait-ship","sourceNodeId":"wait","targetNodeId":"ship"}],"id":"event","metadata":{},"name":"An event from outside","nodes":[{"config":{"data":{"eventType":"shop.order.paid"},"kind":"external-event","timeoutMs":3600000},"id":"wait","inputs":{"correlation":{"expression":"{''orderId'': variables.orderId, ''status'': ''paid''}","type":"expression"}},"name":"Is it paid?","position":{"x":0,"y":0},"typeId":"core.interrupt"},{"config":{"template":"{{ports.paid.orderId}} is shipped, {{ports.paid.amount}} is paid"},"id":"ship","inputs":{"paid":{"nodeId":"wait","outputKey":"output","type":"connection"}},"name":"Ship","position":{"x":200,"y":0},"typeId":"core.template"}],"settings":{},"triggers":[{"id":"manual","type":"manual"}],"variables":[{"name":"orderId","required":true,"type":"string"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('f135f29a3129ebc717f3388f8c37bc9dd7911ea39123eaed282626c4376ac89c', CAST('{"edges":[{"id":"e0","sourceNodeId":"a","targetNodeId":"b"},{"id":"e1","sourceNodeId":"b","targetNodeId":"c"}],"id":"steps","metadata":{},"name":"steps","nodes":[{"config":{},"id":"a","inputs":{},"name":"a","position":{"x":0,"y":0},"typeId":"core.noop"},{"config":{},"id":"b","inputs":{"secret":{"type":"variable","variableName":"secret"},"word":{"type":"variable","variableName":"word"}},"name":"b","position":{"x":0,"y":0},"typeId":"core.identity"},{"config":{},"id":"c","inputs":{"word":{"nodeId":"b","outputKey":"word","type":"connection"}},"name":"c","outputRole":"primary","position":{"x":0,"y":0},"typeId":"core.identity"}],"settings":{},"triggers":[{"enabled":true,"id":"manual","type":"manual"}],"variables":[{"defaultValue":"owl","name":"word","type":"string"},{"defaultValue":"hush","name":"secret","sensitive":true,"type":"string"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('f179ef4592407ef4e57c451d33379660c6deac48eb155f72c5f64417074062ee', CAST('{"description":"Looks at what is there already, and decides who is next.","edges":[{"id":"lead-send","sourceNodeId":"lead","targetNodeId":"send"},{"id":"send-lead","sourceNodeId":"send","targetNodeId":"lead"},{"condition":{"expression":"nodes.lead.outputs.kind == ''terminate''","type":"expression"},"id":"lead-result","sourceNodeId":"lead","targetNodeId":"result"}],"id":"article","metadata":{},"name":"A supervisor with two workers","nodes":[{"agent":{"agentId":"host:editor","name":"The editor"},"config":{"decision":"variables.facts == '''' ? {''kind'': ''next-worker'', ''nextWorkerIds'': [''research'']} : variables.text == '''' ? {''kind'': ''next-worker'', ''nextWorkerIds'': [''write'']} : {''kind'': ''terminate'', ''reason'': ''goal-reached''}"},"id":"lead","inputs":{},"name":"What is missing?","position":{"x":0,"y":0},"typeId":"core.orchestrator.supervisor"},{"config":{"perWorkerInputMappings":{"research":{"topic":"topic"},"write":{"facts":"facts"}},"perWorkerOutputMappings":{"research":{"facts":"found"},"write":{"text":"text"}}},"id":"send","inputs":{},"name":"Let somebody do it","position":{"x":200,"y":0},"typeId":"core.dispatch"},{"config":{"fields":{"decisions":"nodes.lead.outputs.iteration + 1.0","text":"variables.text"}},"id":"result","inputs":{},"name":"Say what came out","outputRole":"primary","position":{"x":200,"y":200},"typeId":"core.transform"}],"settings":{"timeout":60000},"triggers":[{"id":"manual","type":"manual"}],"variables":[{"defaultValue":"owls","name":"topic","type":"string"},{"defaultValue":"","name":"facts","type":"string"},{"defaultValue":"","name":"text","type":"string"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('f37993a1d7c029c4a62769e4d310c0c6b3dccd7a6798d7be9e01f9ea45faed82', CAST('{"description":"A model sums up a letter in one sentence, word by word.","edges":[],"id":"summary","metadata":{},"name":"A summary","nodes":[{"config":{"maxTokens":100,"prompt":"The letter: {{variables.letter}}","systemPrompt":"You sum up letters in one sentence."},"id":"sum","inputs":{},"name":"Sum up","position":{"x":0,"y":0},"typeId":"core.ai.callPrompt"}],"settings":{},"triggers":[{"id":"manual","type":"manual"}],"variables":[{"defaultValue":"The lamp came on Monday. It does not work.","name":"letter","type":"string"}],"version":"1.0"}' AS BLOB));
INSERT INTO deleted_runs VALUES (12, 'live:acme', '01m7jvwvakb5mkgert8zkrpebm', 1794855825472, 1);
INSERT INTO annotations VALUES (1, 11, '6449f9f2b81878376a0051bd', CAST('{"annotationId":"6449f9f2b81878376a0051bd","target":{"runId":"01m7jvwva54gg5496jb9sq36q7"},"signal":{"kind":"rating","rating":4},"actor":{"principalRef":"key_625311cab9512597"},"createdAt":"2026-11-16T19:03:45.461Z","note":"ok"}' AS BLOB));
INSERT INTO open_interrupts VALUES (8, 'ask.1', 'live:acme', '01m7jvwv8ea8dpc5w201g8qee5', 'asks', 'custom', 'ask', 1794855824658, NULL);
INSERT INTO open_interrupts VALUES (13, 'gate.1', 'live:acme', '01m7jvwvb4b5b4vb2azb70pdg8', 'approval', 'approval', 'gate', 1794855824744, 1795115024744);
INSERT INTO open_interrupts VALUES (16, 'gate.1', 'live:acme', '01m7jvwvcm9fq4sj14pms35f3h', 'quorum', 'approval', 'gate', 1794855824791, NULL);
INSERT INTO open_interrupts VALUES (17, 'wait.1', 'live:acme', '01m7jvwvd2qcpty9rhcnxpeq64', 'event', 'external-event', 'wait', 1794855824803, 1794859424803);
INSERT INTO open_interrupts VALUES (18, 'ask.1', 'live:acme', '01m7jvwvd8jz1nz1bf57rqdrqp', 'form', 'clarification', 'ask', 1794855824813, 1794942224813);
INSERT INTO open_interrupts VALUES (19, 't.2', 'live:acme', '01m7jvwvdvqp350e0r1hqndbde', 'talks', 'conversation.exchange', 't', 1794855824845, NULL);
INSERT INTO open_interrupts VALUES (33, 'gate.1', 'live:acme', '01m7jvwvk0vxtf6dwq5ntf0dk0', 'approval', 'approval', 'gate', 1794855825006, 1795115025006);
INSERT INTO open_interrupts VALUES (36, 'book.1', 'live:acme', '01m7jvwvkvj0qfyab1zbvbp673', 'clarify', 'clarification', 'book', 1794855825061, NULL);
INSERT INTO kinship VALUES (21, 20, 'live:acme', '01m7jvwve5r990h1pknsvmr2hp', 1, 1);
INSERT INTO kinship VALUES (24, 22, 'live:acme', '01m7jvwvepewxfftdh5mad2zpc', 1, 1);
INSERT INTO kinship VALUES (25, 23, 'live:acme', '01m7jvwvfg8c8bq8yprqcryk68', 1, 1);
INSERT INTO kinship VALUES (26, 23, 'live:acme', '01m7jvwvfg8c8bq8yprqcryk68', 1, 1);
INSERT INTO kinship VALUES (29, 27, 'live:acme', '01m7jvwvgk8ntnavpqnte4r44q', 1, 1);
INSERT INTO kinship VALUES (30, 28, 'live:acme', '01m7jvwvhgxsgy70m0yqkx9hrn', 1, 1);
INSERT INTO kinship VALUES (32, 23, 'live:acme', '01m7jvwvfg8c8bq8yprqcryk68', 1, 1);
INSERT INTO kinship VALUES (33, 31, 'live:acme', '01m7jvwvjah7xa20vhk1swqn4p', 1, 1);
INSERT INTO kinship VALUES (35, 22, 'live:acme', '01m7jvwvepewxfftdh5mad2zpc', 1, 1);
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
