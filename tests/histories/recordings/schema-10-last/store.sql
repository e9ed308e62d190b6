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
INSERT INTO runs VALUES (1, 'live:acme', '01m7pgsmv69k3ehac8zh8mpt6z', 'steps', NULL, 'completed', 7, 1794978403175, 1794978403175, NULL, 3, NULL, CAST('{"c":{}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (2, 'test:acme', '01m7pgsmw0xqe5vxydfc0am648', 'steps', NULL, 'completed', 7, 1794978403201, 1794978403201, NULL, 3, NULL, CAST('{"c":{}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (3, 'live:acme', '01m7pgsmwdgz19rc9x2jgkws3r', 'summary', NULL, 'completed', 9, 1794978403213, 1794978403216, NULL, 1, NULL, CAST('{"sum":{"content":"The lamp is broken.","finishReason":"stop","model":"scripted-1","text":"The lamp is broken.","usage":{"inputTokens":8,"outputTokens":5,"totalTokens":13}}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (4, 'live:acme', '01m7pgsmwjm5thkzjzykeg9zb6', 'clarify', NULL, 'waiting-input', 7, 1794978403218, NULL, 'book', 1, NULL, NULL, 1, NULL, 0, 0);
INSERT INTO runs VALUES (5, 'live:acme', '01m7pgsmx1169xjgekr7n1dnqv', 'approve', NULL, 'waiting-approval', 4, 1794978403233, NULL, 'gate', 1, NULL, NULL, 1, NULL, 0, 0);
INSERT INTO runs VALUES (6, 'live:acme', '01m7pgsmx6pyvrvjgtnks43wjp', 'approve', NULL, 'completed', 11, 1794978403238, 1794978403241, NULL, 2, NULL, CAST('{"n":{}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (7, 'live:acme', '01m7pgsmxdn6brwykjq6v3q061', 'wait-short', NULL, 'paused', 4, 1794978403245, NULL, NULL, 2, NULL, NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (8, 'live:acme', '01m7pgsmxhd9f7rrx61eyrgy5s', 'wait-short', NULL, 'paused', 6, 1794978403250, NULL, NULL, 2, NULL, NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (9, 'live:acme', '01m7pgsqbsza4sgyzb2e5bdf4g', 'fails', NULL, 'failed', 3, 1794978405754, 1794978405754, NULL, 1, CAST('{"code":"conformance_test_failure","message":"Intentional conformance failure"}' AS BLOB), NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (10, 'live:acme', '01m7pgsqc9mrhfmd9j77xctwea', 'asks', NULL, 'waiting-input', 3, 1794978405769, NULL, 'ask', 1, NULL, NULL, 1, NULL, 0, 0);
INSERT INTO runs VALUES (11, 'live:acme', '01m7pgsqd448gaeeshkxhae154', 'event', NULL, 'waiting-external', 3, 1794978405796, NULL, 'wait', 1, NULL, NULL, 1, NULL, 0, 0);
INSERT INTO runs VALUES (12, 'live:acme', '01m7pgsqdmmbc0yg0c7v11jw91', 'form', NULL, 'waiting-input', 4, 1794978405812, NULL, 'ask', 1, NULL, NULL, 1, NULL, 0, 0);
INSERT INTO runs VALUES (13, 'live:acme', '01m7pgsqe1qc24e0cgt8gxhczr', 'talks', NULL, 'waiting-approval', 6, 1794978405826, NULL, 't', 1, NULL, NULL, 1, NULL, 0, 0);
INSERT INTO runs VALUES (14, 'live:acme', '01m7pgsqevvndsh2rtagxtcham', 'approve', NULL, 'failed', 10, 1794978405851, 1794978405868, NULL, 1, CAST('{"code":"interrupt_rejected","details":{"decidedBy":"key_325222716180c36d","reason":"rejected"},"message":"The approval was rejected."}' AS BLOB), NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (15, 'live:acme', '01m7pgsqg38a9n9a63bj8se26y', 'quorum', NULL, 'waiting-approval', 5, 1794978405891, NULL, 'gate', 1, NULL, NULL, 1, NULL, 0, 0);
INSERT INTO runs VALUES (16, 'live:acme', '01m7pgsqgvxhv796xp3g27tb00', 'corrected', NULL, 'completed', 11, 1794978405915, 1794978405948, NULL, 2, NULL, CAST('{"n":{}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (17, 'live:acme', '01m7pgsqj31zaa5tqhnxj92bws', 'shaped', NULL, 'completed', 8, 1794978405960, 1794978405980, NULL, 2, NULL, CAST('{"n":{}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (18, 'live:acme', '01m7pgsqkcr6ne40bgbyxtzx25', 'clarify', NULL, 'completed', 17, 1794978405996, 1794978406060, NULL, 2, NULL, CAST('{"n":{}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (19, 'live:acme', '01m7pgsqnqpft0yzv34jw0f52m', 'approve', NULL, 'cancelled', 6, 1794978406071, 1794978406082, NULL, 1, NULL, NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (20, 'live:acme', '01m7pgsqph4a58t62k651ve0s2', 'parent', NULL, 'cancelled', 4, 1794978406100, 1794978406137, NULL, 1, NULL, NULL, 0, NULL, 0, 1);
INSERT INTO runs VALUES (21, 'live:acme', '01m7pgsqq4gdsx47j5t16n37w2', 'wait-long', NULL, 'cancelled', 6, 1794978406128, 1794978406164, NULL, 2, NULL, NULL, 0, NULL, 1, 0);
INSERT INTO runs VALUES (22, 'live:acme', '01m7pgsqrdeyb1fmds2t2vs6ng', 'parent-asks', NULL, 'waiting-approval', 3, 1794978406160, NULL, 's', 1, NULL, NULL, 1, NULL, 0, 1);
INSERT INTO runs VALUES (23, 'live:acme', '01m7pgsqs0adgyyzkf2bseqdrr', 'approve', NULL, 'waiting-approval', 4, 1794978406205, NULL, 'gate', 1, NULL, NULL, 1, NULL, 1, 0);
INSERT INTO runs VALUES (24, 'live:acme', '01m7pgsqs3nv3jppkryq1kjgr7', 'parent-model', NULL, 'waiting-input', 3, 1794978406179, NULL, 's', 1, NULL, NULL, 1, NULL, 0, 1);
INSERT INTO runs VALUES (25, 'live:acme', '01m7pgsqsxjnc6m0krp9h0fvnv', 'clarify', NULL, 'waiting-input', 7, 1794978406236, NULL, 'book', 1, NULL, NULL, 1, NULL, 1, 0);
INSERT INTO runs VALUES (26, 'live:acme', '01m7pgsqv5wb5xm1vq0dqmkjea', 'parent', NULL, 'running', 2, 1794978406245, NULL, 's', 1, NULL, NULL, 1, NULL, 0, 1);
INSERT INTO runs VALUES (27, 'live:acme', '01m7pgsqw43ka6jhngsy9gb8sc', 'wait-long', NULL, 'running', 3, 1794978406291, NULL, 'd', 2, NULL, NULL, 0, NULL, 1, 0);
INSERT INTO runs VALUES (28, 'live:acme', '01m7pgsqwvam01gxfzw4210s37', 'wait-long', NULL, 'running', 6, 1794978406299, NULL, 'd', 3, NULL, NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (29, 'live:acme', '01m7pgsqycn8as1p4jj0c5sgb2', 'list', NULL, 'running', 3, 1794978406348, NULL, 'm', 1, NULL, NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (30, 'live:acme', '01m7pgsqyw31nnkca6w0kj9zmx', 'wait-long', NULL, 'running', 3, 1794978406365, NULL, 'd', 2, NULL, NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (31, 'live:acme', '01m7pgsqz9hjzhd64hhcxkfz4k', 'wait-long', NULL, 'running', 4, 1794978406377, NULL, 'd', 2, NULL, NULL, 0, NULL, 0, 0);
INSERT INTO run_headers VALUES (1, CAST('{"run_id":"01m7pgsmv69k3ehac8zh8mpt6z","partition":"live:acme","owner":{"tenant":"acme","principal":"key_325222716180c36d"},"workflow_id":"steps","definition":"9b51e102696628ad1f15c2c83347313f7cb42ae51f59b14e026323a3aff3ca30","created_at":1794978403174,"inputs":{"word":"owl","secret":"[REDACTED:secret]"}}' AS BLOB));
INSERT INTO run_headers VALUES (2, CAST('{"run_id":"01m7pgsmw0xqe5vxydfc0am648","partition":"test:acme","owner":{"tenant":"acme","principal":"key_66a4b2ccae2e68c4"},"workflow_id":"steps","definition":"9b51e102696628ad1f15c2c83347313f7cb42ae51f59b14e026323a3aff3ca30","created_at":1794978403200,"inputs":{"word":"owl","secret":"[REDACTED:secret]"}}' AS BLOB));
INSERT INTO run_headers VALUES (3, CAST('{"run_id":"01m7pgsmwdgz19rc9x2jgkws3r","partition":"live:acme","owner":{"tenant":"acme","principal":"key_325222716180c36d"},"workflow_id":"summary","definition":"2da9ae168a9bba87e853e3628297b9d9fddeb402a7a4dcb74f28faddbb0c7548","created_at":1794978403213}' AS BLOB));
INSERT INTO run_headers VALUES (4, CAST('{"run_id":"01m7pgsmwjm5thkzjzykeg9zb6","partition":"live:acme","owner":{"tenant":"acme","principal":"key_325222716180c36d"},"workflow_id":"clarify","definition":"6899b98b6d00d5836ba6066fe2472810e902c91f80111ee6291c9bed4969c8f5","created_at":1794978403218}' AS BLOB));
INSERT INTO run_headers VALUES (5, CAST('{"run_id":"01m7pgsmx1169xjgekr7n1dnqv","partition":"live:acme","owner":{"tenant":"acme","principal":"key_325222716180c36d"},"workflow_id":"approve","definition":"30d987f4ce56390758a3239348013844e2ddc8ad11c64de0603baff4a7366434","created_at":1794978403233}' AS BLOB));
INSERT INTO run_headers VALUES (6, CAST('{"run_id":"01m7pgsmx6pyvrvjgtnks43wjp","partition":"live:acme","owner":{"tenant":"acme","principal":"key_325222716180c36d"},"workflow_id":"approve","definition":"30d987f4ce56390758a3239348013844e2ddc8ad11c64de0603baff4a7366434","created_at":1794978403238}' AS BLOB));
INSERT INTO run_headers VALUES (7, CAST('{"run_id":"01m7pgsmxdn6brwykjq6v3q061","partition":"live:acme","owner":{"tenant":"acme","principal":"key_325222716180c36d"},"workflow_id":"wait-short","definition":"7fa4a07b7f617fe0eb89e53824cc14532c2d837fa7708599fc43a39cc97280e1","created_at":1794978403245}' AS BLOB));
INSERT INTO run_headers VALUES (8, CAST('{"run_id":"01m7pgsmxhd9f7rrx61eyrgy5s","partition":"live:acme","owner":{"tenant":"acme","principal":"key_325222716180c36d"},"workflow_id":"wait-short","definition":"7fa4a07b7f617fe0eb89e53824cc14532c2d837fa7708599fc43a39cc97280e1","created_at":1794978403249}' AS BLOB));
INSERT INTO run_headers VALUES (9, CAST('{"run_id":"01m7pgsqbsza4sgyzb2e5bdf4g","partition":"live:acme","owner":{"tenant":"acme","principal":"key_325222716180c36d"},"workflow_id":"fails","definition":"4715056c9a035f11aee1036cba3b41ef39b2fb4b7117ef813489295f3dd03a24","created_at":1794978405753}' AS BLOB));
INSERT INTO run_headers VALUES (10, CAST('{"run_id":"01m7pgsqc9mrhfmd9j77xctwea","partition":"live:acme","owner":{"tenant":"acme","principal":"key_325222716180c36d"},"workflow_id":"asks","definition":"5758471e473f9c4af97588e11a392120ce61a73f8e7434fdff9e527fe3ad758a","created_at":1794978405769}' AS BLOB));
INSERT INTO run_headers VALUES (11, CAST('{"run_id":"01m7pgsqd448gaeeshkxhae154","partition":"live:acme","owner":{"tenant":"acme","principal":"key_325222716180c36d"},"workflow_id":"event","definition":"927247c666d9aa6c02556d7ef22bb4272a682187701a18c0553a04cceb617ee9","created_at":1794978405796}' AS BLOB));
INSERT INTO run_headers VALUES (12, CAST('{"run_id":"01m7pgsqdmmbc0yg0c7v11jw91","partition":"live:acme","owner":{"tenant":"acme","principal":"key_325222716180c36d"},"workflow_id":"form","definition":"5971ee2441d24febb877c8281425ae238bcee7f0a2246a6a36be84b9b68e1cbf","created_at":1794978405812}' AS BLOB));
INSERT INTO run_headers VALUES (13, CAST('{"run_id":"01m7pgsqe1qc24e0cgt8gxhczr","partition":"live:acme","owner":{"tenant":"acme","principal":"key_325222716180c36d"},"workflow_id":"talks","definition":"e70df42f43fdb44ed8523d6e26403e18ae97dfc3dba536f3dd1d887e452b243f","created_at":1794978405825}' AS BLOB));
INSERT INTO run_headers VALUES (14, CAST('{"run_id":"01m7pgsqevvndsh2rtagxtcham","partition":"live:acme","owner":{"tenant":"acme","principal":"key_325222716180c36d"},"workflow_id":"approve","definition":"30d987f4ce56390758a3239348013844e2ddc8ad11c64de0603baff4a7366434","created_at":1794978405851}' AS BLOB));
INSERT INTO run_headers VALUES (15, CAST('{"run_id":"01m7pgsqg38a9n9a63bj8se26y","partition":"live:acme","owner":{"tenant":"acme","principal":"key_325222716180c36d"},"workflow_id":"quorum","definition":"24a8cc7e854b513343fdec75ea202c06f6735ecfe86b3b3334bc2e9c5d88ef31","created_at":1794978405891}' AS BLOB));
INSERT INTO run_headers VALUES (16, CAST('{"run_id":"01m7pgsqgvxhv796xp3g27tb00","partition":"live:acme","owner":{"tenant":"acme","principal":"key_325222716180c36d"},"workflow_id":"corrected","definition":"163ed29a7d3895f24a1b7014b083529a080aa434c46abf0e05db965049c3ace4","created_at":1794978405915}' AS BLOB));
INSERT INTO run_headers VALUES (17, CAST('{"run_id":"01m7pgsqj31zaa5tqhnxj92bws","partition":"live:acme","owner":{"tenant":"acme","principal":"key_325222716180c36d"},"workflow_id":"shaped","definition":"97da45df787b2ff6a472ea2f747cccbe316028801317c182e3fd9b6eedcab50e","created_at":1794978405955}' AS BLOB));
INSERT INTO run_headers VALUES (18, CAST('{"run_id":"01m7pgsqkcr6ne40bgbyxtzx25","partition":"live:acme","owner":{"tenant":"acme","principal":"key_325222716180c36d"},"workflow_id":"clarify","definition":"6899b98b6d00d5836ba6066fe2472810e902c91f80111ee6291c9bed4969c8f5","created_at":1794978405996}' AS BLOB));
INSERT INTO run_headers VALUES (19, CAST('{"run_id":"01m7pgsqnqpft0yzv34jw0f52m","partition":"live:acme","owner":{"tenant":"acme","principal":"key_325222716180c36d"},"workflow_id":"approve","definition":"30d987f4ce56390758a3239348013844e2ddc8ad11c64de0603baff4a7366434","created_at":1794978406071}' AS BLOB));
INSERT INTO run_headers VALUES (20, CAST('{"run_id":"01m7pgsqph4a58t62k651ve0s2","partition":"live:acme","owner":{"tenant":"acme","principal":"key_325222716180c36d"},"workflow_id":"parent","definition":"c74d33f18b63b2fa75135779ab0e77049d8cc35b203212959e613fb844627636","created_at":1794978406097}' AS BLOB));
INSERT INTO run_headers VALUES (21, CAST('{"run_id":"01m7pgsqq4gdsx47j5t16n37w2","partition":"live:acme","owner":{"tenant":"acme","principal":"key_325222716180c36d"},"workflow_id":"wait-long","definition":"b3aa2a1ddea21373784223139d8b91f9acba3c7000bcfc93d721d60aa6cf0bfc","created_at":1794978406116,"traceparent":"00-f54c407fedb92acd2ca96bca42c9858f-5a1fec52c223ca6d-01","parent":{"run_id":"01m7pgsqph4a58t62k651ve0s2","node_id":"s","key":"child","cause":"core.subWorkflow","root":"01m7pgsqph4a58t62k651ve0s2","outputs":true}}' AS BLOB));
INSERT INTO run_headers VALUES (22, CAST('{"run_id":"01m7pgsqrdeyb1fmds2t2vs6ng","partition":"live:acme","owner":{"tenant":"acme","principal":"key_325222716180c36d"},"workflow_id":"parent-asks","definition":"2f3838848a144a43a7f665007a30bad371bec1d7473161f4f8f5443350879e26","created_at":1794978406157}' AS BLOB));
INSERT INTO run_headers VALUES (23, CAST('{"run_id":"01m7pgsqs0adgyyzkf2bseqdrr","partition":"live:acme","owner":{"tenant":"acme","principal":"key_325222716180c36d"},"workflow_id":"approve","definition":"30d987f4ce56390758a3239348013844e2ddc8ad11c64de0603baff4a7366434","created_at":1794978406176,"traceparent":"00-522157f0d7f4c6d29f3d171d3a187554-374c5dc732bfeb84-01","parent":{"run_id":"01m7pgsqrdeyb1fmds2t2vs6ng","node_id":"s","key":"child","cause":"core.subWorkflow","root":"01m7pgsqrdeyb1fmds2t2vs6ng","outputs":true}}' AS BLOB));
INSERT INTO run_headers VALUES (24, CAST('{"run_id":"01m7pgsqs3nv3jppkryq1kjgr7","partition":"live:acme","owner":{"tenant":"acme","principal":"key_325222716180c36d"},"workflow_id":"parent-model","definition":"d5b0ccfa67d40a71d436d0b807ac3eec5f028245c3b414e97ccc56235fdadc41","created_at":1794978406179}' AS BLOB));
INSERT INTO run_headers VALUES (25, CAST('{"run_id":"01m7pgsqsxjnc6m0krp9h0fvnv","partition":"live:acme","owner":{"tenant":"acme","principal":"key_325222716180c36d"},"workflow_id":"clarify","definition":"6899b98b6d00d5836ba6066fe2472810e902c91f80111ee6291c9bed4969c8f5","created_at":1794978406205,"traceparent":"00-f17e80a039d6ca34a1f96d485ddb4b7f-e34800250cb4d8f6-01","parent":{"run_id":"01m7pgsqs3nv3jppkryq1kjgr7","node_id":"s","key":"child","cause":"core.subWorkflow","root":"01m7pgsqs3nv3jppkryq1kjgr7","outputs":true}}' AS BLOB));
INSERT INTO run_headers VALUES (26, CAST('{"run_id":"01m7pgsqv5wb5xm1vq0dqmkjea","partition":"live:acme","owner":{"tenant":"acme","principal":"key_325222716180c36d"},"workflow_id":"parent","definition":"c74d33f18b63b2fa75135779ab0e77049d8cc35b203212959e613fb844627636","created_at":1794978406245}' AS BLOB));
INSERT INTO run_headers VALUES (27, CAST('{"run_id":"01m7pgsqw43ka6jhngsy9gb8sc","partition":"live:acme","owner":{"tenant":"acme","principal":"key_325222716180c36d"},"workflow_id":"wait-long","definition":"b3aa2a1ddea21373784223139d8b91f9acba3c7000bcfc93d721d60aa6cf0bfc","created_at":1794978406276,"traceparent":"00-f3ea3e05ac215e9a22bb90281ce6d715-25b84f0371b8481e-01","parent":{"run_id":"01m7pgsqv5wb5xm1vq0dqmkjea","node_id":"s","key":"child","cause":"core.subWorkflow","root":"01m7pgsqv5wb5xm1vq0dqmkjea","outputs":true}}' AS BLOB));
INSERT INTO run_headers VALUES (28, CAST('{"run_id":"01m7pgsqwvam01gxfzw4210s37","partition":"live:acme","owner":{"tenant":"acme","principal":"key_325222716180c36d"},"workflow_id":"wait-long","definition":"b3aa2a1ddea21373784223139d8b91f9acba3c7000bcfc93d721d60aa6cf0bfc","created_at":1794978406299}' AS BLOB));
INSERT INTO run_headers VALUES (29, CAST('{"run_id":"01m7pgsqycn8as1p4jj0c5sgb2","partition":"live:acme","owner":{"tenant":"acme","principal":"key_325222716180c36d"},"workflow_id":"list","definition":"983d621754e3e0a0a5ba5718635c88036f45fcfcc3d6535ebc30edaedabf2013","created_at":1794978406348}' AS BLOB));
INSERT INTO run_headers VALUES (30, CAST('{"run_id":"01m7pgsqyw31nnkca6w0kj9zmx","partition":"live:acme","owner":{"tenant":"acme","principal":"key_325222716180c36d"},"workflow_id":"wait-long","definition":"b3aa2a1ddea21373784223139d8b91f9acba3c7000bcfc93d721d60aa6cf0bfc","created_at":1794978406364}' AS BLOB));
INSERT INTO run_headers VALUES (31, CAST('{"run_id":"01m7pgsqz9hjzhd64hhcxkfz4k","partition":"live:acme","owner":{"tenant":"acme","principal":"key_325222716180c36d"},"workflow_id":"wait-long","definition":"b3aa2a1ddea21373784223139d8b91f9acba3c7000bcfc93d721d60aa6cf0bfc","created_at":1794978406377}' AS BLOB));
INSERT INTO events VALUES (67108864, '4ee894a08509d6358bb2cab2', 'run.started', 1794978403175, CAST('{"inputs":{"secret":"[REDACTED:secret]","word":"owl"},"owner":{"principal":"key_325222716180c36d","tenant":"acme"},"workflowId":"steps"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108865, '83dde53195ae28b08ee0a0c6', 'node.started', 1794978403175, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108866, '32ef799a443e89ddb5e8576a', 'node.completed', 1794978403175, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108867, '9f50f67786d41ebe88e0b39f', 'node.started', 1794978403175, CAST('{"attempt":1,"nodeId":"b","typeId":"core.identity"}' AS BLOB), 'b', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108868, 'b1e59ee9e2cb44cb36768b47', 'node.completed', 1794978403175, CAST('{"nodeId":"b","outputs":{"secret":"[REDACTED:b.secret]","word":"[REDACTED:b.word]"}}' AS BLOB), 'b', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108869, '1994445e7c29e60fb52d93ec', 'node.started', 1794978403175, CAST('{"attempt":1,"nodeId":"c","typeId":"core.noop"}' AS BLOB), 'c', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108870, 'e5a720282198f27db6a82624', 'node.completed', 1794978403175, CAST('{"nodeId":"c","outputs":{}}' AS BLOB), 'c', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108871, '33e192315ce52d15a39edc17', 'run.completed', 1794978403175, CAST('{"outputs":{"c":{}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217728, 'da621199ba841d6a05fd4a7f', 'run.started', 1794978403201, CAST('{"inputs":{"secret":"[REDACTED:secret]","word":"owl"},"owner":{"principal":"key_66a4b2ccae2e68c4","tenant":"acme"},"workflowId":"steps"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217729, '49b87dbd2c979c13c290a694', 'node.started', 1794978403201, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217730, 'd2491113a4bd74a626e5f444', 'node.completed', 1794978403201, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217731, '7a2a576838c571699f4cb4b5', 'node.started', 1794978403201, CAST('{"attempt":1,"nodeId":"b","typeId":"core.identity"}' AS BLOB), 'b', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217732, '89efb208d679273a4eac7db7', 'node.completed', 1794978403201, CAST('{"nodeId":"b","outputs":{"secret":"[REDACTED:b.secret]","word":"[REDACTED:b.word]"}}' AS BLOB), 'b', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217733, '81a3fdcb430e672d215cad0e', 'node.started', 1794978403201, CAST('{"attempt":1,"nodeId":"c","typeId":"core.noop"}' AS BLOB), 'c', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217734, 'b745e65c6003e3ea366e5fb2', 'node.completed', 1794978403201, CAST('{"nodeId":"c","outputs":{}}' AS BLOB), 'c', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217735, '2b4f0c25e35df150facff5b4', 'run.completed', 1794978403201, CAST('{"outputs":{"c":{}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326592, 'bb851572611be3d5ba58531f', 'run.started', 1794978403213, CAST('{"inputs":{},"owner":{"principal":"key_325222716180c36d","tenant":"acme"},"workflowId":"summary"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326593, 'b6b9d32c8cef8169b07ae32a', 'node.started', 1794978403213, CAST('{"attempt":1,"nodeId":"sum","typeId":"core.ai.callPrompt"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326594, '4973fc6e992efb349eb82cb6', 'output.chunk', 1794978403215, CAST('{"chunk":"The","isLast":false,"meta":{"model":"scripted-1","provider":"scripted"},"nodeId":"sum","runId":"01m7pgsmwdgz19rc9x2jgkws3r"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326595, '211f29713db63786745e7a09', 'output.chunk', 1794978403215, CAST('{"chunk":" lamp","isLast":false,"meta":{"model":"scripted-1","provider":"scripted"},"nodeId":"sum","runId":"01m7pgsmwdgz19rc9x2jgkws3r"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326596, '4e1bc00b9169ef4f25488363', 'output.chunk', 1794978403215, CAST('{"chunk":" is","isLast":false,"meta":{"model":"scripted-1","provider":"scripted"},"nodeId":"sum","runId":"01m7pgsmwdgz19rc9x2jgkws3r"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326597, '26f00ebe5334113e18307f6c', 'output.chunk', 1794978403215, CAST('{"chunk":" broken.","isLast":true,"meta":{"finishReason":"stop","model":"scripted-1","provider":"scripted","usage":{"completionTokens":5,"promptTokens":8,"totalTokens":13}},"nodeId":"sum","runId":"01m7pgsmwdgz19rc9x2jgkws3r"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326598, '32d63d8cf825d69bfaa5da1d', 'weftwork.model.answered', 1794978403215, CAST('{"call":"/0.0","detail":"end_turn","inputTokens":8,"model":"scripted-1","nodeId":"sum","outputTokens":5,"provider":"scripted","stop":"stop","text":"The lamp is broken."}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326599, '429e9e050c98783e296b50ac', 'provider.usage', 1794978403215, CAST('{"inputTokens":8,"model":"scripted-1","nodeId":"sum","outputTokens":5,"provider":"scripted","totalTokens":13}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326600, 'df0dbe4ee3c765a5221113d0', 'node.completed', 1794978403216, CAST('{"nodeId":"sum","outputs":{"content":"The lamp is broken.","finishReason":"stop","model":"scripted-1","text":"The lamp is broken.","usage":{"inputTokens":8,"outputTokens":5,"totalTokens":13}}}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326601, 'e3db8b2c02a04f3a8ace8d66', 'run.completed', 1794978403216, CAST('{"outputs":{"sum":{"content":"The lamp is broken.","finishReason":"stop","model":"scripted-1","text":"The lamp is broken.","usage":{"inputTokens":8,"outputTokens":5,"totalTokens":13}}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435456, '9338301bb31d66173b1afaed', 'run.started', 1794978403218, CAST('{"inputs":{},"owner":{"principal":"key_325222716180c36d","tenant":"acme"},"workflowId":"clarify"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435457, 'd830cd0691873f8bc04c9032', 'node.started', 1794978403218, CAST('{"attempt":1,"nodeId":"book","typeId":"core.ai.generateEnvelope"}' AS BLOB), 'book', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435458, '7bb00b80514d5fc84044d581', 'weftwork.model.answered', 1794978403220, CAST('{"call":"/0.0","detail":"end_turn","inputTokens":99,"model":"scripted-1","nodeId":"book","outputTokens":36,"provider":"scripted","stop":"stop","text":"{\"type\": \"clarification.request\", \"payload\": {\"questions\": [{\"id\": \"people\", \"question\": \"How many are you?\", \"schema\": {\"type\": \"integer\"}}]}}"}' AS BLOB), 'book', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435459, '8114e4b26a00f61cda894213', 'provider.usage', 1794978403220, CAST('{"inputTokens":99,"model":"scripted-1","nodeId":"book","outputTokens":36,"provider":"scripted","totalTokens":135}' AS BLOB), 'book', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435460, 'e224166b1dbaf2034ec5f883', 'weftwork.envelope.recorded', 1794978403221, CAST('{"correlationId":"01m7pgsmwjm5thkzjzykeg9zb6:book:/0.0.0:0:5b97a253","drift":true,"envelopeId":"env-9e84d93367e8a9d01372769ed1f0dfae","floor":1,"nodeId":"book","payload":{"questions":[{"id":"people","question":"How many are you?","schema":{"type":"integer"}}]},"redactionCount":0,"schemaVersion":0,"status":"accepted","type":"clarification.request"}' AS BLOB), 'book', '01m7pgsmwjm5thkzjzykeg9zb6:book:/0.0.0:0:5b97a253', 1, 1, NULL, 'trusted');
INSERT INTO events VALUES (268435461, 'a3ff25488c502673745d4c41', 'interrupt.requested', 1794978403221, CAST('{"data":{"questions":[{"id":"people","question":"How many are you?","schema":{"type":"integer"}}]},"key":"envelope:01m7pgsmwjm5thkzjzykeg9zb6:book:/0.0.0:0:5b97a253","kind":"clarification"}' AS BLOB), 'book', '01m7pgsmwjm5thkzjzykeg9zb6:book:/0.0.0:0:5b97a253', 1, 1, 'book.1', 'trusted');
INSERT INTO events VALUES (268435462, 'e315fc1aa34964efda840e7a', 'clarification.requested', 1794978403221, CAST('{"interruptId":"book.1","nodeId":"book","questions":[{"id":"people","question":"How many are you?","schema":{"type":"integer"}}]}' AS BLOB), 'book', '01m7pgsmwjm5thkzjzykeg9zb6:book:/0.0.0:0:5b97a253', 1, 1, 'book.1', 'trusted');
INSERT INTO events VALUES (268435463, '8cf96fc5a9ee125dec6df10a', 'node.suspended', 1794978403221, CAST('{"interruptId":"book.1","key":"envelope:01m7pgsmwjm5thkzjzykeg9zb6:book:/0.0.0:0:5b97a253","kind":"clarification","nodeId":"book"}' AS BLOB), 'book', '01m7pgsmwjm5thkzjzykeg9zb6:book:/0.0.0:0:5b97a253', 1, 1, 'book.1', 'trusted');
INSERT INTO events VALUES (335544320, 'e3ed40bdb74c7c780ca0fb77', 'run.started', 1794978403233, CAST('{"inputs":{},"owner":{"principal":"key_325222716180c36d","tenant":"acme"},"workflowId":"approve"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (335544321, 'ea11d3eec97fb328ac3e5743', 'node.started', 1794978403233, CAST('{"attempt":1,"nodeId":"gate","typeId":"core.approvalGate"}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (335544322, 'bdb544dc568c19f050472f7c', 'interrupt.requested', 1794978403233, CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","title":"Pay for a chair?"},"key":"gate","kind":"approval"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (335544323, 'fe586fa28107743ff7677c0b', 'approval.requested', 1794978403233, CAST('{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","interruptId":"gate.1","nodeId":"gate","title":"Pay for a chair?"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (335544324, '8a98b7fc5ffa3834696ccbb5', 'node.suspended', 1794978403233, CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (402653184, 'a49f74db8819fd588dbe7c8c', 'run.started', 1794978403238, CAST('{"inputs":{},"owner":{"principal":"key_325222716180c36d","tenant":"acme"},"workflowId":"approve"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (402653185, '4eb13eb3e02573eacc36388a', 'node.started', 1794978403238, CAST('{"attempt":1,"nodeId":"gate","typeId":"core.approvalGate"}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (402653186, 'e74ac5d61ce452abb4c6b0b0', 'interrupt.requested', 1794978403238, CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","title":"Pay for a chair?"},"key":"gate","kind":"approval"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (402653187, '69f04b8e566c84f9f381cd57', 'approval.requested', 1794978403238, CAST('{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","interruptId":"gate.1","nodeId":"gate","title":"Pay for a chair?"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (402653188, '507cb5ab592c792ba4b3082f', 'node.suspended', 1794978403238, CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (402653189, 'd80e880dbb5d813254af76ad', 'interrupt.resolved', 1794978403241, CAST('{"interruptId":"gate.1","kind":"approval","nodeId":"gate","outcome":"accepted","resolvedBy":"key_325222716180c36d","resumeValue":{"action":"accept","decidedBy":"ada"}}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (402653190, 'd28ee0ad70086b13f7a4f4e5', 'approval.received', 1794978403241, CAST('{"action":"accept","decidedBy":"ada","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (402653191, 'a454f689b5d8fc4f78d3aedd', 'node.resumed', 1794978403241, CAST('{"interruptId":"gate.1","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (402653192, 'b7a3f7b03dfd2490c516fc8a', 'node.completed', 1794978403241, CAST('{"nodeId":"gate","outputs":{"action":"accept","approved":true,"decidedBy":"ada"}}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (402653193, '229f9206527dd97163ebc159', 'node.started', 1794978403241, CAST('{"attempt":1,"nodeId":"n","typeId":"core.noop"}' AS BLOB), 'n', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (402653194, '3d686ac9037db35a6f3cf646', 'node.completed', 1794978403241, CAST('{"nodeId":"n","outputs":{}}' AS BLOB), 'n', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (402653195, '6af8b9465506baddacb107bb', 'run.completed', 1794978403241, CAST('{"outputs":{"n":{}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762048, 'e47a6a177c803ee61d6811d5', 'run.started', 1794978403245, CAST('{"inputs":{},"owner":{"principal":"key_325222716180c36d","tenant":"acme"},"workflowId":"wait-short"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762049, '45e8f2397555d0aaedd8f936', 'node.started', 1794978403245, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762050, '99e0efd19937712569c54cc6', 'node.completed', 1794978403245, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762051, 'd7a9dd9177f93561999cc163', 'node.started', 1794978403245, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762052, '8b84c852f253c43140eed42c', 'run.paused', 1794978403247, CAST('{"drainPolicy":"immediate","reason":"lunch"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (536870912, '724e710b3a9bbfa5f9afcc23', 'run.started', 1794978403250, CAST('{"inputs":{},"owner":{"principal":"key_325222716180c36d","tenant":"acme"},"workflowId":"wait-short"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (536870913, '796aa283227306ff9cc1a938', 'node.started', 1794978403250, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (536870914, '294623ff41719181e8a95074', 'node.completed', 1794978403250, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (536870915, '45851a54b0e43ed553d5b4fd', 'node.started', 1794978403250, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (536870916, '55d84cd10c9fcb12f3afbc47', 'weftwork.run.pause-requested', 1794978403252, CAST('{"drainPolicy":"drain-current-node"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (536870917, '0f373852ea07d4b2dc319b14', 'node.completed', 1794978405750, CAST('{"nodeId":"d","outputs":{}}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (536870918, 'c7fa0cb0fc5f3ee1a7d5a2c0', 'run.paused', 1794978405750, CAST('{"drainPolicy":"drain-current-node"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (603979776, '13a4049e7a35e91d6b54a007', 'run.started', 1794978405754, CAST('{"inputs":{},"owner":{"principal":"key_325222716180c36d","tenant":"acme"},"workflowId":"fails"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (603979777, '5ad49d4a4205b0f8f60262a4', 'node.started', 1794978405754, CAST('{"attempt":1,"nodeId":"a","typeId":"core.fail"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (603979778, '97f80ba9e9befddf5a79e721', 'node.failed', 1794978405754, CAST('{"error":{"code":"conformance_test_failure","message":"Intentional conformance failure"},"nodeId":"a"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (603979779, 'f196b9a7d08f0a587c5967ee', 'run.failed', 1794978405754, CAST('{"error":{"code":"conformance_test_failure","message":"Intentional conformance failure"},"failedNodeId":"a"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (671088640, '7e360c7d7461599cc42582d9', 'run.started', 1794978405769, CAST('{"inputs":{},"owner":{"principal":"key_325222716180c36d","tenant":"acme"},"workflowId":"asks"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (671088641, '377f9ed9271b5bb23782af34', 'node.started', 1794978405769, CAST('{"attempt":1,"nodeId":"ask","typeId":"core.interrupt"}' AS BLOB), 'ask', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (671088642, 'aaf32f22fbef87e95e9810f3', 'interrupt.requested', 1794978405769, CAST('{"data":{"customKind":"supplier","payload":["north","south"]},"key":"ask","kind":"custom"}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1', NULL);
INSERT INTO events VALUES (671088643, '22a6c34b9bb613f859737fe4', 'node.suspended', 1794978405769, CAST('{"interruptId":"ask.1","key":"ask","kind":"custom","nodeId":"ask"}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1', NULL);
INSERT INTO events VALUES (738197504, 'e6b2ddb84c38b78690ea32da', 'run.started', 1794978405796, CAST('{"inputs":{},"owner":{"principal":"key_325222716180c36d","tenant":"acme"},"workflowId":"event"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (738197505, 'f0b4f4fb3f32db24714dd7b4', 'node.started', 1794978405796, CAST('{"attempt":1,"nodeId":"wait","typeId":"core.interrupt"}' AS BLOB), 'wait', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (738197506, '09ab510f61cd8e144b2a493e', 'interrupt.requested', 1794978405796, CAST('{"data":{"correlation":{"orderId":"o-1"},"eventType":"shop.order.paid"},"key":"wait","kind":"external-event"}' AS BLOB), 'wait', NULL, 1, 1, 'wait.1', NULL);
INSERT INTO events VALUES (738197507, '5ffa899811f880047534bd11', 'node.suspended', 1794978405796, CAST('{"interruptId":"wait.1","key":"wait","kind":"external-event","nodeId":"wait"}' AS BLOB), 'wait', NULL, 1, 1, 'wait.1', NULL);
INSERT INTO events VALUES (805306368, 'c2ed63a603832886ceecb584', 'run.started', 1794978405812, CAST('{"inputs":{},"owner":{"principal":"key_325222716180c36d","tenant":"acme"},"workflowId":"form"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (805306369, '9bb17560be6af962edcec53c', 'node.started', 1794978405812, CAST('{"attempt":1,"nodeId":"ask","typeId":"core.clarificationGate"}' AS BLOB), 'ask', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (805306370, '781f7871bc512bcd44c23e8e', 'interrupt.requested', 1794978405812, CAST('{"data":{"questions":[{"id":"day","question":"Which day?","schema":{"type":"string"}}]},"key":"ask","kind":"clarification"}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1', NULL);
INSERT INTO events VALUES (805306371, '7e5df2acac9409b748fa2b1a', 'clarification.requested', 1794978405812, CAST('{"interruptId":"ask.1","nodeId":"ask","questions":[{"id":"day","question":"Which day?","schema":{"type":"string"}}]}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1', NULL);
INSERT INTO events VALUES (805306372, 'ac0056d3ee3cc77b2725da36', 'node.suspended', 1794978405812, CAST('{"interruptId":"ask.1","key":"ask","kind":"clarification","nodeId":"ask"}' AS BLOB), 'ask', NULL, 1, 1, 'ask.1', NULL);
INSERT INTO events VALUES (872415232, '8a0de1528a960e6658688c82', 'run.started', 1794978405826, CAST('{"inputs":{},"owner":{"principal":"key_325222716180c36d","tenant":"acme"},"workflowId":"talks"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (872415233, 'b85ecff8675a73e2419bc601', 'node.started', 1794978405826, CAST('{"attempt":1,"nodeId":"t","typeId":"core.conversationGate"}' AS BLOB), 't', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (872415234, 'd72c4aec8bf6e0f549e45c02', 'interrupt.requested', 1794978405836, CAST('{"data":{"conversationId":"01m7pgsqe1qc24e0cgt8gxhczr:t:0","title":"Conversation"},"key":"t:start","kind":"conversation.start"}' AS BLOB), 't', NULL, 1, 1, 't.1', NULL);
INSERT INTO events VALUES (872415235, '3c21cfe6875e3922d1161fee', 'conversation.opened', 1794978405836, CAST('{"capabilities":["multi-turn"],"conversationId":"01m7pgsqe1qc24e0cgt8gxhczr:t:0","initialTurn":{"content":"Conversation","from":"t","messageId":"t.0.0","role":"system","ts":1794978405836,"turnIndex":0}}' AS BLOB), 't', NULL, 1, 1, 't.1', NULL);
INSERT INTO events VALUES (872415236, 'dbcc89238c6d1095c6cf86f5', 'interrupt.resolved', 1794978405836, CAST('{"interruptId":"t.1","kind":"conversation.start","nodeId":"t","resumeValue":null}' AS BLOB), 't', NULL, 1, 1, 't.1', NULL);
INSERT INTO events VALUES (872415237, '322fc1965af137126091d11f', 'interrupt.requested', 1794978405840, CAST('{"data":{"conversationId":"01m7pgsqe1qc24e0cgt8gxhczr:t:0","prompt":"Please answer.","turnIndex":1},"key":"t:1","kind":"conversation.exchange"}' AS BLOB), 't', NULL, 1, 1, 't.2', NULL);
INSERT INTO events VALUES (872415238, '0888a1992e43fa9329cb17c3', 'node.suspended', 1794978405840, CAST('{"interruptId":"t.2","key":"t:1","kind":"conversation.exchange","nodeId":"t","reason":"conversation-input"}' AS BLOB), 't', NULL, 1, 1, 't.2', NULL);
INSERT INTO events VALUES (939524096, '04851df8f5594f2b5057af39', 'run.started', 1794978405851, CAST('{"inputs":{},"owner":{"principal":"key_325222716180c36d","tenant":"acme"},"workflowId":"approve"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (939524097, 'b6efdb73fae308c1ce323934', 'node.started', 1794978405851, CAST('{"attempt":1,"nodeId":"gate","typeId":"core.approvalGate"}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (939524098, '94c18fbb5c67bbed3222138d', 'interrupt.requested', 1794978405851, CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","title":"Pay for a chair?"},"key":"gate","kind":"approval"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (939524099, 'bb694cb8d65ecb531bebcb5b', 'approval.requested', 1794978405851, CAST('{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","interruptId":"gate.1","nodeId":"gate","title":"Pay for a chair?"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (939524100, '9b8139447aba6703369437b3', 'node.suspended', 1794978405851, CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (939524101, '21050bc854237a5195cd2eef', 'interrupt.resolved', 1794978405868, CAST('{"interruptId":"gate.1","kind":"approval","nodeId":"gate","outcome":"rejected","resolvedBy":"key_325222716180c36d","resumeValue":{"action":"reject","decidedBy":"key_325222716180c36d"}}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (939524102, '078ee0e321460d06ac973367', 'approval.received', 1794978405868, CAST('{"action":"reject","decidedBy":"key_325222716180c36d","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (939524103, '25f854ce2aa3be4344977a41', 'node.resumed', 1794978405868, CAST('{"interruptId":"gate.1","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (939524104, '546a35593569d3b44a3cead3', 'node.failed', 1794978405868, CAST('{"error":{"code":"interrupt_rejected","details":{"decidedBy":"key_325222716180c36d","reason":"rejected"},"message":"The approval was rejected."},"nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (939524105, 'f901c968b58526ce3d543fb7', 'node.skipped', 1794978405868, CAST('{"nodeId":"n","reason":"trigger-rule"}' AS BLOB), 'n', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (939524106, '1aa6211543c9a688c49dfb3d', 'run.failed', 1794978405868, CAST('{"error":{"code":"interrupt_rejected","details":{"decidedBy":"key_325222716180c36d","reason":"rejected"},"message":"The approval was rejected."},"failedNodeId":"gate"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1006632960, '0cf4a7b9a5ae19ef306580e5', 'run.started', 1794978405891, CAST('{"inputs":{},"owner":{"principal":"key_325222716180c36d","tenant":"acme"},"workflowId":"quorum"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1006632961, '5330fc7d31f59a509716c548', 'node.started', 1794978405891, CAST('{"attempt":1,"nodeId":"gate","typeId":"core.approvalGate"}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1006632962, '7143274a9682d0474e71f139', 'interrupt.requested', 1794978405891, CAST('{"data":{"actions":["accept","reject"],"approversList":[],"artifactId":"gate","artifactType":"approval","requiredApprovals":2,"title":"Release?"},"key":"gate","kind":"approval"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1006632963, '29c5fc47bdb265f09c5be654', 'approval.requested', 1794978405891, CAST('{"actions":["accept","reject"],"approversList":[],"artifactId":"gate","artifactType":"approval","interruptId":"gate.1","nodeId":"gate","requiredApprovals":2,"title":"Release?"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1006632964, '6190654718da4e583dcedb82', 'node.suspended', 1794978405891, CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1006632965, '1073574a411f7bd1672ea742', 'approval.granted', 1794978405902, CAST('{"gateId":"gate","principal":"ada","quorumProgress":{"granted":1,"required":2}}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1073741824, '475cdf039d409746b2c1b2ca', 'run.started', 1794978405915, CAST('{"inputs":{},"owner":{"principal":"key_325222716180c36d","tenant":"acme"},"workflowId":"corrected"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1073741825, '2e92c9f26f577d8c34cf388f', 'node.started', 1794978405915, CAST('{"attempt":1,"nodeId":"again","typeId":"core.ai.generateEnvelope"}' AS BLOB), 'again', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1073741826, 'ed7b246c2980ef55b7ea8ed6', 'weftwork.model.answered', 1794978405925, CAST('{"call":"/0.0","detail":"end_turn","inputTokens":99,"model":"scripted-1","nodeId":"again","outputTokens":6,"provider":"scripted","stop":"stop","text":"Monday would suit them."}' AS BLOB), 'again', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1073741827, 'cee001c0fbdf4a74b941da6a', 'provider.usage', 1794978405925, CAST('{"inputTokens":99,"model":"scripted-1","nodeId":"again","outputTokens":6,"provider":"scripted","totalTokens":105}' AS BLOB), 'again', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1073741828, '673a57b4cc3ab48f661b042a', 'envelope.retry.attempted', 1794978405925, CAST('{"attempt":2,"nodeId":"again","previousError":"The answer could not be parsed as JSON.","reason":"parse-error"}' AS BLOB), 'again', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1073741829, '2fdc48af32b00ae2f1c36f4f', 'weftwork.model.answered', 1794978405928, CAST('{"call":"/0.1","detail":"end_turn","inputTokens":152,"model":"scripted-1","nodeId":"again","outputTokens":16,"provider":"scripted","stop":"stop","text":"{\"type\": \"vendor.example.booking\", \"payload\": {\"day\": \"Monday\"}}"}' AS BLOB), 'again', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1073741830, 'fa3b1b38288b374f2d70eca2', 'provider.usage', 1794978405928, CAST('{"inputTokens":152,"model":"scripted-1","nodeId":"again","outputTokens":16,"provider":"scripted","totalTokens":168}' AS BLOB), 'again', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1073741831, 'eade8e7f77f41fe22e55fb1f', 'weftwork.envelope.recorded', 1794978405940, CAST('{"correlationId":"01m7pgsqgvxhv796xp3g27tb00:again:/0.0.1:0:91211f78","envelopeId":"env-1d1f47048d176fc4bdba22c091d9e985","nodeId":"again","payload":{"day":"Monday"},"redactionCount":0,"schemaVersion":1,"status":"accepted","type":"vendor.example.booking"}' AS BLOB), 'again', '01m7pgsqgvxhv796xp3g27tb00:again:/0.0.1:0:91211f78', 1, 1, NULL, 'trusted');
INSERT INTO events VALUES (1073741832, 'f45b372b18575a3e5128aef4', 'node.completed', 1794978405948, CAST('{"nodeId":"again","outputs":{"contentTrust":"trusted","envelopeId":"env-1d1f47048d176fc4bdba22c091d9e985","envelopeType":"vendor.example.booking","finishReason":"stop","model":"scripted-1","payload":{"day":"Monday"},"usage":{"inputTokens":152,"outputTokens":16,"totalTokens":168}}}' AS BLOB), 'again', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1073741833, '58373702ce1145fb690c6717', 'node.started', 1794978405948, CAST('{"attempt":1,"nodeId":"n","typeId":"core.noop"}' AS BLOB), 'n', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1073741834, '85a94c797ea3e718a3c1da75', 'node.completed', 1794978405948, CAST('{"nodeId":"n","outputs":{}}' AS BLOB), 'n', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1073741835, '7aee8b5151b864c7a81a8998', 'run.completed', 1794978405948, CAST('{"outputs":{"n":{}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1140850688, 'b0001a856567acd430603390', 'run.started', 1794978405960, CAST('{"inputs":{},"owner":{"principal":"key_325222716180c36d","tenant":"acme"},"workflowId":"shaped"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1140850689, 'bd047f4207ab9a2041315d9d', 'node.started', 1794978405960, CAST('{"attempt":1,"nodeId":"shape","typeId":"core.ai.structuredOutput"}' AS BLOB), 'shape', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1140850690, '384e911c2ed02fc6f74f05c3', 'weftwork.model.answered', 1794978405965, CAST('{"call":"/0.0","detail":"end_turn","inputTokens":49,"model":"scripted-1","nodeId":"shape","outputTokens":5,"provider":"scripted","stop":"stop","text":"{\"day\": \"Monday\"}"}' AS BLOB), 'shape', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1140850691, 'e5c408668ebc2d51f48b395f', 'provider.usage', 1794978405965, CAST('{"inputTokens":49,"model":"scripted-1","nodeId":"shape","outputTokens":5,"provider":"scripted","totalTokens":54}' AS BLOB), 'shape', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1140850692, '6eb0f639ed9876ec98e3e523', 'weftwork.envelope.recorded', 1794978405968, CAST('{"correlationId":"01m7pgsqj31zaa5tqhnxj92bws:shape:/0.0.0:0:31b94bed","envelopeId":"env-b5da391dfbef84a3ff822b972b4672fa","nodeId":"shape","payload":{"day":"Monday"},"redactionCount":0,"schemaVersion":1,"status":"accepted","type":"vendor.weftwork.structured-output"}' AS BLOB), 'shape', '01m7pgsqj31zaa5tqhnxj92bws:shape:/0.0.0:0:31b94bed', 1, 1, NULL, 'trusted');
INSERT INTO events VALUES (1140850693, '62a3fb455e15cbea2a4dd635', 'node.completed', 1794978405980, CAST('{"nodeId":"shape","outputs":{"data":{"day":"Monday"},"finishReason":"stop","model":"scripted-1","usage":{"inputTokens":49,"outputTokens":5,"totalTokens":54}}}' AS BLOB), 'shape', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1140850694, '1e3eade64800c488c63e8b61', 'node.started', 1794978405980, CAST('{"attempt":1,"nodeId":"n","typeId":"core.noop"}' AS BLOB), 'n', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1140850695, 'f934d073fb4fdcd5ffb950f5', 'node.completed', 1794978405980, CAST('{"nodeId":"n","outputs":{}}' AS BLOB), 'n', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1140850696, '705fc2f8d49a6aee9e0d82af', 'run.completed', 1794978405980, CAST('{"outputs":{"n":{}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1207959552, 'b5e243380bbc7ca5810abc46', 'run.started', 1794978405996, CAST('{"inputs":{},"owner":{"principal":"key_325222716180c36d","tenant":"acme"},"workflowId":"clarify"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1207959553, '0d6f6e37a7cdc5c88bb26e11', 'node.started', 1794978405996, CAST('{"attempt":1,"nodeId":"book","typeId":"core.ai.generateEnvelope"}' AS BLOB), 'book', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1207959554, 'b197d4a0f4b651adae0ac8a4', 'weftwork.model.answered', 1794978406005, CAST('{"call":"/0.0","detail":"end_turn","inputTokens":99,"model":"scripted-1","nodeId":"book","outputTokens":36,"provider":"scripted","stop":"stop","text":"{\"type\": \"clarification.request\", \"payload\": {\"questions\": [{\"id\": \"people\", \"question\": \"How many are you?\", \"schema\": {\"type\": \"integer\"}}]}}"}' AS BLOB), 'book', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1207959555, '1b34b6643c5741cebab072bc', 'provider.usage', 1794978406005, CAST('{"inputTokens":99,"model":"scripted-1","nodeId":"book","outputTokens":36,"provider":"scripted","totalTokens":135}' AS BLOB), 'book', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1207959556, '769272090f0ef2833c6ef29c', 'weftwork.envelope.recorded', 1794978406016, CAST('{"correlationId":"01m7pgsqkcr6ne40bgbyxtzx25:book:/0.0.0:0:5b97a253","drift":true,"envelopeId":"env-ecc980ad05d60873e56dca6ab4cc929a","floor":1,"nodeId":"book","payload":{"questions":[{"id":"people","question":"How many are you?","schema":{"type":"integer"}}]},"redactionCount":0,"schemaVersion":0,"status":"accepted","type":"clarification.request"}' AS BLOB), 'book', '01m7pgsqkcr6ne40bgbyxtzx25:book:/0.0.0:0:5b97a253', 1, 1, NULL, 'trusted');
INSERT INTO events VALUES (1207959557, '80ac24493c99c3449d7b35e7', 'interrupt.requested', 1794978406016, CAST('{"data":{"questions":[{"id":"people","question":"How many are you?","schema":{"type":"integer"}}]},"key":"envelope:01m7pgsqkcr6ne40bgbyxtzx25:book:/0.0.0:0:5b97a253","kind":"clarification"}' AS BLOB), 'book', '01m7pgsqkcr6ne40bgbyxtzx25:book:/0.0.0:0:5b97a253', 1, 1, 'book.1', 'trusted');
INSERT INTO events VALUES (1207959558, '7910ba8f0da43b99754b8cc3', 'clarification.requested', 1794978406016, CAST('{"interruptId":"book.1","nodeId":"book","questions":[{"id":"people","question":"How many are you?","schema":{"type":"integer"}}]}' AS BLOB), 'book', '01m7pgsqkcr6ne40bgbyxtzx25:book:/0.0.0:0:5b97a253', 1, 1, 'book.1', 'trusted');
INSERT INTO events VALUES (1207959559, '190682a32fbd273ba4339c61', 'node.suspended', 1794978406016, CAST('{"interruptId":"book.1","key":"envelope:01m7pgsqkcr6ne40bgbyxtzx25:book:/0.0.0:0:5b97a253","kind":"clarification","nodeId":"book"}' AS BLOB), 'book', '01m7pgsqkcr6ne40bgbyxtzx25:book:/0.0.0:0:5b97a253', 1, 1, 'book.1', 'trusted');
INSERT INTO events VALUES (1207959560, '2f74d90ea893be1b9aa9f966', 'interrupt.resolved', 1794978406025, CAST('{"interruptId":"book.1","kind":"clarification","nodeId":"book","resolvedBy":"key_325222716180c36d","resumeValue":{"answers":{"people":2}}}' AS BLOB), 'book', NULL, 1, 1, 'book.1', NULL);
INSERT INTO events VALUES (1207959561, '669bcb8a1d79639b0b3d1c95', 'clarification.resolved', 1794978406025, CAST('{"answeredBy":"key_325222716180c36d","answers":{"people":2},"nodeId":"book"}' AS BLOB), 'book', NULL, 1, 1, 'book.1', NULL);
INSERT INTO events VALUES (1207959562, '7205f3ce19c541f210598ac2', 'node.resumed', 1794978406025, CAST('{"interruptId":"book.1","nodeId":"book"}' AS BLOB), 'book', NULL, 1, 1, 'book.1', NULL);
INSERT INTO events VALUES (1207959563, '3d8e2898bd6fe890c5e79d86', 'weftwork.model.answered', 1794978406043, CAST('{"call":"/0.1","detail":"end_turn","inputTokens":150,"model":"scripted-1","nodeId":"book","outputTokens":16,"provider":"scripted","stop":"stop","text":"{\"type\": \"vendor.example.booking\", \"payload\": {\"day\": \"Monday\"}}"}' AS BLOB), 'book', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1207959564, '2379499ca3e04d68f7417b78', 'provider.usage', 1794978406043, CAST('{"inputTokens":150,"model":"scripted-1","nodeId":"book","outputTokens":16,"provider":"scripted","totalTokens":166}' AS BLOB), 'book', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1207959565, '7a9935affd5367c8c3641038', 'weftwork.envelope.recorded', 1794978406048, CAST('{"correlationId":"01m7pgsqkcr6ne40bgbyxtzx25:book:/0.0.1:0:91211f78","envelopeId":"env-b18d57591a84a34168bf1595de43fa84","nodeId":"book","payload":{"day":"Monday"},"redactionCount":0,"schemaVersion":1,"status":"accepted","type":"vendor.example.booking"}' AS BLOB), 'book', '01m7pgsqkcr6ne40bgbyxtzx25:book:/0.0.1:0:91211f78', 1, 1, NULL, 'trusted');
INSERT INTO events VALUES (1207959566, 'f14764c8b64a78512e08d0bc', 'node.completed', 1794978406060, CAST('{"nodeId":"book","outputs":{"contentTrust":"trusted","envelopeId":"env-b18d57591a84a34168bf1595de43fa84","envelopeType":"vendor.example.booking","finishReason":"stop","model":"scripted-1","payload":{"day":"Monday"},"usage":{"inputTokens":150,"outputTokens":16,"totalTokens":166}}}' AS BLOB), 'book', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1207959567, 'b6b56cd8f2c3d7f345d2e311', 'node.started', 1794978406060, CAST('{"attempt":1,"nodeId":"n","typeId":"core.noop"}' AS BLOB), 'n', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1207959568, '8eaceae2b076f64165465f31', 'node.completed', 1794978406060, CAST('{"nodeId":"n","outputs":{}}' AS BLOB), 'n', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1207959569, '2d899a181b6282b8db57fc07', 'run.completed', 1794978406060, CAST('{"outputs":{"n":{}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1275068416, '267ee7a6b6697ee85064807c', 'run.started', 1794978406071, CAST('{"inputs":{},"owner":{"principal":"key_325222716180c36d","tenant":"acme"},"workflowId":"approve"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1275068417, 'c25860a4c59220f075b3c995', 'node.started', 1794978406071, CAST('{"attempt":1,"nodeId":"gate","typeId":"core.approvalGate"}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1275068418, '47cc3cc91539a5f04cbfacdc', 'interrupt.requested', 1794978406071, CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","title":"Pay for a chair?"},"key":"gate","kind":"approval"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1275068419, 'f534b28365f6473fa9b56eaa', 'approval.requested', 1794978406071, CAST('{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","interruptId":"gate.1","nodeId":"gate","title":"Pay for a chair?"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1275068420, '8482aac8f98e00884154293f', 'node.suspended', 1794978406071, CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1275068421, 'd1bcef743c8862252c2cc207', 'node.cancelled', 1794978406082, CAST('{"nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1275068422, 'b26425e8d050baa8f02b7dd9', 'run.cancelled', 1794978406082, CAST('{}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1342177280, '85737cdad0b7dcb8e6e9ae3e', 'run.started', 1794978406100, CAST('{"inputs":{},"owner":{"principal":"key_325222716180c36d","tenant":"acme"},"workflowId":"parent"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1342177281, '31d584bee789b0886a86bdb3', 'node.started', 1794978406100, CAST('{"attempt":1,"nodeId":"s","typeId":"core.subWorkflow"}' AS BLOB), 's', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1342177282, '942575ac7150480be5ff7b37', 'weftwork.child.started', 1794978406116, CAST('{"awaited":true,"childRunId":"01m7pgsqq4gdsx47j5t16n37w2","key":"child","workflowId":"wait-long"}' AS BLOB), 's', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1342177283, '6f3d87bd17d6cdc36e07a066', 'node.cancelled', 1794978406137, CAST('{"nodeId":"s"}' AS BLOB), 's', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1342177284, '62e6c1b17cd6d8cf9286fa17', 'run.cancelled', 1794978406137, CAST('{}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1409286144, 'f0af163e757950b7c24f5a20', 'run.started', 1794978406128, CAST('{"inputs":{},"owner":{"principal":"key_325222716180c36d","tenant":"acme"},"workflowId":"wait-long"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1409286145, '6823b4a1558886af3bbf52ad', 'node.started', 1794978406128, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1409286146, 'e5ebaf34ce6b571ab471616a', 'node.completed', 1794978406128, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1409286147, 'f2465dd5dd6d8419b30d5866', 'node.started', 1794978406128, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1409286148, 'b3f529b4f30e803532750754', 'weftwork.run.cancel-requested', 1794978406152, CAST('{"parentRunId":"01m7pgsqph4a58t62k651ve0s2","reason":"parent-cancelled"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1409286149, 'cb35b8e1433cbdac8e734ce0', 'node.cancelled', 1794978406164, CAST('{"nodeId":"d"}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1409286150, '654c0181d773b2aa1bbea97d', 'run.cancelled', 1794978406164, CAST('{"parentRunId":"01m7pgsqph4a58t62k651ve0s2","reason":"parent-cancelled"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395008, 'a6ff944bc4a7c3334c2dee33', 'run.started', 1794978406160, CAST('{"inputs":{},"owner":{"principal":"key_325222716180c36d","tenant":"acme"},"workflowId":"parent-asks"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395009, '5d9ab7724837c0f45222a387', 'node.started', 1794978406160, CAST('{"attempt":1,"nodeId":"s","typeId":"core.subWorkflow"}' AS BLOB), 's', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395010, '3b04ae82e234c2f177844ea0', 'weftwork.child.started', 1794978406178, CAST('{"awaited":true,"childRunId":"01m7pgsqs0adgyyzkf2bseqdrr","key":"child","workflowId":"approve"}' AS BLOB), 's', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1476395011, '4833c8f21aab641b4dd57dd8', 'weftwork.child.status', 1794978406237, CAST('{"childRunId":"01m7pgsqs0adgyyzkf2bseqdrr","key":"child","status":"waiting-approval"}' AS BLOB), 's', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1543503872, 'c88a8cdf4ba19bdd37d99bfe', 'run.started', 1794978406205, CAST('{"inputs":{},"owner":{"principal":"key_325222716180c36d","tenant":"acme"},"workflowId":"approve"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1543503873, '341e09045ca9562b01c7aed5', 'node.started', 1794978406205, CAST('{"attempt":1,"nodeId":"gate","typeId":"core.approvalGate"}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1543503874, 'e2e074bab014de0c82f05f02', 'interrupt.requested', 1794978406205, CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","title":"Pay for a chair?"},"key":"gate","kind":"approval"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1543503875, 'de7ee768c4bd6d935c7ae508', 'approval.requested', 1794978406205, CAST('{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","interruptId":"gate.1","nodeId":"gate","title":"Pay for a chair?"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1543503876, '4b352e55de50fd291a79c01d', 'node.suspended', 1794978406205, CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (1610612736, 'b21c40d17a00ca726cdbf1b5', 'run.started', 1794978406179, CAST('{"inputs":{},"owner":{"principal":"key_325222716180c36d","tenant":"acme"},"workflowId":"parent-model"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1610612737, '025768db369db03b99725d5d', 'node.started', 1794978406179, CAST('{"attempt":1,"nodeId":"s","typeId":"core.subWorkflow"}' AS BLOB), 's', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1610612738, '9b753e6579ab67234e7a2d0e', 'weftwork.child.started', 1794978406212, CAST('{"awaited":true,"childRunId":"01m7pgsqsxjnc6m0krp9h0fvnv","key":"child","workflowId":"clarify"}' AS BLOB), 's', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1610612739, '7a56e7a37038b23f24124d2a', 'weftwork.child.status', 1794978406289, CAST('{"childRunId":"01m7pgsqsxjnc6m0krp9h0fvnv","key":"child","status":"waiting-input"}' AS BLOB), 's', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1677721600, 'd89aa8b562d7ceb83619306d', 'run.started', 1794978406236, CAST('{"inputs":{},"owner":{"principal":"key_325222716180c36d","tenant":"acme"},"workflowId":"clarify"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1677721601, 'ebd138123cc6e149e6cc999b', 'node.started', 1794978406236, CAST('{"attempt":1,"nodeId":"book","typeId":"core.ai.generateEnvelope"}' AS BLOB), 'book', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1677721602, 'e5b9a501df52f5cdd8e2bdea', 'weftwork.model.answered', 1794978406241, CAST('{"call":"/0.0","detail":"end_turn","inputTokens":99,"model":"scripted-1","nodeId":"book","outputTokens":36,"provider":"scripted","stop":"stop","text":"{\"type\": \"clarification.request\", \"payload\": {\"questions\": [{\"id\": \"people\", \"question\": \"How many are you?\", \"schema\": {\"type\": \"integer\"}}]}}"}' AS BLOB), 'book', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1677721603, '0a1aeddaa0dd3ac153895e62', 'provider.usage', 1794978406241, CAST('{"inputTokens":99,"model":"scripted-1","nodeId":"book","outputTokens":36,"provider":"scripted","totalTokens":135}' AS BLOB), 'book', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1677721604, 'afb0edd63eea020b101d2003', 'weftwork.envelope.recorded', 1794978406261, CAST('{"correlationId":"01m7pgsqsxjnc6m0krp9h0fvnv:book:/0.0.0:0:5b97a253","drift":true,"envelopeId":"env-97be313e9a6e02216926a23b977af463","floor":1,"nodeId":"book","payload":{"questions":[{"id":"people","question":"How many are you?","schema":{"type":"integer"}}]},"redactionCount":0,"schemaVersion":0,"status":"accepted","type":"clarification.request"}' AS BLOB), 'book', '01m7pgsqsxjnc6m0krp9h0fvnv:book:/0.0.0:0:5b97a253', 1, 1, NULL, 'trusted');
INSERT INTO events VALUES (1677721605, '29832b2ee90e3bf5621b0b8a', 'interrupt.requested', 1794978406261, CAST('{"data":{"questions":[{"id":"people","question":"How many are you?","schema":{"type":"integer"}}]},"key":"envelope:01m7pgsqsxjnc6m0krp9h0fvnv:book:/0.0.0:0:5b97a253","kind":"clarification"}' AS BLOB), 'book', '01m7pgsqsxjnc6m0krp9h0fvnv:book:/0.0.0:0:5b97a253', 1, 1, 'book.1', 'trusted');
INSERT INTO events VALUES (1677721606, '9d0e248c97845c0ff99a1f4d', 'clarification.requested', 1794978406261, CAST('{"interruptId":"book.1","nodeId":"book","questions":[{"id":"people","question":"How many are you?","schema":{"type":"integer"}}]}' AS BLOB), 'book', '01m7pgsqsxjnc6m0krp9h0fvnv:book:/0.0.0:0:5b97a253', 1, 1, 'book.1', 'trusted');
INSERT INTO events VALUES (1677721607, '5da6a410312aada24c1b6159', 'node.suspended', 1794978406261, CAST('{"interruptId":"book.1","key":"envelope:01m7pgsqsxjnc6m0krp9h0fvnv:book:/0.0.0:0:5b97a253","kind":"clarification","nodeId":"book"}' AS BLOB), 'book', '01m7pgsqsxjnc6m0krp9h0fvnv:book:/0.0.0:0:5b97a253', 1, 1, 'book.1', 'trusted');
INSERT INTO events VALUES (1744830464, '30f43dbdb1c96787f867b4ec', 'run.started', 1794978406245, CAST('{"inputs":{},"owner":{"principal":"key_325222716180c36d","tenant":"acme"},"workflowId":"parent"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1744830465, 'a672ba48e001a0163ad7324c', 'node.started', 1794978406245, CAST('{"attempt":1,"nodeId":"s","typeId":"core.subWorkflow"}' AS BLOB), 's', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1744830466, 'c3524266e60d6ea2abf7bd0e', 'weftwork.child.started', 1794978406277, CAST('{"awaited":true,"childRunId":"01m7pgsqw43ka6jhngsy9gb8sc","key":"child","workflowId":"wait-long"}' AS BLOB), 's', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1811939328, 'bf93973f8345e7420e4046e1', 'run.started', 1794978406291, CAST('{"inputs":{},"owner":{"principal":"key_325222716180c36d","tenant":"acme"},"workflowId":"wait-long"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1811939329, '59e383fe63cd7420f0a26d9b', 'node.started', 1794978406291, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1811939330, 'b2e23c4dc679a1a9e5dd8329', 'node.completed', 1794978406291, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1811939331, '291da68d693e5417498ffa23', 'node.started', 1794978406291, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1879048192, '47ffa213146ec155ccbcfd73', 'run.started', 1794978406299, CAST('{"inputs":{},"owner":{"principal":"key_325222716180c36d","tenant":"acme"},"workflowId":"wait-long"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1879048193, '283d8b326a974fc5c70cdf23', 'node.started', 1794978406299, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1879048194, '309c1e6adaa5d26db8a2c5bd', 'node.completed', 1794978406299, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1879048195, '2f0a75fc1bf56a364b8f6eae', 'node.started', 1794978406299, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1879048196, 'fe8b8249e19506af5d4764b4', 'run.paused', 1794978406325, CAST('{"drainPolicy":"immediate"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1879048197, 'f6c1292de9fb61743c3609aa', 'run.resumed', 1794978406341, CAST('{}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1879048198, 'df6b71b5bc98466768f8b2f7', 'node.started', 1794978406341, CAST('{"attempt":2,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1946157056, '876d7807d19c286f4bc962bc', 'run.started', 1794978406348, CAST('{"inputs":{},"owner":{"principal":"key_325222716180c36d","tenant":"acme"},"workflowId":"list"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1946157057, '98aa5583f2fd0491d4d3f02f', 'node.started', 1794978406348, CAST('{"attempt":1,"nodeId":"m","typeId":"core.flow.map"}' AS BLOB), 'm', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1946157058, '2e92bff2ccb6debe03561b58', 'weftwork.map.item', 1794978406362, CAST('{"index":0,"output":{}}' AS BLOB), 'm', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (1946157059, '6f33ebc0d5ddee734821e840', 'weftwork.map.item', 1794978406371, CAST('{"index":2,"output":{}}' AS BLOB), 'm', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2013265920, '5202fc73e70d9c9ea3e880e8', 'run.started', 1794978406365, CAST('{"inputs":{},"owner":{"principal":"key_325222716180c36d","tenant":"acme"},"workflowId":"wait-long"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2013265921, '573e7aaafc4a4b6220918f0b', 'node.started', 1794978406365, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2013265922, '2870393446eb54cabc64a49c', 'node.completed', 1794978406365, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2013265923, '0bbf6eef8e23cd81693320f4', 'node.started', 1794978406365, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2080374784, '217fa61550c55dbf025c80d4', 'run.started', 1794978406377, CAST('{"inputs":{},"owner":{"principal":"key_325222716180c36d","tenant":"acme"},"workflowId":"wait-long"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2080374785, 'd6841e5863f58375f45573b5', 'node.started', 1794978406377, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2080374786, '0e9544b8a4580b053f02c69f', 'node.completed', 1794978406377, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2080374787, 'ef5cf32427f0e34948a6cc0e', 'node.started', 1794978406377, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (2080374788, '01ea68acf6f30900b53f9211', 'weftwork.run.pause-requested', 1794978406408, CAST('{"drainPolicy":"drain-current-node"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
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
INSERT INTO run_state VALUES (4, 'interrupt', 'book.1', CAST('{"data":{"questions":[{"id":"people","question":"How many are you?","schema":{"type":"integer"}}]},"interruptId":"book.1","key":"envelope:01m7pgsmwjm5thkzjzykeg9zb6:book:/0.0.0:0:5b97a253","kind":"clarification","nodeId":"book","requestedAt":"2026-11-18T05:06:43.221Z","status":"open"}' AS BLOB));
INSERT INTO run_state VALUES (4, 'node', 'book', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (5, 'interrupt', 'gate.1', CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","title":"Pay for a chair?"},"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","requestedAt":"2026-11-18T05:06:43.233Z","status":"open"}' AS BLOB));
INSERT INTO run_state VALUES (5, 'node', 'gate', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (6, 'interrupt', 'gate.1', CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","outcome":"accepted","requestedAt":"2026-11-18T05:06:43.238Z","resolvedAt":"2026-11-18T05:06:43.241Z","resolvedBy":"ada","status":"resolved"}' AS BLOB));
INSERT INTO run_state VALUES (6, 'node', 'gate', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (6, 'node', 'n', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (7, 'node', 'a', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (7, 'node', 'd', CAST('{"attempt":1,"status":"pending"}' AS BLOB));
INSERT INTO run_state VALUES (8, 'node', 'a', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (8, 'node', 'd', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (9, 'node', 'a', CAST('{"attempt":1,"error":{"code":"conformance_test_failure","message":"Intentional conformance failure"},"status":"failed"}' AS BLOB));
INSERT INTO run_state VALUES (10, 'interrupt', 'ask.1', CAST('{"data":{"customKind":"supplier","payload":["north","south"]},"interruptId":"ask.1","key":"ask","kind":"custom","nodeId":"ask","requestedAt":"2026-11-18T05:06:45.769Z","status":"open"}' AS BLOB));
INSERT INTO run_state VALUES (10, 'node', 'ask', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (11, 'interrupt', 'wait.1', CAST('{"data":{"correlation":{"orderId":"o-1"},"eventType":"shop.order.paid"},"interruptId":"wait.1","key":"wait","kind":"external-event","nodeId":"wait","requestedAt":"2026-11-18T05:06:45.796Z","status":"open"}' AS BLOB));
INSERT INTO run_state VALUES (11, 'node', 'wait', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (12, 'interrupt', 'ask.1', CAST('{"data":{"questions":[{"id":"day","question":"Which day?","schema":{"type":"string"}}]},"interruptId":"ask.1","key":"ask","kind":"clarification","nodeId":"ask","requestedAt":"2026-11-18T05:06:45.812Z","status":"open"}' AS BLOB));
INSERT INTO run_state VALUES (12, 'node', 'ask', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (13, 'interrupt', 't.1', CAST('{"interruptId":"t.1","key":"t:start","kind":"conversation.start","nodeId":"t","requestedAt":"2026-11-18T05:06:45.836Z","resolvedAt":"2026-11-18T05:06:45.836Z","status":"resolved"}' AS BLOB));
INSERT INTO run_state VALUES (13, 'interrupt', 't.2', CAST('{"data":{"conversationId":"01m7pgsqe1qc24e0cgt8gxhczr:t:0","prompt":"Please answer.","turnIndex":1},"interruptId":"t.2","key":"t:1","kind":"conversation.exchange","nodeId":"t","requestedAt":"2026-11-18T05:06:45.840Z","status":"open"}' AS BLOB));
INSERT INTO run_state VALUES (13, 'node', 't', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (14, 'interrupt', 'gate.1', CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","outcome":"rejected","requestedAt":"2026-11-18T05:06:45.851Z","resolvedAt":"2026-11-18T05:06:45.868Z","resolvedBy":"key_325222716180c36d","status":"resolved"}' AS BLOB));
INSERT INTO run_state VALUES (14, 'node', 'gate', CAST('{"attempt":1,"error":{"code":"interrupt_rejected","details":{"decidedBy":"key_325222716180c36d","reason":"rejected"},"message":"The approval was rejected."},"status":"failed"}' AS BLOB));
INSERT INTO run_state VALUES (14, 'node', 'n', CAST('{"status":"skipped"}' AS BLOB));
INSERT INTO run_state VALUES (15, 'interrupt', 'gate.1', CAST('{"data":{"actions":["accept","reject"],"approversList":[],"artifactId":"gate","artifactType":"approval","requiredApprovals":2,"title":"Release?"},"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","requestedAt":"2026-11-18T05:06:45.891Z","status":"open","votes":[{"action":"accept","voter":"ada"}]}' AS BLOB));
INSERT INTO run_state VALUES (15, 'node', 'gate', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (16, 'node', 'again', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (16, 'node', 'n', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (17, 'node', 'n', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (17, 'node', 'shape', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (18, 'interrupt', 'book.1', CAST('{"interruptId":"book.1","key":"envelope:01m7pgsqkcr6ne40bgbyxtzx25:book:/0.0.0:0:5b97a253","kind":"clarification","nodeId":"book","requestedAt":"2026-11-18T05:06:46.016Z","resolvedAt":"2026-11-18T05:06:46.025Z","resolvedBy":"key_325222716180c36d","status":"resolved"}' AS BLOB));
INSERT INTO run_state VALUES (18, 'node', 'book', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (18, 'node', 'n', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (19, 'interrupt', 'gate.1', CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","requestedAt":"2026-11-18T05:06:46.071Z","status":"cancelled"}' AS BLOB));
INSERT INTO run_state VALUES (19, 'node', 'gate', CAST('{"attempt":1,"status":"cancelled"}' AS BLOB));
INSERT INTO run_state VALUES (20, 'kin', 'children', CAST('1' AS BLOB));
INSERT INTO run_state VALUES (20, 'node', 's', CAST('{"attempt":1,"status":"cancelled"}' AS BLOB));
INSERT INTO run_state VALUES (21, 'node', 'a', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (21, 'node', 'd', CAST('{"attempt":1,"status":"cancelled"}' AS BLOB));
INSERT INTO run_state VALUES (22, 'kin', 'children', CAST('1' AS BLOB));
INSERT INTO run_state VALUES (22, 'node', 's', CAST('{"attempt":1,"status":"running"}' AS BLOB));
INSERT INTO run_state VALUES (23, 'interrupt', 'gate.1', CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","title":"Pay for a chair?"},"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","requestedAt":"2026-11-18T05:06:46.205Z","status":"open"}' AS BLOB));
INSERT INTO run_state VALUES (23, 'node', 'gate', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (24, 'kin', 'children', CAST('1' AS BLOB));
INSERT INTO run_state VALUES (24, 'node', 's', CAST('{"attempt":1,"status":"running"}' AS BLOB));
INSERT INTO run_state VALUES (25, 'interrupt', 'book.1', CAST('{"data":{"questions":[{"id":"people","question":"How many are you?","schema":{"type":"integer"}}]},"interruptId":"book.1","key":"envelope:01m7pgsqsxjnc6m0krp9h0fvnv:book:/0.0.0:0:5b97a253","kind":"clarification","nodeId":"book","requestedAt":"2026-11-18T05:06:46.261Z","status":"open"}' AS BLOB));
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
INSERT INTO idempotency VALUES (1, 'live:acme', '03af8f682b3ba4649ad3fc210810b073b50f4d0d856dbe4a8f6ce907c19119a5', '0de3d0b6157f6460451b6c6008a8690bf931fd4076a16919237e5b79e23a008a', CAST('{"run_id":"01m7pgsmxdn6brwykjq6v3q061","status":"paused","at":1794978403247,"node_id":"","replayed":false}' AS BLOB), 1794978403247);
INSERT INTO definitions VALUES ('163ed29a7d3895f24a1b7014b083529a080aa434c46abf0e05db965049c3ace4', CAST('{"edges":[{"id":"again-n","sourceNodeId":"again","targetNodeId":"n"}],"id":"corrected","metadata":{"envelopeKinds":{"vendor.example.booking":{"schema":{"properties":{"day":{"type":"string"}},"required":["day"],"type":"object"}}}},"name":"corrected","nodes":[{"config":{"envelopeType":"vendor.example.booking","systemPrompt":"You book tables.","userMessage":"A table, please."},"envelopeContract":{"accepts":["vendor.example.booking"]},"id":"again","inputs":{},"name":"book","position":{"x":0,"y":0},"typeId":"core.ai.generateEnvelope"},{"config":{},"id":"n","inputs":{},"name":"n","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('24a8cc7e854b513343fdec75ea202c06f6735ecfe86b3b3334bc2e9c5d88ef31', CAST('{"edges":[{"id":"gate-n","sourceNodeId":"gate","targetNodeId":"n"}],"id":"quorum","metadata":{},"name":"quorum","nodes":[{"config":{"approversList":[],"requiredApprovals":2,"title":"Release?"},"id":"gate","inputs":{},"name":"gate","position":{"x":0,"y":0},"typeId":"core.approvalGate"},{"config":{},"id":"n","inputs":{},"name":"n","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('2da9ae168a9bba87e853e3628297b9d9fddeb402a7a4dcb74f28faddbb0c7548', CAST('{"edges":[],"id":"summary","metadata":{},"name":"summary","nodes":[{"config":{"maxTokens":100,"prompt":"A letter: the lamp is broken."},"id":"sum","inputs":{},"name":"sum","position":{"x":0,"y":0},"typeId":"core.ai.callPrompt"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('2f3838848a144a43a7f665007a30bad371bec1d7473161f4f8f5443350879e26', CAST('{"edges":[{"id":"s-n","sourceNodeId":"s","targetNodeId":"n"}],"id":"parent-asks","metadata":{},"name":"parent-asks","nodes":[{"config":{"workflowId":"approve"},"id":"s","inputs":{},"name":"s","position":{"x":0,"y":0},"typeId":"core.subWorkflow"},{"config":{},"id":"n","inputs":{},"name":"n","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('30d987f4ce56390758a3239348013844e2ddc8ad11c64de0603baff4a7366434', CAST('{"edges":[{"id":"gate-n","sourceNodeId":"gate","targetNodeId":"n"}],"id":"approve","metadata":{},"name":"approve","nodes":[{"config":{"title":"Pay for a chair?"},"id":"gate","inputs":{},"name":"gate","position":{"x":0,"y":0},"typeId":"core.approvalGate"},{"config":{},"id":"n","inputs":{},"name":"n","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('4715056c9a035f11aee1036cba3b41ef39b2fb4b7117ef813489295f3dd03a24', CAST('{"edges":[],"id":"fails","metadata":{},"name":"fails","nodes":[{"config":{},"id":"a","inputs":{},"name":"a","position":{"x":0,"y":0},"typeId":"core.fail"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('5758471e473f9c4af97588e11a392120ce61a73f8e7434fdff9e527fe3ad758a', CAST('{"edges":[{"id":"ask-n","sourceNodeId":"ask","targetNodeId":"n"}],"id":"asks","metadata":{},"name":"asks","nodes":[{"config":{"data":{"customKind":"supplier","payload":["north","south"]},"kind":"custom"},"id":"ask","inputs":{},"name":"ask","position":{"x":0,"y":0},"typeId":"core.interrupt"},{"config":{},"id":"n","inputs":{},"name":"n","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('5971ee2441d24febb877c8281425ae238bcee7f0a2246a6a36be84b9b68e1cbf', CAST('{"edges":[{"id":"ask-n","sourceNodeId":"ask","targetNodeId":"n"}],"id":"form","metadata":{},"name":"form","nodes":[{"config":{"questions":[{"id":"day","question":"Which day?","schema":{"type":"string"}}]},"id":"ask","inputs":{},"name":"ask","position":{"x":0,"y":0},"typeId":"core.clarificationGate"},{"config":{},"id":"n","inputs":{},"name":"n","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('6899b98b6d00d5836ba6066fe2472810e902c91f80111ee6291c9bed4969c8f5', CAST('{"edges":[{"id":"book-n","sourceNodeId":"book","targetNodeId":"n"}],"id":"clarify","metadata":{"envelopeKinds":{"vendor.example.booking":{"schema":{"properties":{"day":{"type":"string"}},"required":["day"],"type":"object"}}}},"name":"clarify","nodes":[{"config":{"envelopeType":"vendor.example.booking","systemPrompt":"You book tables.","userMessage":"A table, please."},"envelopeContract":{"accepts":["vendor.example.booking"]},"id":"book","inputs":{},"name":"book","position":{"x":0,"y":0},"typeId":"core.ai.generateEnvelope"},{"config":{},"id":"n","inputs":{},"name":"n","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('7fa4a07b7f617fe0eb89e53824cc14532c2d837fa7708599fc43a39cc97280e1', CAST('{"edges":[{"id":"a-d","sourceNodeId":"a","targetNodeId":"d"},{"id":"d-c","sourceNodeId":"d","targetNodeId":"c"}],"id":"wait-short","metadata":{},"name":"wait-short","nodes":[{"config":{},"id":"a","inputs":{},"name":"a","position":{"x":0,"y":0},"typeId":"core.noop"},{"config":{"delayMs":2500},"id":"d","inputs":{},"name":"d","position":{"x":0,"y":0},"typeId":"core.delay"},{"config":{},"id":"c","inputs":{},"name":"c","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('927247c666d9aa6c02556d7ef22bb4272a682187701a18c0553a04cceb617ee9', CAST('{"edges":[{"id":"wait-n","sourceNodeId":"wait","targetNodeId":"n"}],"id":"event","metadata":{},"name":"event","nodes":[{"config":{"data":{"eventType":"shop.order.paid"},"kind":"external-event"},"id":"wait","inputs":{"correlation":{"expression":"{''orderId'': ''o-1''}","type":"expression"}},"name":"wait","position":{"x":0,"y":0},"typeId":"core.interrupt"},{"config":{},"id":"n","inputs":{},"name":"n","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('97da45df787b2ff6a472ea2f747cccbe316028801317c182e3fd9b6eedcab50e', CAST('{"edges":[{"id":"shape-n","sourceNodeId":"shape","targetNodeId":"n"}],"id":"shaped","metadata":{},"name":"shaped","nodes":[{"config":{"outputSchema":{"properties":{"day":{"type":"string"}},"required":["day"],"type":"object"},"prompt":"Which day?"},"id":"shape","inputs":{},"name":"shape","position":{"x":0,"y":0},"typeId":"core.ai.structuredOutput"},{"config":{},"id":"n","inputs":{},"name":"n","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('983d621754e3e0a0a5ba5718635c88036f45fcfcc3d6535ebc30edaedabf2013', CAST('{"edges":[{"id":"m-n","sourceNodeId":"m","targetNodeId":"n"}],"id":"list","metadata":{},"name":"list","nodes":[{"config":{"body":{"inputs":{"delayMs":{"expression":"item","type":"expression"}},"typeId":"core.delay"},"concurrency":2},"id":"m","inputs":{"items":{"type":"static","value":[1,1500,1]}},"name":"m","position":{"x":0,"y":0},"typeId":"core.flow.map"},{"config":{},"id":"n","inputs":{},"name":"n","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('9b51e102696628ad1f15c2c83347313f7cb42ae51f59b14e026323a3aff3ca30', CAST('{"edges":[{"id":"a-b","sourceNodeId":"a","targetNodeId":"b"},{"id":"b-c","sourceNodeId":"b","targetNodeId":"c"}],"id":"steps","metadata":{},"name":"steps","nodes":[{"config":{},"id":"a","inputs":{},"name":"a","position":{"x":0,"y":0},"typeId":"core.noop"},{"config":{},"id":"b","inputs":{"secret":{"type":"variable","variableName":"secret"},"word":{"type":"variable","variableName":"word"}},"name":"b","position":{"x":0,"y":0},"typeId":"core.identity"},{"config":{},"id":"c","inputs":{},"name":"c","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[],"variables":[{"name":"word","type":"string"},{"name":"secret","sensitive":true,"type":"string"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('b3aa2a1ddea21373784223139d8b91f9acba3c7000bcfc93d721d60aa6cf0bfc', CAST('{"edges":[{"id":"a-d","sourceNodeId":"a","targetNodeId":"d"},{"id":"d-c","sourceNodeId":"d","targetNodeId":"c"}],"id":"wait-long","metadata":{},"name":"wait-long","nodes":[{"config":{},"id":"a","inputs":{},"name":"a","position":{"x":0,"y":0},"typeId":"core.noop"},{"config":{"delayMs":60000},"id":"d","inputs":{},"name":"d","position":{"x":0,"y":0},"typeId":"core.delay"},{"config":{},"id":"c","inputs":{},"name":"c","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('c74d33f18b63b2fa75135779ab0e77049d8cc35b203212959e613fb844627636', CAST('{"edges":[{"id":"s-n","sourceNodeId":"s","targetNodeId":"n"}],"id":"parent","metadata":{},"name":"parent","nodes":[{"config":{"workflowId":"wait-long"},"id":"s","inputs":{},"name":"s","position":{"x":0,"y":0},"typeId":"core.subWorkflow"},{"config":{},"id":"n","inputs":{},"name":"n","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('d5b0ccfa67d40a71d436d0b807ac3eec5f028245c3b414e97ccc56235fdadc41', CAST('{"edges":[{"id":"s-n","sourceNodeId":"s","targetNodeId":"n"}],"id":"parent-model","metadata":{},"name":"parent-model","nodes":[{"config":{"workflowId":"clarify"},"id":"s","inputs":{},"name":"s","position":{"x":0,"y":0},"typeId":"core.subWorkflow"},{"config":{},"id":"n","inputs":{},"name":"n","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('e70df42f43fdb44ed8523d6e26403e18ae97dfc3dba536f3dd1d887e452b243f', CAST('{"channels":{"conversation":{"reducer":"message","schema":{"type":"array"}}},"edges":[{"id":"t-n","sourceNodeId":"t","targetNodeId":"n"}],"id":"talks","metadata":{},"name":"talks","nodes":[{"config":{},"id":"t","inputs":{},"name":"t","position":{"x":0,"y":0},"typeId":"core.conversationGate"},{"config":{},"id":"n","inputs":{},"name":"n","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO open_interrupts VALUES (4, 'book.1', 'live:acme', '01m7pgsmwjm5thkzjzykeg9zb6', 'clarify', 'clarification', 'book', 1794978403221, NULL);
INSERT INTO open_interrupts VALUES (5, 'gate.1', 'live:acme', '01m7pgsmx1169xjgekr7n1dnqv', 'approve', 'approval', 'gate', 1794978403233, NULL);
INSERT INTO open_interrupts VALUES (10, 'ask.1', 'live:acme', '01m7pgsqc9mrhfmd9j77xctwea', 'asks', 'custom', 'ask', 1794978405769, NULL);
INSERT INTO open_interrupts VALUES (11, 'wait.1', 'live:acme', '01m7pgsqd448gaeeshkxhae154', 'event', 'external-event', 'wait', 1794978405796, NULL);
INSERT INTO open_interrupts VALUES (12, 'ask.1', 'live:acme', '01m7pgsqdmmbc0yg0c7v11jw91', 'form', 'clarification', 'ask', 1794978405812, NULL);
INSERT INTO open_interrupts VALUES (13, 't.2', 'live:acme', '01m7pgsqe1qc24e0cgt8gxhczr', 'talks', 'conversation.exchange', 't', 1794978405840, NULL);
INSERT INTO open_interrupts VALUES (15, 'gate.1', 'live:acme', '01m7pgsqg38a9n9a63bj8se26y', 'quorum', 'approval', 'gate', 1794978405891, NULL);
INSERT INTO open_interrupts VALUES (23, 'gate.1', 'live:acme', '01m7pgsqs0adgyyzkf2bseqdrr', 'approve', 'approval', 'gate', 1794978406205, NULL);
INSERT INTO open_interrupts VALUES (25, 'book.1', 'live:acme', '01m7pgsqsxjnc6m0krp9h0fvnv', 'clarify', 'clarification', 'book', 1794978406261, NULL);
INSERT INTO kinship VALUES (21, 20, 'live:acme', '01m7pgsqph4a58t62k651ve0s2', 1, 1);
INSERT INTO kinship VALUES (23, 22, 'live:acme', '01m7pgsqrdeyb1fmds2t2vs6ng', 1, 1);
INSERT INTO kinship VALUES (25, 24, 'live:acme', '01m7pgsqs3nv3jppkryq1kjgr7', 1, 1);
INSERT INTO kinship VALUES (27, 26, 'live:acme', '01m7pgsqv5wb5xm1vq0dqmkjea', 1, 1);
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
