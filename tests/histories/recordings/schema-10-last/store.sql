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
INSERT INTO runs VALUES (1, 'live:acme', '01m7pfwh6zjjztkdd78skwy9f6', 'steps', NULL, 'completed', 7, 1794977449184, 1794977449184, NULL, 3, NULL, CAST('{"c":{}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (2, 'test:acme', '01m7pfwh73b5xxr2mf2as9b7db', 'steps', NULL, 'completed', 7, 1794977449187, 1794977449187, NULL, 3, NULL, CAST('{"c":{}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (3, 'live:acme', '01m7pfwh75hv891kzm0j584t1c', 'summary', NULL, 'completed', 9, 1794977449189, 1794977449192, NULL, 1, NULL, CAST('{"sum":{"content":"The lamp is broken.","finishReason":"stop","model":"scripted-1","text":"The lamp is broken.","usage":{"inputTokens":8,"outputTokens":5,"totalTokens":13}}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (4, 'live:acme', '01m7pfwh792ggkpemr487x5wta', 'clarify', NULL, 'waiting-input', 7, 1794977449193, NULL, 'book', 1, NULL, NULL, 1, NULL, 0, 0);
INSERT INTO runs VALUES (5, 'live:acme', '01m7pfwh7d23j79jvehvk8z9b2', 'approve', NULL, 'waiting-approval', 4, 1794977449198, NULL, 'gate', 1, NULL, NULL, 1, NULL, 0, 0);
INSERT INTO runs VALUES (6, 'live:acme', '01m7pfwh7h1h2cjwbav0dj5vx0', 'approve', NULL, 'completed', 11, 1794977449202, 1794977449204, NULL, 2, NULL, CAST('{"n":{}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (7, 'live:acme', '01m7pfwh7qrbps0vmm7m46cjm2', 'wait-short', NULL, 'paused', 4, 1794977449208, NULL, NULL, 2, NULL, NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (8, 'live:acme', '01m7pfwh7wyqvadb3jaj69nzd4', 'wait-short', NULL, 'paused', 6, 1794977449212, NULL, NULL, 2, NULL, NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (9, 'live:acme', '01m7pfwkp20vpygsrr3aj9djzm', 'fails', NULL, 'failed', 3, 1794977451714, 1794977451714, NULL, 1, CAST('{"code":"conformance_test_failure","message":"Intentional conformance failure"}' AS BLOB), NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (10, 'live:acme', '01m7pfwkp4crpxa9xt6xzv7sz1', 'asks', NULL, 'waiting-input', 3, 1794977451717, NULL, 'ask', 1, NULL, NULL, 1, NULL, 0, 0);
INSERT INTO runs VALUES (11, 'live:acme', '01m7pfwkp8bhjfq0hdsmz6yhar', 'event', NULL, 'waiting-external', 3, 1794977451720, NULL, 'wait', 1, NULL, NULL, 1, NULL, 0, 0);
INSERT INTO runs VALUES (12, 'live:acme', '01m7pfwkpbryqhf37wgh90c8sk', 'form', NULL, 'waiting-input', 4, 1794977451723, NULL, 'ask', 1, NULL, NULL, 1, NULL, 0, 0);
INSERT INTO runs VALUES (13, 'live:acme', '01m7pfwkpeee0kv0qmfkh372s1', 'talks', NULL, 'waiting-approval', 6, 1794977451726, NULL, 't', 1, NULL, NULL, 1, NULL, 0, 0);
INSERT INTO runs VALUES (14, 'live:acme', '01m7pfwkpj5mycrpfyk7f8r5p5', 'approve', NULL, 'failed', 10, 1794977451730, 1794977451733, NULL, 1, CAST('{"code":"interrupt_rejected","details":{"decidedBy":"key_3210aa45025f451e","reason":"rejected"},"message":"The approval was rejected."}' AS BLOB), NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (15, 'live:acme', '01m7pfwkprp8aafarrd0stfafp', 'quorum', NULL, 'waiting-approval', 5, 1794977451736, NULL, 'gate', 1, NULL, NULL, 1, NULL, 0, 0);
INSERT INTO runs VALUES (16, 'live:acme', '01m7pfwkpwqqajfp41baj4csvs', 'corrected', NULL, 'completed', 11, 1794977451740, 1794977451745, NULL, 2, NULL, CAST('{"n":{}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (17, 'live:acme', '01m7pfwkqd5m3sgpkt6yebsnv2', 'shaped', NULL, 'completed', 8, 1794977451757, 1794977451762, NULL, 2, NULL, CAST('{"n":{}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (18, 'live:acme', '01m7pfwkqy2sxpxyr4m5t4bcfj', 'clarify', NULL, 'completed', 17, 1794977451774, 1794977451783, NULL, 2, NULL, CAST('{"n":{}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (19, 'live:acme', '01m7pfwkrk3z8w2tfg3vc0ra1a', 'approve', NULL, 'cancelled', 6, 1794977451795, 1794977451799, NULL, 1, NULL, NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (20, 'live:acme', '01m7pfwkrs3z65zd20xwv750m9', 'parent', NULL, 'cancelled', 4, 1794977451802, 1794977451815, NULL, 1, NULL, NULL, 0, NULL, 0, 1);
INSERT INTO runs VALUES (21, 'live:acme', '01m7pfwkrvx47391qr9n0e79ph', 'wait-long', NULL, 'cancelled', 6, 1794977451804, 1794977451818, NULL, 2, NULL, NULL, 0, NULL, 1, 0);
INSERT INTO runs VALUES (22, 'live:acme', '01m7pfwksb53j02qdsf71sr6pt', 'parent-asks', NULL, 'waiting-approval', 3, 1794977451819, NULL, 's', 1, NULL, NULL, 1, NULL, 0, 1);
INSERT INTO runs VALUES (23, 'live:acme', '01m7pfwkscthsqc6dkajdz8cd5', 'approve', NULL, 'waiting-approval', 4, 1794977451821, NULL, 'gate', 1, NULL, NULL, 1, NULL, 1, 0);
INSERT INTO runs VALUES (24, 'live:acme', '01m7pfwksffwc986nh0mzqwc30', 'parent-model', NULL, 'waiting-input', 3, 1794977451823, NULL, 's', 1, NULL, NULL, 1, NULL, 0, 1);
INSERT INTO runs VALUES (25, 'live:acme', '01m7pfwksgj39b9v5sx02vrcep', 'clarify', NULL, 'waiting-input', 7, 1794977451826, NULL, 'book', 1, NULL, NULL, 1, NULL, 1, 0);
INSERT INTO runs VALUES (26, 'live:acme', '01m7pfwkshe5qjrypc8sjneawx', 'parent', NULL, 'running', 2, 1794977451825, NULL, 's', 1, NULL, NULL, 1, NULL, 0, 1);
INSERT INTO runs VALUES (27, 'live:acme', '01m7pfwksj5dp67azvbxcb761r', 'wait-long', NULL, 'running', 3, 1794977451828, NULL, 'd', 2, NULL, NULL, 0, NULL, 1, 0);
INSERT INTO runs VALUES (28, 'live:acme', '01m7pfwkt0zdxahp19e55y0ajj', 'wait-long', NULL, 'running', 6, 1794977451840, NULL, 'd', 3, NULL, NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (29, 'live:acme', '01m7pfwkt6b1hn6q1cf37z3tpg', 'list', NULL, 'running', 3, 1794977451846, NULL, 'm', 1, NULL, NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (30, 'live:acme', '01m7pfwkt9dh6hxmthjs0g9ppt', 'wait-long', NULL, 'running', 3, 1794977451849, NULL, 'd', 2, NULL, NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (31, 'live:acme', '01m7pfwktbx5hxadnxd4xbzgtm', 'wait-long', NULL, 'running', 4, 1794977451852, NULL, 'd', 2, NULL, NULL, 0, NULL, 0, 0);
INSERT INTO run_headers VALUES (1, CAST('{"run_id":"01m7pfwh6zjjztkdd78skwy9f6","partition":"live:acme","owner":{"tenant":"acme","principal":"key_3210aa45025f451e"},"workflow_id":"steps","definition":"9b51e102696628ad1f15c2c83347313f7cb42ae51f59b14e026323a3aff3ca30","created_at":1794977449183,"inputs":{"word":"owl","secret":"[REDACTED:secret]"}}' AS BLOB));
INSERT INTO run_headers VALUES (2, CAST('{"run_id":"01m7pfwh73b5xxr2mf2as9b7db","partition":"test:acme","owner":{"tenant":"acme","principal":"key_cf1f76f9dda8e2ca"},"workflow_id":"steps","definition":"9b51e102696628ad1f15c2c83347313f7cb42ae51f59b14e026323a3aff3ca30","created_at":1794977449187,"inputs":{"word":"owl","secret":"[REDACTED:secret]"}}' AS BLOB));
INSERT INTO run_headers VALUES (3, CAST('{"run_id":"01m7pfwh75hv891kzm0j584t1c","partition":"live:acme","owner":{"tenant":"acme","principal":"key_3210aa45025f451e"},"workflow_id":"summary","definition":"2da9ae168a9bba87e853e3628297b9d9fddeb402a7a4dcb74f28faddbb0c7548","created_at":1794977449189}' AS BLOB));
INSERT INTO run_headers VALUES (4, CAST('{"run_id":"01m7pfwh792ggkpemr487x5wta","partition":"live:acme","owner":{"tenant":"acme","principal":"key_3210aa45025f451e"},"workflow_id":"clarify","definition":"6899b98b6d00d5836ba6066fe2472810e902c91f80111ee6291c9bed4969c8f5","created_at":1794977449193}' AS BLOB));
INSERT INTO run_headers VALUES (5, CAST('{"run_id":"01m7pfwh7d23j79jvehvk8z9b2","partition":"live:acme","owner":{"tenant":"acme","principal":"key_3210aa45025f451e"},"workflow_id":"approve","definition":"30d987f4ce56390758a3239348013844e2ddc8ad11c64de0603baff4a7366434","created_at":1794977449197}' AS BLOB));
INSERT INTO run_headers VALUES (6, CAST('{"run_id":"01m7pfwh7h1h2cjwbav0dj5vx0","partition":"live:acme","owner":{"tenant":"acme","principal":"key_3210aa45025f451e"},"workflow_id":"approve","definition":"30d987f4ce56390758a3239348013844e2ddc8ad11c64de0603baff4a7366434","created_at":1794977449201}' AS BLOB));
INSERT INTO run_headers VALUES (7, CAST('{"run_id":"01m7pfwh7qrbps0vmm7m46cjm2","partition":"live:acme","owner":{"tenant":"acme","principal":"key_3210aa45025f451e"},"workflow_id":"wait-short","definition":"7fa4a07b7f617fe0eb89e53824cc14532c2d837fa7708599fc43a39cc97280e1","created_at":1794977449207}' AS BLOB));
INSERT INTO run_headers VALUES (8, CAST('{"run_id":"01m7pfwh7wyqvadb3jaj69nzd4","partition":"live:acme","owner":{"tenant":"acme","principal":"key_3210aa45025f451e"},"workflow_id":"wait-short","definition":"7fa4a07b7f617fe0eb89e53824cc14532c2d837fa7708599fc43a39cc97280e1","created_at":1794977449212}' AS BLOB));
INSERT INTO run_headers VALUES (9, CAST('{"run_id":"01m7pfwkp20vpygsrr3aj9djzm","partition":"live:acme","owner":{"tenant":"acme","principal":"key_3210aa45025f451e"},"workflow_id":"fails","definition":"4715056c9a035f11aee1036cba3b41ef39b2fb4b7117ef813489295f3dd03a24","created_at":1794977451714}' AS BLOB));
INSERT INTO run_headers VALUES (10, CAST('{"run_id":"01m7pfwkp4crpxa9xt6xzv7sz1","partition":"live:acme","owner":{"tenant":"acme","principal":"key_3210aa45025f451e"},"workflow_id":"asks","definition":"5758471e473f9c4af97588e11a392120ce61a73f8e7434fdff9e527fe3ad758a","created_at":1794977451716}' AS BLOB));
INSERT INTO run_headers VALUES (11, CAST('{"run_id":"01m7pfwkp8bhjfq0hdsmz6yhar","partition":"live:acme","owner":{"tenant":"acme","principal":"key_3210aa45025f451e"},"workflow_id":"event","definition":"927247c666d9aa6c02556d7ef22bb4272a682187701a18c0553a04cceb617ee9","created_at":1794977451720}' AS BLOB));
INSERT INTO run_headers VALUES (12, CAST('{"run_id":"01m7pfwkpbryqhf37wgh90c8sk","partition":"live:acme","owner":{"tenant":"acme","principal":"key_3210aa45025f451e"},"workflow_id":"form","definition":"5971ee2441d24febb877c8281425ae238bcee7f0a2246a6a36be84b9b68e1cbf","created_at":1794977451723}' AS BLOB));
INSERT INTO run_headers VALUES (13, CAST('{"run_id":"01m7pfwkpeee0kv0qmfkh372s1","partition":"live:acme","owner":{"tenant":"acme","principal":"key_3210aa45025f451e"},"workflow_id":"talks","definition":"e70df42f43fdb44ed8523d6e26403e18ae97dfc3dba536f3dd1d887e452b243f","created_at":1794977451726}' AS BLOB));
INSERT INTO run_headers VALUES (14, CAST('{"run_id":"01m7pfwkpj5mycrpfyk7f8r5p5","partition":"live:acme","owner":{"tenant":"acme","principal":"key_3210aa45025f451e"},"workflow_id":"approve","definition":"30d987f4ce56390758a3239348013844e2ddc8ad11c64de0603baff4a7366434","created_at":1794977451730}' AS BLOB));
INSERT INTO run_headers VALUES (15, CAST('{"run_id":"01m7pfwkprp8aafarrd0stfafp","partition":"live:acme","owner":{"tenant":"acme","principal":"key_3210aa45025f451e"},"workflow_id":"quorum","definition":"24a8cc7e854b513343fdec75ea202c06f6735ecfe86b3b3334bc2e9c5d88ef31","created_at":1794977451736}' AS BLOB));
INSERT INTO run_headers VALUES (16, CAST('{"run_id":"01m7pfwkpwqqajfp41baj4csvs","partition":"live:acme","owner":{"tenant":"acme","principal":"key_3210aa45025f451e"},"workflow_id":"corrected","definition":"163ed29a7d3895f24a1b7014b083529a080aa434c46abf0e05db965049c3ace4","created_at":1794977451740}' AS BLOB));
INSERT INTO run_headers VALUES (17, CAST('{"run_id":"01m7pfwkqd5m3sgpkt6yebsnv2","partition":"live:acme","owner":{"tenant":"acme","principal":"key_3210aa45025f451e"},"workflow_id":"shaped","definition":"97da45df787b2ff6a472ea2f747cccbe316028801317c182e3fd9b6eedcab50e","created_at":1794977451757}' AS BLOB));
INSERT INTO run_headers VALUES (18, CAST('{"run_id":"01m7pfwkqy2sxpxyr4m5t4bcfj","partition":"live:acme","owner":{"tenant":"acme","principal":"key_3210aa45025f451e"},"workflow_id":"clarify","definition":"6899b98b6d00d5836ba6066fe2472810e902c91f80111ee6291c9bed4969c8f5","created_at":1794977451774}' AS BLOB));
INSERT INTO run_headers VALUES (19, CAST('{"run_id":"01m7pfwkrk3z8w2tfg3vc0ra1a","partition":"live:acme","owner":{"tenant":"acme","principal":"key_3210aa45025f451e"},"workflow_id":"approve","definition":"30d987f4ce56390758a3239348013844e2ddc8ad11c64de0603baff4a7366434","created_at":1794977451795}' AS BLOB));
INSERT INTO run_headers VALUES (20, CAST('{"run_id":"01m7pfwkrs3z65zd20xwv750m9","partition":"live:acme","owner":{"tenant":"acme","principal":"key_3210aa45025f451e"},"workflow_id":"parent","definition":"c74d33f18b63b2fa75135779ab0e77049d8cc35b203212959e613fb844627636","created_at":1794977451801}' AS BLOB));
INSERT INTO run_headers VALUES (21, CAST('{"run_id":"01m7pfwkrvx47391qr9n0e79ph","partition":"live:acme","owner":{"tenant":"acme","principal":"key_3210aa45025f451e"},"workflow_id":"wait-long","definition":"b3aa2a1ddea21373784223139d8b91f9acba3c7000bcfc93d721d60aa6cf0bfc","created_at":1794977451803,"traceparent":"00-3aa72bf56bb9c35fcbb22fdd09917176-a777bd7f2c14941c-01","parent":{"run_id":"01m7pfwkrs3z65zd20xwv750m9","node_id":"s","key":"child","cause":"core.subWorkflow","root":"01m7pfwkrs3z65zd20xwv750m9","outputs":true}}' AS BLOB));
INSERT INTO run_headers VALUES (22, CAST('{"run_id":"01m7pfwksb53j02qdsf71sr6pt","partition":"live:acme","owner":{"tenant":"acme","principal":"key_3210aa45025f451e"},"workflow_id":"parent-asks","definition":"2f3838848a144a43a7f665007a30bad371bec1d7473161f4f8f5443350879e26","created_at":1794977451819}' AS BLOB));
INSERT INTO run_headers VALUES (23, CAST('{"run_id":"01m7pfwkscthsqc6dkajdz8cd5","partition":"live:acme","owner":{"tenant":"acme","principal":"key_3210aa45025f451e"},"workflow_id":"approve","definition":"30d987f4ce56390758a3239348013844e2ddc8ad11c64de0603baff4a7366434","created_at":1794977451820,"traceparent":"00-e276020c4c5d6ddbe243336902ba59c6-acab6426890decca-01","parent":{"run_id":"01m7pfwksb53j02qdsf71sr6pt","node_id":"s","key":"child","cause":"core.subWorkflow","root":"01m7pfwksb53j02qdsf71sr6pt","outputs":true}}' AS BLOB));
INSERT INTO run_headers VALUES (24, CAST('{"run_id":"01m7pfwksffwc986nh0mzqwc30","partition":"live:acme","owner":{"tenant":"acme","principal":"key_3210aa45025f451e"},"workflow_id":"parent-model","definition":"d5b0ccfa67d40a71d436d0b807ac3eec5f028245c3b414e97ccc56235fdadc41","created_at":1794977451823}' AS BLOB));
INSERT INTO run_headers VALUES (25, CAST('{"run_id":"01m7pfwksgj39b9v5sx02vrcep","partition":"live:acme","owner":{"tenant":"acme","principal":"key_3210aa45025f451e"},"workflow_id":"clarify","definition":"6899b98b6d00d5836ba6066fe2472810e902c91f80111ee6291c9bed4969c8f5","created_at":1794977451824,"traceparent":"00-34737421360aacce29663005830fb28f-ee49a082de195895-01","parent":{"run_id":"01m7pfwksffwc986nh0mzqwc30","node_id":"s","key":"child","cause":"core.subWorkflow","root":"01m7pfwksffwc986nh0mzqwc30","outputs":true}}' AS BLOB));
INSERT INTO run_headers VALUES (26, CAST('{"run_id":"01m7pfwkshe5qjrypc8sjneawx","partition":"live:acme","owner":{"tenant":"acme","principal":"key_3210aa45025f451e"},"workflow_id":"parent","definition":"c74d33f18b63b2fa75135779ab0e77049d8cc35b203212959e613fb844627636","created_at":1794977451825}' AS BLOB));
INSERT INTO run_headers VALUES (27, CAST('{"run_id":"01m7pfwksj5dp67azvbxcb761r","partition":"live:acme","owner":{"tenant":"acme","principal":"key_3210aa45025f451e"},"workflow_id":"wait-long","definition":"b3aa2a1ddea21373784223139d8b91f9acba3c7000bcfc93d721d60aa6cf0bfc","created_at":1794977451826,"traceparent":"00-e6358f58c5b55623146c450ae2bf815d-56f771d86ee622ee-01","parent":{"run_id":"01m7pfwkshe5qjrypc8sjneawx","node_id":"s","key":"child","cause":"core.subWorkflow","root":"01m7pfwkshe5qjrypc8sjneawx","outputs":true}}' AS BLOB));
INSERT INTO run_headers VALUES (28, CAST('{"run_id":"01m7pfwkt0zdxahp19e55y0ajj","partition":"live:acme","owner":{"tenant":"acme","principal":"key_3210aa45025f451e"},"workflow_id":"wait-long","definition":"b3aa2a1ddea21373784223139d8b91f9acba3c7000bcfc93d721d60aa6cf0bfc","created_at":1794977451840}' AS BLOB));
INSERT INTO run_headers VALUES (29, CAST('{"run_id":"01m7pfwkt6b1hn6q1cf37z3tpg","partition":"live:acme","owner":{"tenant":"acme","principal":"key_3210aa45025f451e"},"workflow_id":"list","definition":"323155ec46567debab089d6a4cfed3d56251db85d82364d253534d654581f273","created_at":1794977451846}' AS BLOB));
INSERT INTO run_headers VALUES (30, CAST('{"run_id":"01m7pfwkt9dh6hxmthjs0g9ppt","partition":"live:acme","owner":{"tenant":"acme","principal":"key_3210aa45025f451e"},"workflow_id":"wait-long","definition":"b3aa2a1ddea21373784223139d8b91f9acba3c7000bcfc93d721d60aa6cf0bfc","created_at":1794977451849}' AS BLOB));
INSERT INTO run_headers VALUES (31, CAST('{"run_id":"01m7pfwktbx5hxadnxd4xbzgtm","partition":"live:acme","owner":{"tenant":"acme","principal":"key_3210aa45025f451e"},"workflow_id":"wait-long","definition":"b3aa2a1ddea21373784223139d8b91f9acba3c7000bcfc93d721d60aa6cf0bfc","created_at":1794977451851}' AS BLOB));
INSERT INTO events VALUES (67108864, '7f1dd910736e1e655df51eab', 'run.started', 1794977449184, CAST('{"inputs":{"secret":"[REDACTED:secret]","word":"owl"},"owner":{"principal":"key_3210aa45025f451e","tenant":"acme"},"workflowId":"steps"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108865, 'e4e82b15ff1448c857f5c755', 'node.started', 1794977449184, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108866, '2de36a5c9947c3d220f56e55', 'node.completed', 1794977449184, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108867, '05d67a4f2b9c11b8b0811bd2', 'node.started', 1794977449184, CAST('{"attempt":1,"nodeId":"b","typeId":"core.identity"}' AS BLOB), 'b', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108868, 'f541763302fe8acf33022f00', 'node.completed', 1794977449184, CAST('{"nodeId":"b","outputs":{"secret":"[REDACTED:b.secret]","word":"[REDACTED:b.word]"}}' AS BLOB), 'b', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108869, 'df3baa4cc5d6b4370426e435', 'node.started', 1794977449184, CAST('{"attempt":1,"nodeId":"c","typeId":"core.noop"}' AS BLOB), 'c', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108870, '358e1b43be8e88212eb59a1f', 'node.completed', 1794977449184, CAST('{"nodeId":"c","outputs":{}}' AS BLOB), 'c', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108871, '04cedeb8723f4d7b1b766cb7', 'run.completed', 1794977449184, CAST('{"outputs":{"c":{}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217728, '81a8a3d4c3058c1ffd81c548', 'run.started', 1794977449187, CAST('{"inputs":{"secret":"[REDACTED:secret]","word":"owl"},"owner":{"principal":"key_cf1f76f9dda8e2ca","tenant":"acme"},"workflowId":"steps"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217729, '3132bc7bcd47ac8e7897d24a', 'node.started', 1794977449187, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217730, '3c58bdf8dc93e63ff5a49b3d', 'node.completed', 1794977449187, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217731, '063a812a31d59b2ae9d542ee', 'node.started', 1794977449187, CAST('{"attempt":1,"nodeId":"b","typeId":"core.identity"}' AS BLOB), 'b', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217732, '75cdba9f5036df658e1c08dc', 'node.completed', 1794977449187, CAST('{"nodeId":"b","outputs":{"secret":"[REDACTED:b.secret]","word":"[REDACTED:b.word]"}}' AS BLOB), 'b', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217733, '5d070fad46781d63a1acd57e', 'node.started', 1794977449187, CAST('{"attempt":1,"nodeId":"c","typeId":"core.noop"}' AS BLOB), 'c', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217734, 'feed9df765faccfecd693b4b', 'node.completed', 1794977449187, CAST('{"nodeId":"c","outputs":{}}' AS BLOB), 'c', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217735, 'f26e654ebd0696eebe4414d9', 'run.completed', 1794977449187, CAST('{"outputs":{"c":{}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326592, 'ce74b9c3cda0dff8b9bced6f', 'run.started', 1794977449189, CAST('{"inputs":{},"owner":{"principal":"key_3210aa45025f451e","tenant":"acme"},"workflowId":"summary"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326593, 'a9722dda72c46964bae08b83', 'node.started', 1794977449189, CAST('{"attempt":1,"nodeId":"sum","typeId":"core.ai.callPrompt"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326594, '4a17af21a7fd6bb89e68cd0e', 'output.chunk', 1794977449191, CAST('{"chunk":"The","isLast":false,"meta":{"model":"scripted-1","provider":"scripted"},"nodeId":"sum","runId":"01m7pfwh75hv891kzm0j584t1c"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326595, '4560aca9503becd10dc930c4', 'output.chunk', 1794977449191, CAST('{"chunk":" lamp","isLast":false,"meta":{"model":"scripted-1","provider":"scripted"},"nodeId":"sum","runId":"01m7pfwh75hv891kzm0j584t1c"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326596, '57b7e4cb03a73fdaf8ecf9cf', 'output.chunk', 1794977449191, CAST('{"chunk":" is","isLast":false,"meta":{"model":"scripted-1","provider":"scripted"},"nodeId":"sum","runId":"01m7pfwh75hv891kzm0j584t1c"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326597, 'c117286a0620031d935c2000', 'output.chunk', 1794977449191, CAST('{"chunk":" broken.","isLast":true,"meta":{"finishReason":"stop","model":"scripted-1","provider":"scripted","usage":{"completionTokens":5,"promptTokens":8,"totalTokens":13}},"nodeId":"sum","runId":"01m7pfwh75hv891kzm0j584t1c"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326598, '21819931218b4dd1b24a57e1', 'weftwork.model.answered', 1794977449191, CAST('{"call":"/0.0","detail":"end_turn","inputTokens":8,"model":"scripted-1","nodeId":"sum","outputTokens":5,"provider":"scripted","stop":"stop","text":"The lamp is broken."}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326599, '7e3c3a4beaadc13fdb805c25', 'provider.usage', 1794977449191, CAST('{"inputTokens":8,"model":"scripted-1","nodeId":"sum","outputTokens":5,"provider":"scripted","totalTokens":13}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326600, '2189b215b9ef7b7245ed3185', 'node.completed', 1794977449192, CAST('{"nodeId":"sum","outputs":{"content":"The lamp is broken.","finishReason":"stop","model":"scripted-1","text":"The lamp is broken.","usage":{"inputTokens":8,"outputTokens":5,"totalTokens":13}}}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326601, 'fda716214d91a9e95abd67ea', 'run.completed', 1794977449192, CAST('{"outputs":{"sum":{"content":"The lamp is broken.","finishReason":"stop","model":"scripted-1","text":"The lamp is broken.","usage":{"inputTokens":8,"outputTokens":5,"totalTokens":13}}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435456, 'b0838a52f1c9f2222af7d4a3', 'run.started', 1794977449193, CAST('{"inputs":{},"owner":{"principal":"key_3210aa45025f451e","tenant":"acme"},"workflowId":"clarify"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435457, '672dbacf485b4aad90f387bd', 'node.started', 1794977449193, CAST('{"attempt":1,"nodeId":"book","typeId":"core.ai.generateEnvelope"}' AS BLOB), 'book', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435458, 'ab6dd354b81f1a830a491172', 'weftwork.model.answered', 1794977449195, CAST('{"call":"/0.0","detail":"end_turn","inputTokens":99,"model":"scripted-1","nodeId":"book","outputTokens":36,"provider":"scripted","stop":"stop","text":"{\"type\": \"clarification.request\", \"payload\": {\"questions\": [{\"id\": \"people\", \"question\": \"How many are you?\", \"schema\": {\"type\": \"integer\"}}]}}"}' AS BLOB), 'book', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435459, '978bd83315ab6b5019aa8d45', 'provider.usage', 1794977449195, CAST('{"inputTokens":99,"model":"scripted-1","nodeId":"book","outputTokens":36,"provider":"scripted","totalTokens":135}' AS BLOB), 'book', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435460, 'b609b8209182aa4525ef08e6', 'weftwork.envelope.recorded', 1794977449196, CAST('{"correlationId":"01m7pfwh792ggkpemr487x5wta:book:/0.0.0:0:5b97a253","drift":true,"envelopeId":"env-c4e1aa8e406b1deff89d20419436bf49","floor":1,"nodeId":"book","payload":{"questions":[{"id":"people","question":"How many are you?","schema":{"type":"integer"}}]},"redactionCount":0,"schemaVersion":0,"status":"accepted","type":"clarification.request"}' AS BLOB), 'book', '01m7pfwh792ggkpemr487x5wta:book:/0.0.0:0:5b97a253', 1, 1, NULL, 'trusted');
INSERT INTO events VALUES (268435461, '05508b9575364b46a54e188a', 'interrupt.requested', 1794977449196, CAST('{"data":{"questions":[{"id":"people","question":"How many are you?","schema":{"type":"integer"}}]},"key":"envelope:01m7pfwh792ggkpemr487x5wta:book:/0.0.0:0:5b97a253","kind":"clarification"}' AS BLOB), 'book', '01m7pfwh792ggkpemr487x5wta:book:/0.0.0:0:5b97a253', 1, 1, 'book.1', 'trusted');
INSERT INTO events VALUES (268435462, 'd2f5fd54f2f28b3e60d83c15', 'clarification.requested', 1794977449196, CAST('{"interruptId":"book.1","nodeId":"book","questions":[{"id":"people","question":"How many are you?","schema":{"type":"integer"}}]}' AS BLOB), 'book', '01m7pfwh792ggkpemr487x5wta:book:/0.0.0:0:5b97a253', 1, 1, 'book.1', 'trusted');
INSERT INTO events VALUES (268435463, 'b6a1b5f426d44693dc3013e9', 'node.suspended', 1794977449196, CAST('{"interruptId":"book.1","key":"envelope:01m7pfwh792ggkpemr487x5wta:book:/0.0.0:0:5b97a253","kind":"clarification","nodeId":"book"}' AS BLOB), 'book', '01m7pfwh792ggkpemr487x5wta:book:/0.0.0:0:5b97a253', 1, 1, 'book.1', 'trusted');
INSERT INTO events VALUES (335544320, 'f1bdf562d3709b87c9099b10', 'run.started', 1794977449198, CAST('{"inputs":{},"owner":{"principal":"key_3210aa45025f451e","tenant":"acme"},"workflowId":"approve"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (335544321, 'c160dd07c6e836a67dc92982', 'node.started', 1794977449198, CAST('{"attempt":1,"nodeId":"gate","typeId":"core.approvalGate"}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (335544322, '1bad31346aaf432dbb46aef0', 'interrupt.requested', 1794977449198, CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","title":"Pay for a chair?"},"key":"gate","kind":"approval"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (335544323, '0e2c909c0a38e1f25dbd49bc', 'approval.requested', 1794977449198, CAST('{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","interruptId":"gate.1","nodeId":"gate","title":"Pay for a chair?"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (335544324, '78b606d94f99acf24aae86ce', 'node.suspended', 1794977449198, CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (402653184, 'de869699b2c4ef4827b47830', 'run.started', 1794977449202, CAST('{"inputs":{},"owner":{"principal":"key_3210aa45025f451e","tenant":"acme"},"workflowId":"approve"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (402653185, 'b096e31fbdde6d8a5d26ace6', 'node.started', 1794977449202, CAST('{"attempt":1,"nodeId":"gate","typeId":"core.approvalGate"}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (402653186, '1154b15db08f3b12b99ab37d', 'interrupt.requested', 1794977449202, CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","title":"Pay for a chair?"},"key":"gate","kind":"approval"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (402653187, '9536e661a924a083922e60a7', 'approval.requested', 1794977449202, CAST('{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","interruptId":"gate.1","nodeId":"gate","title":"Pay for a chair?"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (402653188, '6c797a97a5d6c89744e634b0', 'node.suspended', 1794977449202, CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (402653189, 'f0c10eaa274ac87b328bf4a8', 'interrupt.resolved', 1794977449204, CAST('{"interruptId":"gate.1","kind":"approval","nodeId":"gate","outcome":"accepted","resolvedBy":"key_3210aa45025f451e","resumeValue":{"action":"accept","decidedBy":"ada"}}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (402653190, '8d6c934b44bb7cbd0af72047', 'approval.received', 1794977449204, CAST('{"action":"accept","decidedBy":"ada","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (402653191, '9cdf0641d56df710c4a5eb6a', 'node.resumed', 1794977449204, CAST('{"interruptId":"gate.1","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (402653192, '1c49eb9f9ea4b9c79c51c7dd', 'node.completed', 1794977449204, CAST('{"nodeId":"gate","outputs":{"action":"accept","approved":true,"decidedBy":"ada"}}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (402653193, 'c07d262921ef155d0c50b6f7', 'node.started', 1794977449204, CAST('{"attempt":1,"nodeId":"n","typeId":"core.noop"}' AS BLOB), 'n', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (402653194, 'cda60145376f048a9b31eee8', 'node.completed', 1794977449204, CAST('{"nodeId":"n","outputs":{}}' AS BLOB), 'n', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (402653195, '4670d90be53406c6e90f57df', 'run.completed', 1794977449204, CAST('{"outputs":{"n":{}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762048, 'b65f0958093c85de08e1eb64', 'run.started', 1794977449208, CAST('{"inputs":{},"owner":{"principal":"key_3210aa45025f451e","tenant":"acme"},"workflowId":"wait-short"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762049, '962c802c290d6edb908dc770', 'node.started', 1794977449208, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762050, '7dc395038662a83ad2fa6230', 'node.completed', 1794977449208, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762051, '5dbb4b7789d0da9ea17a1962', 'node.started', 1794977449208, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762052, 'effe4927f3d9476e300f3014', 'run.paused', 1794977449210, CAST('{"drainPolicy":"immediate","reason":"lunch"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (536870912, '92a00596991c6dedde238812', 'run.started', 1794977449212, CAST('{"inputs":{},"owner":{"principal":"key_3210aa45025f451e","tenant":"acme"},"workflowId":"wait-short"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (536870913, '635ca3318b88d6a49614efa5', 'node.started', 1794977449212, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (536870914, '5f3daeb295e0214452532cde', 'node.completed', 1794977449212, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (536870915, '4a4fb9931543116aacffdfce', 'node.started', 1794977449212, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (536870916, '948e9534a677bfe0b87da046', 'weftwork.run.pause-requested', 1794977449214, CAST('{"drainPolicy":"drain-current-node"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (536870917, 'aa45601cf909a2c48c30d51b', 'node.completed', 1794977451712, CAST('{"nodeId":"d","outputs":{}}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (536870918, '0226afa121526b2e8051ef55', 'run.paused', 1794977451712, CAST('{"drainPolicy":"drain-current-node"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (603979776, 'a811a437ff5c579634881140', 'run.started', 1794977451714, CAST('{"inputs":{},"owner":{"principal":"key_3210aa45025f451e","tenant":"acme"},"workflowId":"fails"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (603979777, '76ecbf3e8c7179b51bd9044e', 'node.started', 1794977451714, CAST('{"attempt":1,"nodeId":"a","typeId":"core.fail"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (603979778, 'fb2c505b7cddf0f9705eeca9', 'node.failed', 1794977451714, CAST('{"error":{"code":"conformance_test_failure","message":"Intentional conformance failure"},"nodeId":"a"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (603979779, '3fbaad68e7023eeb75f09440', 'run.failed', 1794977451714, CAST('{"error":{"code":"conformance_test_failure","message":"Intentional conformance failure"},"failedNodeId":"a"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (671088640, '617503a201ba8bd39b53e4bc', 'run.started', 1794977451717, CAST('{"inputs":{},"owner":{"principal":"key_3210aa45025f451e","tenant":"acme"},"workflowId":"asks"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (671088641, '147e8cbf7035f039625d207b', 'node.started', 1794977451717, CAST('{"attempt":1,"nodeId":"ask","typeId":"core.interrupt"}' AS BLOB), 'ask', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (671088642, '15f7cae2b05d4b92f5f1830d', 'interrupt.requested', 1794977451717, CAST('{"data":{"customKind":"supplier","payload":["north","south"]},"key":"ask","kind":"custom"}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1', NULL);
INSERT INTO events VALUES (671088643, 'd6624df89a087e4e4c53886c', 'node.suspended', 1794977451717, CAST('{"interruptId":"ask.1","key":"ask","kind":"custom","nodeId":"ask"}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1', NULL);
INSERT INTO events VALUES (738197504, 'e2bf7eb58c4f3113faa2580c', 'run.started', 1794977451720, CAST('{"inputs":{},"owner":{"principal":"key_3210aa45025f451e","tenant":"acme"},"workflowId":"event"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (738197505, '88fc3e9bd7f481977ad573a1', 'node.started', 1794977451720, CAST('{"attempt":1,"nodeId":"wait","typeId":"core.interrupt"}' AS BLOB), 'wait', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (738197506, '4748bb8a0948258f0cf01dac', 'interrupt.requested', 1794977451720, CAST('{"data":{"correlation":{"orderId":"o-1"},"eventType":"shop.order.paid"},"key":"wait","kind":"external-event"}' AS BLOB), 'wait', NULL, 1, 1, 'wait.1', NULL);
INSERT INTO events VALUES (738197507, 'b29c8b3dddb556193a91fc89', 'node.suspended', 1794977451720, CAST('{"interruptId":"wait.1","key":"wait","kind":"external-event","nodeId":"wait"}' AS BLOB), 'wait', NULL, 1, 1, 'wait.1', NULL);
INSERT INTO events VALUES (805306368, 'c3bc019a5a503e20b9d2fcdd', 'run.started', 1794977451723, CAST('{"inputs":{},"owner":{"principal":"key_3210aa45025f451e","tenant":"acme"},"workflowId":"form"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (805306369, '10cc3dd9c84ba113905d78ce', 'node.started', 1794977451723, CAST('{"attempt":1,"nodeId":"ask","typeId":"core.clarificationGate"}' AS BLOB), 'ask', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (805306370, 'ef5caed8706d59eaec86683c', 'interrupt.requested', 1794977451723, CAST('{"data":{"questions":[{"id":"day","question":"Which day?","schema":{"type":"string"}}]},"key":"ask","kind":"clarification"}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1', NULL);
INSERT INTO events VALUES (805306371, 'b6b7089be59c87f21bf9364a', 'clarification.requested', 1794977451723, CAST('{"interruptId":"ask.1","nodeId":"ask","questions":[{"id":"day","question":"Which day?","schema":{"type":"string"}}]}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1', NULL);
INSERT INTO events VALUES (805306372, '6012926ae3ae6389287ef873', 'node.suspended', 1794977451723, CAST('{"interruptId":"ask.1","key":"ask","kind":"clarification","nodeId":"ask"}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1', NULL);
INSERT INTO events VALUES (872415232, '69ab2a7497db199c4acc90a4', 'run.started', 1794977451726, CAST('{"inputs":{},"owner":{"principal":"key_3210aa45025f451e","tenant":"acme"},"workflowId":"talks"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (872415233, 'a2ce38133af49d6fb49e1481', 'node.started', 1794977451726, CAST('{"attempt":1,"nodeId":"t","typeId":"core.conversationGate"}' AS BLOB), 't', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (872415234, '327d335fa6949227e5b94a06', 'interrupt.requested', 1794977451727, CAST('{"data":{"conversationId":"01m7pfwkpeee0kv0qmfkh372s1:t:0","title":"Conversation"},"key":"t:start","kind":"conversation.start"}' AS BLOB), 't', NULL, 1, 1, 't.1', NULL);
INSERT INTO events VALUES (872415235, '0206766e680749614d91f19e', 'conversation.opened', 1794977451727, CAST('{"capabilities":["multi-turn"],"conversationId":"01m7pfwkpeee0kv0qmfkh372s1:t:0","initialTurn":{"content":"Conversation","from":"t","messageId":"t.0.0","role":"system","ts":1794977451727,"turnIndex":0}}' AS BLOB), 't', NULL, 1, 1, 't.1', NULL);
INSERT INTO events VALUES (872415236, 'ae8c2b3ac26a9e716ad9940b', 'interrupt.resolved', 1794977451727, CAST('{"interruptId":"t.1","kind":"conversation.start","nodeId":"t","resumeValue":null}' AS BLOB), 't', NULL, 1, 1, 't.1', NULL);
INSERT INTO events VALUES (872415237, 'ad1bafc344309fd2ce7ca0dd', 'interrupt.requested', 1794977451729, CAST('{"data":{"conversationId":"01m7pfwkpeee0kv0qmfkh372s1:t:0","prompt":"Please answer.","turnIndex":1},"key":"t:1","kind":"conversation.exchange"}' AS BLOB), 't', NULL, 1, 1, 't.2', NULL);
INSERT INTO events VALUES (872415238, '20e113b3c53bf0a08808e98a', 'node.suspended', 1794977451729, CAST('{"interruptId":"t.2","key":"t:1","kind":"conversation.exchange","nodeId":"t","reason":"conversation-input"}' AS BLOB), 't', NULL, 1, 1, 't.2', NULL);
INSERT INTO events VALUES (939524096, '5e9a83189245bde0e4e50d0c', 'run.started', 1794977451730, CAST('{"inputs":{},"owner":{"principal":"key_3210aa45025f451e","tenant":"acme"},"workflowId":"approve"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (939524097, '36e42d074bc8755083ed84c2', 'node.started', 1794977451730, CAST('{"attempt":1,"nodeId":"gate","typeId":"core.approvalGate"}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (939524098, 'aa84a4536b22459c3f658319', 'interrupt.requested', 1794977451730, CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","title":"Pay for a chair?"},"key":"gate","kind":"approval"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (939524099, 'fa4a29aef4d0b64b0f6ef95d', 'approval.requested', 1794977451730, CAST('{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","interruptId":"gate.1","nodeId":"gate","title":"Pay for a chair?"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (939524100, '1c66de55fe337436c83a318b', 'node.suspended', 1794977451730, CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (939524101, '965f8adedb9b3ac34189a380', 'interrupt.resolved', 1794977451733, CAST('{"interruptId":"gate.1","kind":"approval","nodeId":"gate","outcome":"rejected","resolvedBy":"key_3210aa45025f451e","resumeValue":{"action":"reject","decidedBy":"key_3210aa45025f451e"}}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (939524102, '32f937f7accb7b96950a7727', 'approval.received', 1794977451733, CAST('{"action":"reject","decidedBy":"key_3210aa45025f451e","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (939524103, '9a8837c8c4970f9265f49fd7', 'node.resumed', 1794977451733, CAST('{"interruptId":"gate.1","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (939524104, 'b720cf288affedaad2469e59', 'node.failed', 1794977451733, CAST('{"error":{"code":"interrupt_rejected","details":{"decidedBy":"key_3210aa45025f451e","reason":"rejected"},"message":"The approval was rejected."},"nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (939524105, '9e97ebcf1d9d5edc12bd8db9', 'node.skipped', 1794977451733, CAST('{"nodeId":"n","reason":"trigger-rule"}' AS BLOB), 'n', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (939524106, 'acfb44e5cca476e1b3f9d258', 'run.failed', 1794977451733, CAST('{"error":{"code":"interrupt_rejected","details":{"decidedBy":"key_3210aa45025f451e","reason":"rejected"},"message":"The approval was rejected."},"failedNodeId":"gate"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1006632960, 'e7013124ceccd7575861314a', 'run.started', 1794977451736, CAST('{"inputs":{},"owner":{"principal":"key_3210aa45025f451e","tenant":"acme"},"workflowId":"quorum"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1006632961, 'bf0d5063f1eaf27fd14bcd5d', 'node.started', 1794977451736, CAST('{"attempt":1,"nodeId":"gate","typeId":"core.approvalGate"}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1006632962, 'f04ed5535c13d6782f4c201a', 'interrupt.requested', 1794977451736, CAST('{"data":{"actions":["accept","reject"],"approversList":[],"artifactId":"gate","artifactType":"approval","requiredApprovals":2,"title":"Release?"},"key":"gate","kind":"approval"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1006632963, 'b281a3c3b919d09864b1ee30', 'approval.requested', 1794977451736, CAST('{"actions":["accept","reject"],"approversList":[],"artifactId":"gate","artifactType":"approval","interruptId":"gate.1","nodeId":"gate","requiredApprovals":2,"title":"Release?"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1006632964, '948550b27348dca8bd8cb445', 'node.suspended', 1794977451736, CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1006632965, 'bdd76a2bc49e75ca17458c6a', 'approval.granted', 1794977451739, CAST('{"gateId":"gate","principal":"ada","quorumProgress":{"granted":1,"required":2}}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1073741824, 'cd2245b714d1fac5882a0a25', 'run.started', 1794977451740, CAST('{"inputs":{},"owner":{"principal":"key_3210aa45025f451e","tenant":"acme"},"workflowId":"corrected"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1073741825, '085ed19d9ab9de2e407f2caa', 'node.started', 1794977451740, CAST('{"attempt":1,"nodeId":"again","typeId":"core.ai.generateEnvelope"}' AS BLOB), 'again', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1073741826, '9727e15b9b7128fd602b5086', 'weftwork.model.answered', 1794977451742, CAST('{"call":"/0.0","detail":"end_turn","inputTokens":99,"model":"scripted-1","nodeId":"again","outputTokens":6,"provider":"scripted","stop":"stop","text":"Monday would suit them."}' AS BLOB), 'again', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1073741827, '9c495fa52b2b0de909d5886e', 'provider.usage', 1794977451742, CAST('{"inputTokens":99,"model":"scripted-1","nodeId":"again","outputTokens":6,"provider":"scripted","totalTokens":105}' AS BLOB), 'again', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1073741828, '04adc365fc3972110814f3cf', 'envelope.retry.attempted', 1794977451742, CAST('{"attempt":2,"nodeId":"again","previousError":"The answer could not be parsed as JSON.","reason":"parse-error"}' AS BLOB), 'again', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1073741829, 'b9091f8116f52e322b0df2c2', 'weftwork.model.answered', 1794977451743, CAST('{"call":"/0.1","detail":"end_turn","inputTokens":152,"model":"scripted-1","nodeId":"again","outputTokens":16,"provider":"scripted","stop":"stop","text":"{\"type\": \"vendor.example.booking\", \"payload\": {\"day\": \"Monday\"}}"}' AS BLOB), 'again', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1073741830, '2ea5301b3a1510314c94efb4', 'provider.usage', 1794977451743, CAST('{"inputTokens":152,"model":"scripted-1","nodeId":"again","outputTokens":16,"provider":"scripted","totalTokens":168}' AS BLOB), 'again', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1073741831, 'e447876159ed6ebbc092833a', 'weftwork.envelope.recorded', 1794977451744, CAST('{"correlationId":"01m7pfwkpwqqajfp41baj4csvs:again:/0.0.1:0:91211f78","envelopeId":"env-5f92c2858b21b5d698d724863cbfdf53","nodeId":"again","payload":{"day":"Monday"},"redactionCount":0,"schemaVersion":1,"status":"accepted","type":"vendor.example.booking"}' AS BLOB), 'again', '01m7pfwkpwqqajfp41baj4csvs:again:/0.0.1:0:91211f78', 1, 1, NULL, 'trusted');
INSERT INTO events VALUES (1073741832, '698923f1fc3347614f3e6d46', 'node.completed', 1794977451745, CAST('{"nodeId":"again","outputs":{"contentTrust":"trusted","envelopeId":"env-5f92c2858b21b5d698d724863cbfdf53","envelopeType":"vendor.example.booking","finishReason":"stop","model":"scripted-1","payload":{"day":"Monday"},"usage":{"inputTokens":152,"outputTokens":16,"totalTokens":168}}}' AS BLOB), 'again', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1073741833, '35ad65077ca88501a128c4e8', 'node.started', 1794977451745, CAST('{"attempt":1,"nodeId":"n","typeId":"core.noop"}' AS BLOB), 'n', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1073741834, '2ce0ca438f1af9d05abf3a19', 'node.completed', 1794977451745, CAST('{"nodeId":"n","outputs":{}}' AS BLOB), 'n', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1073741835, '2c65ef62e0d9edd7d5827655', 'run.completed', 1794977451745, CAST('{"outputs":{"n":{}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1140850688, 'd76eb6af07bf839d278dfa2b', 'run.started', 1794977451757, CAST('{"inputs":{},"owner":{"principal":"key_3210aa45025f451e","tenant":"acme"},"workflowId":"shaped"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1140850689, '364b89396e6ec9e789077dcb', 'node.started', 1794977451757, CAST('{"attempt":1,"nodeId":"shape","typeId":"core.ai.structuredOutput"}' AS BLOB), 'shape', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1140850690, '1f24a49c0eb3926230950fd5', 'weftwork.model.answered', 1794977451760, CAST('{"call":"/0.0","detail":"end_turn","inputTokens":49,"model":"scripted-1","nodeId":"shape","outputTokens":5,"provider":"scripted","stop":"stop","text":"{\"day\": \"Monday\"}"}' AS BLOB), 'shape', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1140850691, '22993711d79fadb43370008e', 'provider.usage', 1794977451760, CAST('{"inputTokens":49,"model":"scripted-1","nodeId":"shape","outputTokens":5,"provider":"scripted","totalTokens":54}' AS BLOB), 'shape', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1140850692, '370d53621eac8bea19a134a7', 'weftwork.envelope.recorded', 1794977451761, CAST('{"correlationId":"01m7pfwkqd5m3sgpkt6yebsnv2:shape:/0.0.0:0:31b94bed","envelopeId":"env-815df8ab33bbd4ec0e27b44b295f205d","nodeId":"shape","payload":{"day":"Monday"},"redactionCount":0,"schemaVersion":1,"status":"accepted","type":"vendor.weftwork.structured-output"}' AS BLOB), 'shape', '01m7pfwkqd5m3sgpkt6yebsnv2:shape:/0.0.0:0:31b94bed', 1, 1, NULL, 'trusted');
INSERT INTO events VALUES (1140850693, '7edea959bd0b35b3e36bb554', 'node.completed', 1794977451762, CAST('{"nodeId":"shape","outputs":{"data":{"day":"Monday"},"finishReason":"stop","model":"scripted-1","usage":{"inputTokens":49,"outputTokens":5,"totalTokens":54}}}' AS BLOB), 'shape', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1140850694, '05b8d011da62e50a9cf64ff6', 'node.started', 1794977451762, CAST('{"attempt":1,"nodeId":"n","typeId":"core.noop"}' AS BLOB), 'n', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1140850695, '35fac2778aaeb204b4fa639b', 'node.completed', 1794977451762, CAST('{"nodeId":"n","outputs":{}}' AS BLOB), 'n', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1140850696, '50b505f88cd3226a095744a5', 'run.completed', 1794977451762, CAST('{"outputs":{"n":{}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1207959552, 'd0cc17ca3ab0ff40f2a9d194', 'run.started', 1794977451774, CAST('{"inputs":{},"owner":{"principal":"key_3210aa45025f451e","tenant":"acme"},"workflowId":"clarify"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1207959553, '60dddfb6ad44cf3ea93164f0', 'node.started', 1794977451774, CAST('{"attempt":1,"nodeId":"book","typeId":"core.ai.generateEnvelope"}' AS BLOB), 'book', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1207959554, 'c28746e69fbf0fafee9a241f', 'weftwork.model.answered', 1794977451776, CAST('{"call":"/0.0","detail":"end_turn","inputTokens":99,"model":"scripted-1","nodeId":"book","outputTokens":36,"provider":"scripted","stop":"stop","text":"{\"type\": \"clarification.request\", \"payload\": {\"questions\": [{\"id\": \"people\", \"question\": \"How many are you?\", \"schema\": {\"type\": \"integer\"}}]}}"}' AS BLOB), 'book', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1207959555, 'c99885ded7c58c8e4ead06cd', 'provider.usage', 1794977451776, CAST('{"inputTokens":99,"model":"scripted-1","nodeId":"book","outputTokens":36,"provider":"scripted","totalTokens":135}' AS BLOB), 'book', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1207959556, '507600140282774da88449a1', 'weftwork.envelope.recorded', 1794977451777, CAST('{"correlationId":"01m7pfwkqy2sxpxyr4m5t4bcfj:book:/0.0.0:0:5b97a253","drift":true,"envelopeId":"env-77088d8206adc8d62c5c94f89a42e512","floor":1,"nodeId":"book","payload":{"questions":[{"id":"people","question":"How many are you?","schema":{"type":"integer"}}]},"redactionCount":0,"schemaVersion":0,"status":"accepted","type":"clarification.request"}' AS BLOB), 'book', '01m7pfwkqy2sxpxyr4m5t4bcfj:book:/0.0.0:0:5b97a253', 1, 1, NULL, 'trusted');
INSERT INTO events VALUES (1207959557, '471295181824cfcbda6c7834', 'interrupt.requested', 1794977451777, CAST('{"data":{"questions":[{"id":"people","question":"How many are you?","schema":{"type":"integer"}}]},"key":"envelope:01m7pfwkqy2sxpxyr4m5t4bcfj:book:/0.0.0:0:5b97a253","kind":"clarification"}' AS BLOB), 'book', '01m7pfwkqy2sxpxyr4m5t4bcfj:book:/0.0.0:0:5b97a253', 1, 1, 'book.1', 'trusted');
INSERT INTO events VALUES (1207959558, 'f05c83a2df8fed5aba6d5df1', 'clarification.requested', 1794977451777, CAST('{"interruptId":"book.1","nodeId":"book","questions":[{"id":"people","question":"How many are you?","schema":{"type":"integer"}}]}' AS BLOB), 'book', '01m7pfwkqy2sxpxyr4m5t4bcfj:book:/0.0.0:0:5b97a253', 1, 1, 'book.1', 'trusted');
INSERT INTO events VALUES (1207959559, 'e82c3d384a6fb9385042923b', 'node.suspended', 1794977451777, CAST('{"interruptId":"book.1","key":"envelope:01m7pfwkqy2sxpxyr4m5t4bcfj:book:/0.0.0:0:5b97a253","kind":"clarification","nodeId":"book"}' AS BLOB), 'book', '01m7pfwkqy2sxpxyr4m5t4bcfj:book:/0.0.0:0:5b97a253', 1, 1, 'book.1', 'trusted');
INSERT INTO events VALUES (1207959560, '3ff6975ecf9d9abc0d670b16', 'interrupt.resolved', 1794977451779, CAST('{"interruptId":"book.1","kind":"clarification","nodeId":"book","resolvedBy":"key_3210aa45025f451e","resumeValue":{"answers":{"people":2}}}' AS BLOB), 'book', NULL, 1, 1, 'book.1', NULL);
INSERT INTO events VALUES (1207959561, '6e4fde7ccafce4e06e77514b', 'clarification.resolved', 1794977451779, CAST('{"answeredBy":"key_3210aa45025f451e","answers":{"people":2},"nodeId":"book"}' AS BLOB), 'book', NULL, 1, 1, 'book.1', NULL);
INSERT INTO events VALUES (1207959562, 'c3ade060e434caaea4212e6e', 'node.resumed', 1794977451779, CAST('{"interruptId":"book.1","nodeId":"book"}' AS BLOB), 'book', NULL, 1, 1, 'book.1', NULL);
INSERT INTO events VALUES (1207959563, '49e45e0bd7cb318cb9bd1dfa', 'weftwork.model.answered', 1794977451781, CAST('{"call":"/0.1","detail":"end_turn","inputTokens":150,"model":"scripted-1","nodeId":"book","outputTokens":16,"provider":"scripted","stop":"stop","text":"{\"type\": \"vendor.example.booking\", \"payload\": {\"day\": \"Monday\"}}"}' AS BLOB), 'book', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1207959564, 'e7b8b01a1aab6bf61b9d706c', 'provider.usage', 1794977451781, CAST('{"inputTokens":150,"model":"scripted-1","nodeId":"book","outputTokens":16,"provider":"scripted","totalTokens":166}' AS BLOB), 'book', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1207959565, '3c94b682d6f648892fae0aae', 'weftwork.envelope.recorded', 1794977451782, CAST('{"correlationId":"01m7pfwkqy2sxpxyr4m5t4bcfj:book:/0.0.1:0:91211f78","envelopeId":"env-b58dbed7c8d0685d223b94f265ef2a68","nodeId":"book","payload":{"day":"Monday"},"redactionCount":0,"schemaVersion":1,"status":"accepted","type":"vendor.example.booking"}' AS BLOB), 'book', '01m7pfwkqy2sxpxyr4m5t4bcfj:book:/0.0.1:0:91211f78', 1, 1, NULL, 'trusted');
INSERT INTO events VALUES (1207959566, '31eefae20e2ec0576dc86750', 'node.completed', 1794977451783, CAST('{"nodeId":"book","outputs":{"contentTrust":"trusted","envelopeId":"env-b58dbed7c8d0685d223b94f265ef2a68","envelopeType":"vendor.example.booking","finishReason":"stop","model":"scripted-1","payload":{"day":"Monday"},"usage":{"inputTokens":150,"outputTokens":16,"totalTokens":166}}}' AS BLOB), 'book', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1207959567, 'b73e55fb14b360248ba0f1ac', 'node.started', 1794977451783, CAST('{"attempt":1,"nodeId":"n","typeId":"core.noop"}' AS BLOB), 'n', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1207959568, 'df1afb60c83ca4b900460c7f', 'node.completed', 1794977451783, CAST('{"nodeId":"n","outputs":{}}' AS BLOB), 'n', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1207959569, 'b91c614132dadbf27694bf0c', 'run.completed', 1794977451783, CAST('{"outputs":{"n":{}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1275068416, '49328ea2fdefd1be69cc8142', 'run.started', 1794977451795, CAST('{"inputs":{},"owner":{"principal":"key_3210aa45025f451e","tenant":"acme"},"workflowId":"approve"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1275068417, '356e814635b0144e5c283e32', 'node.started', 1794977451795, CAST('{"attempt":1,"nodeId":"gate","typeId":"core.approvalGate"}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1275068418, '62ff98b534693af9d9ac7fbc', 'interrupt.requested', 1794977451795, CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","title":"Pay for a chair?"},"key":"gate","kind":"approval"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1275068419, 'b81c73c7b131be3031d784c5', 'approval.requested', 1794977451795, CAST('{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","interruptId":"gate.1","nodeId":"gate","title":"Pay for a chair?"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1275068420, 'b60b37ee70d761a266f65439', 'node.suspended', 1794977451795, CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1275068421, '38ff563214d84f2db90351f9', 'node.cancelled', 1794977451799, CAST('{"nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1275068422, '4f8eb29da8da204c31830169', 'run.cancelled', 1794977451799, CAST('{}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1342177280, 'd2a94241e5b9f15dd6a57a3e', 'run.started', 1794977451802, CAST('{"inputs":{},"owner":{"principal":"key_3210aa45025f451e","tenant":"acme"},"workflowId":"parent"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1342177281, '0be39b2af99201e04f3a66cf', 'node.started', 1794977451802, CAST('{"attempt":1,"nodeId":"s","typeId":"core.subWorkflow"}' AS BLOB), 's', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1342177282, 'a3b52703bc460c79133661b6', 'weftwork.child.started', 1794977451803, CAST('{"awaited":true,"childRunId":"01m7pfwkrvx47391qr9n0e79ph","key":"child","workflowId":"wait-long"}' AS BLOB), 's', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1342177283, '24095c246f4c6cfbcd78f069', 'node.cancelled', 1794977451815, CAST('{"nodeId":"s"}' AS BLOB), 's', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1342177284, 'b3632a6d2c6b5f067e8064df', 'run.cancelled', 1794977451815, CAST('{}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1409286144, '96bbf3be4b50cce68d3a7b7e', 'run.started', 1794977451804, CAST('{"inputs":{},"owner":{"principal":"key_3210aa45025f451e","tenant":"acme"},"workflowId":"wait-long"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1409286145, 'dcf39f1c70a03d44bf43c4d8', 'node.started', 1794977451804, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1409286146, '58e93fc224c616c7e46a241a', 'node.completed', 1794977451804, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1409286147, '6f5094882c0f1efff44fc445', 'node.started', 1794977451804, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1409286148, '35aec5d8b51f24a56f7bba47', 'weftwork.run.cancel-requested', 1794977451817, CAST('{"parentRunId":"01m7pfwkrs3z65zd20xwv750m9","reason":"parent-cancelled"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1409286149, '9edcc2cc318aaff7204b8abc', 'node.cancelled', 1794977451818, CAST('{"nodeId":"d"}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1409286150, '4b6a87de3f3df4b7404d1f39', 'run.cancelled', 1794977451818, CAST('{"parentRunId":"01m7pfwkrs3z65zd20xwv750m9","reason":"parent-cancelled"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395008, '2d15176401526f1acd75342a', 'run.started', 1794977451819, CAST('{"inputs":{},"owner":{"principal":"key_3210aa45025f451e","tenant":"acme"},"workflowId":"parent-asks"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395009, '18f59f6dbc718a4f9cc74ebf', 'node.started', 1794977451819, CAST('{"attempt":1,"nodeId":"s","typeId":"core.subWorkflow"}' AS BLOB), 's', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395010, 'afc6eaa254016f8e9d298139', 'weftwork.child.started', 1794977451820, CAST('{"awaited":true,"childRunId":"01m7pfwkscthsqc6dkajdz8cd5","key":"child","workflowId":"approve"}' AS BLOB), 's', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395011, '77b9a510e4ae92e5fce93aa4', 'weftwork.child.status', 1794977451823, CAST('{"childRunId":"01m7pfwkscthsqc6dkajdz8cd5","key":"child","status":"waiting-approval"}' AS BLOB), 's', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1543503872, 'e1407d3635d1a9d0cf113e60', 'run.started', 1794977451821, CAST('{"inputs":{},"owner":{"principal":"key_3210aa45025f451e","tenant":"acme"},"workflowId":"approve"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1543503873, '312dfe33ae7760f8e9cc080f', 'node.started', 1794977451821, CAST('{"attempt":1,"nodeId":"gate","typeId":"core.approvalGate"}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1543503874, '919903af0cc35f31604aaa55', 'interrupt.requested', 1794977451821, CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","title":"Pay for a chair?"},"key":"gate","kind":"approval"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1543503875, '3dee865abd572f390906ae6b', 'approval.requested', 1794977451821, CAST('{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","interruptId":"gate.1","nodeId":"gate","title":"Pay for a chair?"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1543503876, '03b5df71af2cd67be0ea7484', 'node.suspended', 1794977451821, CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1610612736, '3a96274f12c06829576e0d1f', 'run.started', 1794977451823, CAST('{"inputs":{},"owner":{"principal":"key_3210aa45025f451e","tenant":"acme"},"workflowId":"parent-model"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1610612737, '7d40c1628234977680b05044', 'node.started', 1794977451823, CAST('{"attempt":1,"nodeId":"s","typeId":"core.subWorkflow"}' AS BLOB), 's', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1610612738, '20b118518ed0aa5c5f01346c', 'weftwork.child.started', 1794977451825, CAST('{"awaited":true,"childRunId":"01m7pfwksgj39b9v5sx02vrcep","key":"child","workflowId":"clarify"}' AS BLOB), 's', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1610612739, '5ae2e53f633904ccd33dc1a4', 'weftwork.child.status', 1794977451830, CAST('{"childRunId":"01m7pfwksgj39b9v5sx02vrcep","key":"child","status":"waiting-input"}' AS BLOB), 's', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1677721600, 'a743728ebbb595beb84e67ef', 'run.started', 1794977451826, CAST('{"inputs":{},"owner":{"principal":"key_3210aa45025f451e","tenant":"acme"},"workflowId":"clarify"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1677721601, '1e14dd1e874dda2becd50576', 'node.started', 1794977451826, CAST('{"attempt":1,"nodeId":"book","typeId":"core.ai.generateEnvelope"}' AS BLOB), 'book', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1677721602, '7f1c3c465b52534db216dbb9', 'weftwork.model.answered', 1794977451827, CAST('{"call":"/0.0","detail":"end_turn","inputTokens":99,"model":"scripted-1","nodeId":"book","outputTokens":36,"provider":"scripted","stop":"stop","text":"{\"type\": \"clarification.request\", \"payload\": {\"questions\": [{\"id\": \"people\", \"question\": \"How many are you?\", \"schema\": {\"type\": \"integer\"}}]}}"}' AS BLOB), 'book', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1677721603, '3a2f9de50b9f3ff56b47b419', 'provider.usage', 1794977451827, CAST('{"inputTokens":99,"model":"scripted-1","nodeId":"book","outputTokens":36,"provider":"scripted","totalTokens":135}' AS BLOB), 'book', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1677721604, '2e8462f32000451f4bac4d2d', 'weftwork.envelope.recorded', 1794977451829, CAST('{"correlationId":"01m7pfwksgj39b9v5sx02vrcep:book:/0.0.0:0:5b97a253","drift":true,"envelopeId":"env-771194947f0d819d690ab71a494cfbe2","floor":1,"nodeId":"book","payload":{"questions":[{"id":"people","question":"How many are you?","schema":{"type":"integer"}}]},"redactionCount":0,"schemaVersion":0,"status":"accepted","type":"clarification.request"}' AS BLOB), 'book', '01m7pfwksgj39b9v5sx02vrcep:book:/0.0.0:0:5b97a253', 1, 1, NULL, 'trusted');
INSERT INTO events VALUES (1677721605, '9582476ff81817d9e0f2adb1', 'interrupt.requested', 1794977451829, CAST('{"data":{"questions":[{"id":"people","question":"How many are you?","schema":{"type":"integer"}}]},"key":"envelope:01m7pfwksgj39b9v5sx02vrcep:book:/0.0.0:0:5b97a253","kind":"clarification"}' AS BLOB), 'book', '01m7pfwksgj39b9v5sx02vrcep:book:/0.0.0:0:5b97a253', 1, 1, 'book.1', 'trusted');
INSERT INTO events VALUES (1677721606, 'eaf1c4802dbc6625a067b025', 'clarification.requested', 1794977451829, CAST('{"interruptId":"book.1","nodeId":"book","questions":[{"id":"people","question":"How many are you?","schema":{"type":"integer"}}]}' AS BLOB), 'book', '01m7pfwksgj39b9v5sx02vrcep:book:/0.0.0:0:5b97a253', 1, 1, 'book.1', 'trusted');
INSERT INTO events VALUES (1677721607, '2a9ab5c017fb0f8ea13ed8f0', 'node.suspended', 1794977451829, CAST('{"interruptId":"book.1","key":"envelope:01m7pfwksgj39b9v5sx02vrcep:book:/0.0.0:0:5b97a253","kind":"clarification","nodeId":"book"}' AS BLOB), 'book', '01m7pfwksgj39b9v5sx02vrcep:book:/0.0.0:0:5b97a253', 1, 1, 'book.1', 'trusted');
INSERT INTO events VALUES (1744830464, '1671af93e938e07789279095', 'run.started', 1794977451825, CAST('{"inputs":{},"owner":{"principal":"key_3210aa45025f451e","tenant":"acme"},"workflowId":"parent"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1744830465, 'e746432c6a2401f5fb2d4b24', 'node.started', 1794977451825, CAST('{"attempt":1,"nodeId":"s","typeId":"core.subWorkflow"}' AS BLOB), 's', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1744830466, '293538257d62743d45dfbd7b', 'weftwork.child.started', 1794977451827, CAST('{"awaited":true,"childRunId":"01m7pfwksj5dp67azvbxcb761r","key":"child","workflowId":"wait-long"}' AS BLOB), 's', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1811939328, 'a3d9f4d3dc302784c0e72790', 'run.started', 1794977451828, CAST('{"inputs":{},"owner":{"principal":"key_3210aa45025f451e","tenant":"acme"},"workflowId":"wait-long"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1811939329, 'a35c85ec781ca72e7077fd7b', 'node.started', 1794977451828, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1811939330, '29f4495b04c19236d0ad2ecd', 'node.completed', 1794977451828, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1811939331, '4f4669706275945ef4c9010b', 'node.started', 1794977451828, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1879048192, 'f1bf9d6d6929d64205076258', 'run.started', 1794977451840, CAST('{"inputs":{},"owner":{"principal":"key_3210aa45025f451e","tenant":"acme"},"workflowId":"wait-long"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1879048193, '3911794520a99060b3f5df05', 'node.started', 1794977451840, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1879048194, '9561dfb14399fffc6519bc01', 'node.completed', 1794977451840, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1879048195, 'd243b4a8666bdad1adef5e09', 'node.started', 1794977451840, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1879048196, 'd1c5fd6e12833b40a8c32806', 'run.paused', 1794977451842, CAST('{"drainPolicy":"immediate"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1879048197, '50355c50ade60a68dacae5a0', 'run.resumed', 1794977451844, CAST('{}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1879048198, '84794716608cfc28cb1632e3', 'node.started', 1794977451844, CAST('{"attempt":2,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1946157056, 'c341b52fdca1e4e9bd34be47', 'run.started', 1794977451846, CAST('{"inputs":{},"owner":{"principal":"key_3210aa45025f451e","tenant":"acme"},"workflowId":"list"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1946157057, 'a4e2786d6a49ebc09b393f4d', 'node.started', 1794977451846, CAST('{"attempt":1,"nodeId":"m","typeId":"core.flow.map"}' AS BLOB), 'm', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1946157058, '607c4d9df4b719dbbea95e07', 'weftwork.map.item', 1794977451849, CAST('{"index":0,"output":{}}' AS BLOB), 'm', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1946157059, '053f15120687cd96ce047297', 'weftwork.map.item', 1794977451851, CAST('{"index":2,"output":{}}' AS BLOB), 'm', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2013265920, '29e3baccd9b93527cad9cdcf', 'run.started', 1794977451849, CAST('{"inputs":{},"owner":{"principal":"key_3210aa45025f451e","tenant":"acme"},"workflowId":"wait-long"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2013265921, 'ce4f60d148529f6aee58a07d', 'node.started', 1794977451849, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2013265922, '2f0585f78107c31d29974479', 'node.completed', 1794977451849, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2013265923, '1f3a4a14347310c8924caed0', 'node.started', 1794977451849, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2080374784, '108a5d65f4f49b57ccf5b235', 'run.started', 1794977451852, CAST('{"inputs":{},"owner":{"principal":"key_3210aa45025f451e","tenant":"acme"},"workflowId":"wait-long"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2080374785, '17ac3c1700d58e58675a7893', 'node.started', 1794977451852, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2080374786, '7d54cf80c2c34f2263a0e5ac', 'node.completed', 1794977451852, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2080374787, 'e3043c53c01c734021d251ae', 'node.started', 1794977451852, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2080374788, '6ad3670555a76dafcbed7475', 'weftwork.run.pause-requested', 1794977451854, CAST('{"drainPolicy":"drain-current-node"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO run_state VALUES (1, 'node', 'a', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (1, 'node', 'b', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (1, 'node', 'c', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (1, 'variable', 'secret', CAST('"[REDACTED:secret]"' AS BLOB));
INSERT INTO run_state VALUES (1, 'variable', 'word', CAST('"owl"' AS BLOB));
INSERT INTO run_state VALUES (2, 'node', 'a', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (2, 'node', 'b', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (2, 'node', 'c', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (2, 'variable', 'secret', CAST('"[REDACTED:secret]"' AS BLOB));
INSERT INTO run_state VALUES (2, 'variable', 'word', CAST('"owl"' AS BLOB));
INSERT INTO run_state VALUES (3, 'node', 'sum', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (4, 'interrupt', 'book.1', CAST('{"data":{"questions":[{"id":"people","question":"How many are you?","schema":{"type":"integer"}}]},"interruptId":"book.1","key":"envelope:01m7pfwh792ggkpemr487x5wta:book:/0.0.0:0:5b97a253","kind":"clarification","nodeId":"book","requestedAt":"2026-11-18T04:50:49.196Z","status":"open"}' AS BLOB));
INSERT INTO run_state VALUES (4, 'node', 'book', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (5, 'interrupt', 'gate.1', CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","title":"Pay for a chair?"},"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","requestedAt":"2026-11-18T04:50:49.198Z","status":"open"}' AS BLOB));
INSERT INTO run_state VALUES (5, 'node', 'gate', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (6, 'interrupt', 'gate.1', CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","outcome":"accepted","requestedAt":"2026-11-18T04:50:49.202Z","resolvedAt":"2026-11-18T04:50:49.204Z","resolvedBy":"ada","status":"resolved"}' AS BLOB));
INSERT INTO run_state VALUES (6, 'node', 'gate', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (6, 'node', 'n', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (7, 'node', 'a', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (7, 'node', 'd', CAST('{"attempt":1,"status":"pending"}' AS BLOB));
INSERT INTO run_state VALUES (8, 'node', 'a', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (8, 'node', 'd', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (9, 'node', 'a', CAST('{"attempt":1,"error":{"code":"conformance_test_failure","message":"Intentional conformance failure"},"status":"failed"}' AS BLOB));
INSERT INTO run_state VALUES (10, 'interrupt', 'ask.1', CAST('{"data":{"customKind":"supplier","payload":["north","south"]},"interruptId":"ask.1","key":"ask","kind":"custom","nodeId":"ask","requestedAt":"2026-11-18T04:50:51.717Z","status":"open"}' AS BLOB));
INSERT INTO run_state VALUES (10, 'node', 'ask', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (11, 'interrupt', 'wait.1', CAST('{"data":{"correlation":{"orderId":"o-1"},"eventType":"shop.order.paid"},"interruptId":"wait.1","key":"wait","kind":"external-event","nodeId":"wait","requestedAt":"2026-11-18T04:50:51.720Z","status":"open"}' AS BLOB));
INSERT INTO run_state VALUES (11, 'node', 'wait', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (12, 'interrupt', 'ask.1', CAST('{"data":{"questions":[{"id":"day","question":"Which day?","schema":{"type":"string"}}]},"interruptId":"ask.1","key":"ask","kind":"clarification","nodeId":"ask","requestedAt":"2026-11-18T04:50:51.723Z","status":"open"}' AS BLOB));
INSERT INTO run_state VALUES (12, 'node', 'ask', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (13, 'interrupt', 't.1', CAST('{"interruptId":"t.1","key":"t:start","kind":"conversation.start","nodeId":"t","requestedAt":"2026-11-18T04:50:51.727Z","resolvedAt":"2026-11-18T04:50:51.727Z","status":"resolved"}' AS BLOB));
INSERT INTO run_state VALUES (13, 'interrupt', 't.2', CAST('{"data":{"conversationId":"01m7pfwkpeee0kv0qmfkh372s1:t:0","prompt":"Please answer.","turnIndex":1},"interruptId":"t.2","key":"t:1","kind":"conversation.exchange","nodeId":"t","requestedAt":"2026-11-18T04:50:51.729Z","status":"open"}' AS BLOB));
INSERT INTO run_state VALUES (13, 'node', 't', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (14, 'interrupt', 'gate.1', CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","outcome":"rejected","requestedAt":"2026-11-18T04:50:51.730Z","resolvedAt":"2026-11-18T04:50:51.733Z","resolvedBy":"key_3210aa45025f451e","status":"resolved"}' AS BLOB));
INSERT INTO run_state VALUES (14, 'node', 'gate', CAST('{"attempt":1,"error":{"code":"interrupt_rejected","details":{"decidedBy":"key_3210aa45025f451e","reason":"rejected"},"message":"The approval was rejected."},"status":"failed"}' AS BLOB));
INSERT INTO run_state VALUES (14, 'node', 'n', CAST('{"status":"skipped"}' AS BLOB));
INSERT INTO run_state VALUES (15, 'interrupt', 'gate.1', CAST('{"data":{"actions":["accept","reject"],"approversList":[],"artifactId":"gate","artifactType":"approval","requiredApprovals":2,"title":"Release?"},"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","requestedAt":"2026-11-18T04:50:51.736Z","status":"open","votes":[{"action":"accept","voter":"ada"}]}' AS BLOB));
INSERT INTO run_state VALUES (15, 'node', 'gate', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (16, 'node', 'again', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (16, 'node', 'n', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (17, 'node', 'n', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (17, 'node', 'shape', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (18, 'interrupt', 'book.1', CAST('{"interruptId":"book.1","key":"envelope:01m7pfwkqy2sxpxyr4m5t4bcfj:book:/0.0.0:0:5b97a253","kind":"clarification","nodeId":"book","requestedAt":"2026-11-18T04:50:51.777Z","resolvedAt":"2026-11-18T04:50:51.779Z","resolvedBy":"key_3210aa45025f451e","status":"resolved"}' AS BLOB));
INSERT INTO run_state VALUES (18, 'node', 'book', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (18, 'node', 'n', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (19, 'interrupt', 'gate.1', CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","requestedAt":"2026-11-18T04:50:51.795Z","status":"cancelled"}' AS BLOB));
INSERT INTO run_state VALUES (19, 'node', 'gate', CAST('{"attempt":1,"status":"cancelled"}' AS BLOB));
INSERT INTO run_state VALUES (20, 'kin', 'children', CAST('1' AS BLOB));
INSERT INTO run_state VALUES (20, 'node', 's', CAST('{"attempt":1,"status":"cancelled"}' AS BLOB));
INSERT INTO run_state VALUES (21, 'node', 'a', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (21, 'node', 'd', CAST('{"attempt":1,"status":"cancelled"}' AS BLOB));
INSERT INTO run_state VALUES (22, 'kin', 'children', CAST('1' AS BLOB));
INSERT INTO run_state VALUES (22, 'node', 's', CAST('{"attempt":1,"status":"running"}' AS BLOB));
INSERT INTO run_state VALUES (23, 'interrupt', 'gate.1', CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","title":"Pay for a chair?"},"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","requestedAt":"2026-11-18T04:50:51.821Z","status":"open"}' AS BLOB));
INSERT INTO run_state VALUES (23, 'node', 'gate', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (24, 'kin', 'children', CAST('1' AS BLOB));
INSERT INTO run_state VALUES (24, 'node', 's', CAST('{"attempt":1,"status":"running"}' AS BLOB));
INSERT INTO run_state VALUES (25, 'interrupt', 'book.1', CAST('{"data":{"questions":[{"id":"people","question":"How many are you?","schema":{"type":"integer"}}]},"interruptId":"book.1","key":"envelope:01m7pfwksgj39b9v5sx02vrcep:book:/0.0.0:0:5b97a253","kind":"clarification","nodeId":"book","requestedAt":"2026-11-18T04:50:51.829Z","status":"open"}' AS BLOB));
INSERT INTO run_state VALUES (25, 'node', 'book', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (26, 'kin', 'children', CAST('1' AS BLOB));
INSERT INTO run_state VALUES (26, 'node', 's', CAST('{"attempt":1,"status":"running"}' AS BLOB));
INSERT INTO run_state VALUES (27, 'node', 'a', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (27, 'node', 'd', CAST('{"attempt":1,"status":"running"}' AS BLOB));
INSERT INTO run_state VALUES (28, 'node', 'a', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (28, 'node', 'd', CAST('{"attempt":2,"status":"running"}' AS BLOB));
INSERT INTO run_state VALUES (29, 'node', 'm', CAST('{"attempt":1,"status":"running"}' AS BLOB));
INSERT INTO run_state VALUES (30, 'node', 'a', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (30, 'node', 'd', CAST('{"attempt":1,"status":"running"}' AS BLOB));
INSERT INTO run_state VALUES (31, 'node', 'a', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (31, 'node', 'd', CAST('{"attempt":1,"status":"running"}' AS BLOB));
INSERT INTO hidden VALUES (1, 1, -1, '/secret', CAST('"xxxx"' AS BLOB));
INSERT INTO hidden VALUES (2, 1, 0, '/inputs/secret', CAST('"xxxx"' AS BLOB));
INSERT INTO hidden VALUES (3, 1, 4, '/outputs/secret', CAST('"xxxx"' AS BLOB));
INSERT INTO hidden VALUES (4, 1, 4, '/outputs/word', CAST('"xxx"' AS BLOB));
INSERT INTO hidden VALUES (5, 2, -1, '/secret', CAST('"xxxx"' AS BLOB));
INSERT INTO hidden VALUES (6, 2, 0, '/inputs/secret', CAST('"xxxx"' AS BLOB));
INSERT INTO hidden VALUES (7, 2, 4, '/outputs/secret', CAST('"xxxx"' AS BLOB));
INSERT INTO hidden VALUES (8, 2, 4, '/outputs/word', CAST('"xxx"' AS BLOB));
INSERT INTO idempotency VALUES (1, 'live:acme', '3346b8cd67ce915885402ac3f66a1b52ab99e257ac93310507b64ff686eb2bec', '0de3d0b6157f6460451b6c6008a8690bf931fd4076a16919237e5b79e23a008a', CAST('{"run_id":"01m7pfwh7qrbps0vmm7m46cjm2","status":"paused","at":1794977449209,"node_id":"","replayed":false}' AS BLOB), 1794977449209);
INSERT INTO definitions VALUES ('163ed29a7d3895f24a1b7014b083529a080aa434c46abf0e05db965049c3ace4', CAST('{"edges":[{"id":"again-n","sourceNodeId":"again","targetNodeId":"n"}],"id":"corrected","metadata":{"envelopeKinds":{"vendor.example.booking":{"schema":{"properties":{"day":{"type":"string"}},"required":["day"],"type":"object"}}}},"name":"corrected","nodes":[{"config":{"envelopeType":"vendor.example.booking","systemPrompt":"You book tables.","userMessage":"A table, please."},"envelopeContract":{"accepts":["vendor.example.booking"]},"id":"again","inputs":{},"name":"book","position":{"x":0,"y":0},"typeId":"core.ai.generateEnvelope"},{"config":{},"id":"n","inputs":{},"name":"n","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('24a8cc7e854b513343fdec75ea202c06f6735ecfe86b3b3334bc2e9c5d88ef31', CAST('{"edges":[{"id":"gate-n","sourceNodeId":"gate","targetNodeId":"n"}],"id":"quorum","metadata":{},"name":"quorum","nodes":[{"config":{"approversList":[],"requiredApprovals":2,"title":"Release?"},"id":"gate","inputs":{},"name":"gate","position":{"x":0,"y":0},"typeId":"core.approvalGate"},{"config":{},"id":"n","inputs":{},"name":"n","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('2da9ae168a9bba87e853e3628297b9d9fddeb402a7a4dcb74f28faddbb0c7548', CAST('{"edges":[],"id":"summary","metadata":{},"name":"summary","nodes":[{"config":{"maxTokens":100,"prompt":"A letter: the lamp is broken."},"id":"sum","inputs":{},"name":"sum","position":{"x":0,"y":0},"typeId":"core.ai.callPrompt"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('2f3838848a144a43a7f665007a30bad371bec1d7473161f4f8f5443350879e26', CAST('{"edges":[{"id":"s-n","sourceNodeId":"s","targetNodeId":"n"}],"id":"parent-asks","metadata":{},"name":"parent-asks","nodes":[{"config":{"workflowId":"approve"},"id":"s","inputs":{},"name":"s","position":{"x":0,"y":0},"typeId":"core.subWorkflow"},{"config":{},"id":"n","inputs":{},"name":"n","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('30d987f4ce56390758a3239348013844e2ddc8ad11c64de0603baff4a7366434', CAST('{"edges":[{"id":"gate-n","sourceNodeId":"gate","targetNodeId":"n"}],"id":"approve","metadata":{},"name":"approve","nodes":[{"config":{"title":"Pay for a chair?"},"id":"gate","inputs":{},"name":"gate","position":{"x":0,"y":0},"typeId":"core.approvalGate"},{"config":{},"id":"n","inputs":{},"name":"n","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('323155ec46567debab089d6a4cfed3d56251db85d82364d253534d654581f273', CAST('{"edges":[{"id":"m-n","sourceNodeId":"m","targetNodeId":"n"}],"id":"list","metadata":{},"name":"list","nodes":[{"config":{"body":{"inputs":{"delayMs":{"expression":"item","type":"expression"}},"typeId":"core.delay"},"concurrency":2},"id":"m","inputs":{"items":{"type":"static","value":[1,60000,1]}},"name":"m","position":{"x":0,"y":0},"typeId":"core.flow.map"},{"config":{},"id":"n","inputs":{},"name":"n","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('4715056c9a035f11aee1036cba3b41ef39b2fb4b7117ef813489295f3dd03a24', CAST('{"edges":[],"id":"fails","metadata":{},"name":"fails","nodes":[{"config":{},"id":"a","inputs":{},"name":"a","position":{"x":0,"y":0},"typeId":"core.fail"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('5758471e473f9c4af97588e11a392120ce61a73f8e7434fdff9e527fe3ad758a', CAST('{"edges":[{"id":"ask-n","sourceNodeId":"ask","targetNodeId":"n"}],"id":"asks","metadata":{},"name":"asks","nodes":[{"config":{"data":{"customKind":"supplier","payload":["north","south"]},"kind":"custom"},"id":"ask","inputs":{},"name":"ask","position":{"x":0,"y":0},"typeId":"core.interrupt"},{"config":{},"id":"n","inputs":{},"name":"n","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('5971ee2441d24febb877c8281425ae238bcee7f0a2246a6a36be84b9b68e1cbf', CAST('{"edges":[{"id":"ask-n","sourceNodeId":"ask","targetNodeId":"n"}],"id":"form","metadata":{},"name":"form","nodes":[{"config":{"questions":[{"id":"day","question":"Which day?","schema":{"type":"string"}}]},"id":"ask","inputs":{},"name":"ask","position":{"x":0,"y":0},"typeId":"core.clarificationGate"},{"config":{},"id":"n","inputs":{},"name":"n","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('6899b98b6d00d5836ba6066fe2472810e902c91f80111ee6291c9bed4969c8f5', CAST('{"edges":[{"id":"book-n","sourceNodeId":"book","targetNodeId":"n"}],"id":"clarify","metadata":{"envelopeKinds":{"vendor.example.booking":{"schema":{"properties":{"day":{"type":"string"}},"required":["day"],"type":"object"}}}},"name":"clarify","nodes":[{"config":{"envelopeType":"vendor.example.booking","systemPrompt":"You book tables.","userMessage":"A table, please."},"envelopeContract":{"accepts":["vendor.example.booking"]},"id":"book","inputs":{},"name":"book","position":{"x":0,"y":0},"typeId":"core.ai.generateEnvelope"},{"config":{},"id":"n","inputs":{},"name":"n","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('7fa4a07b7f617fe0eb89e53824cc14532c2d837fa7708599fc43a39cc97280e1', CAST('{"edges":[{"id":"a-d","sourceNodeId":"a","targetNodeId":"d"},{"id":"d-c","sourceNodeId":"d","targetNodeId":"c"}],"id":"wait-short","metadata":{},"name":"wait-short","nodes":[{"config":{},"id":"a","inputs":{},"name":"a","position":{"x":0,"y":0},"typeId":"core.noop"},{"config":{"delayMs":2500},"id":"d","inputs":{},"name":"d","position":{"x":0,"y":0},"typeId":"core.delay"},{"config":{},"id":"c","inputs":{},"name":"c","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('927247c666d9aa6c02556d7ef22bb4272a682187701a18c0553a04cceb617ee9', CAST('{"edges":[{"id":"wait-n","sourceNodeId":"wait","targetNodeId":"n"}],"id":"event","metadata":{},"name":"event","nodes":[{"config":{"data":{"eventType":"shop.order.paid"},"kind":"external-event"},"id":"wait","inputs":{"correlation":{"expression":"{''orderId'': ''o-1''}","type":"expression"}},"name":"wait","position":{"x":0,"y":0},"typeId":"core.interrupt"},{"config":{},"id":"n","inputs":{},"name":"n","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('97da45df787b2ff6a472ea2f747cccbe316028801317c182e3fd9b6eedcab50e', CAST('{"edges":[{"id":"shape-n","sourceNodeId":"shape","targetNodeId":"n"}],"id":"shaped","metadata":{},"name":"shaped","nodes":[{"config":{"outputSchema":{"properties":{"day":{"type":"string"}},"required":["day"],"type":"object"},"prompt":"Which day?"},"id":"shape","inputs":{},"name":"shape","position":{"x":0,"y":0},"typeId":"core.ai.structuredOutput"},{"config":{},"id":"n","inputs":{},"name":"n","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('9b51e102696628ad1f15c2c83347313f7cb42ae51f59b14e026323a3aff3ca30', CAST('{"edges":[{"id":"a-b","sourceNodeId":"a","targetNodeId":"b"},{"id":"b-c","sourceNodeId":"b","targetNodeId":"c"}],"id":"steps","metadata":{},"name":"steps","nodes":[{"config":{},"id":"a","inputs":{},"name":"a","position":{"x":0,"y":0},"typeId":"core.noop"},{"config":{},"id":"b","inputs":{"secret":{"type":"variable","variableName":"secret"},"word":{"type":"variable","variableName":"word"}},"name":"b","position":{"x":0,"y":0},"typeId":"core.identity"},{"config":{},"id":"c","inputs":{},"name":"c","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[],"variables":[{"name":"word","type":"string"},{"name":"secret","sensitive":true,"type":"string"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('b3aa2a1ddea21373784223139d8b91f9acba3c7000bcfc93d721d60aa6cf0bfc', CAST('{"edges":[{"id":"a-d","sourceNodeId":"a","targetNodeId":"d"},{"id":"d-c","sourceNodeId":"d","targetNodeId":"c"}],"id":"wait-long","metadata":{},"name":"wait-long","nodes":[{"config":{},"id":"a","inputs":{},"name":"a","position":{"x":0,"y":0},"typeId":"core.noop"},{"config":{"delayMs":60000},"id":"d","inputs":{},"name":"d","position":{"x":0,"y":0},"typeId":"core.delay"},{"config":{},"id":"c","inputs":{},"name":"c","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('c74d33f18b63b2fa75135779ab0e77049d8cc35b203212959e613fb844627636', CAST('{"edges":[{"id":"s-n","sourceNodeId":"s","targetNodeId":"n"}],"id":"parent","metadata":{},"name":"parent","nodes":[{"config":{"workflowId":"wait-long"},"id":"s","inputs":{},"name":"s","position":{"x":0,"y":0},"typeId":"core.subWorkflow"},{"config":{},"id":"n","inputs":{},"name":"n","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('d5b0ccfa67d40a71d436d0b807ac3eec5f028245c3b414e97ccc56235fdadc41', CAST('{"edges":[{"id":"s-n","sourceNodeId":"s","targetNodeId":"n"}],"id":"parent-model","metadata":{},"name":"parent-model","nodes":[{"config":{"workflowId":"clarify"},"id":"s","inputs":{},"name":"s","position":{"x":0,"y":0},"typeId":"core.subWorkflow"},{"config":{},"id":"n","inputs":{},"name":"n","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('e70df42f43fdb44ed8523d6e26403e18ae97dfc3dba536f3dd1d887e452b243f', CAST('{"channels":{"conversation":{"reducer":"message","schema":{"type":"array"}}},"edges":[{"id":"t-n","sourceNodeId":"t","targetNodeId":"n"}],"id":"talks","metadata":{},"name":"talks","nodes":[{"config":{},"id":"t","inputs":{},"name":"t","position":{"x":0,"y":0},"typeId":"core.conversationGate"},{"config":{},"id":"n","inputs":{},"name":"n","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO open_interrupts VALUES (4, 'book.1', 'live:acme', '01m7pfwh792ggkpemr487x5wta', 'clarify', 'clarification', 'book', 1794977449196, NULL);
INSERT INTO open_interrupts VALUES (5, 'gate.1', 'live:acme', '01m7pfwh7d23j79jvehvk8z9b2', 'approve', 'approval', 'gate', 1794977449198, NULL);
INSERT INTO open_interrupts VALUES (10, 'ask.1', 'live:acme', '01m7pfwkp4crpxa9xt6xzv7sz1', 'asks', 'custom', 'ask', 1794977451717, NULL);
INSERT INTO open_interrupts VALUES (11, 'wait.1', 'live:acme', '01m7pfwkp8bhjfq0hdsmz6yhar', 'event', 'external-event', 'wait', 1794977451720, NULL);
INSERT INTO open_interrupts VALUES (12, 'ask.1', 'live:acme', '01m7pfwkpbryqhf37wgh90c8sk', 'form', 'clarification', 'ask', 1794977451723, NULL);
INSERT INTO open_interrupts VALUES (13, 't.2', 'live:acme', '01m7pfwkpeee0kv0qmfkh372s1', 'talks', 'conversation.exchange', 't', 1794977451729, NULL);
INSERT INTO open_interrupts VALUES (15, 'gate.1', 'live:acme', '01m7pfwkprp8aafarrd0stfafp', 'quorum', 'approval', 'gate', 1794977451736, NULL);
INSERT INTO open_interrupts VALUES (23, 'gate.1', 'live:acme', '01m7pfwkscthsqc6dkajdz8cd5', 'approve', 'approval', 'gate', 1794977451821, NULL);
INSERT INTO open_interrupts VALUES (25, 'book.1', 'live:acme', '01m7pfwksgj39b9v5sx02vrcep', 'clarify', 'clarification', 'book', 1794977451829, NULL);
INSERT INTO kinship VALUES (21, 20, 'live:acme', '01m7pfwkrs3z65zd20xwv750m9', 1, 1);
INSERT INTO kinship VALUES (23, 22, 'live:acme', '01m7pfwksb53j02qdsf71sr6pt', 1, 1);
INSERT INTO kinship VALUES (25, 24, 'live:acme', '01m7pfwksffwc986nh0mzqwc30', 1, 1);
INSERT INTO kinship VALUES (27, 26, 'live:acme', '01m7pfwkshe5qjrypc8sjneawx', 1, 1);
INSERT INTO news VALUES (23, 22, 's', 'child', 4, 'waiting-approval', CAST('{}' AS BLOB));
INSERT INTO news VALUES (25, 24, 's', 'child', 7, 'waiting-input', CAST('{}' AS BLOB));
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
