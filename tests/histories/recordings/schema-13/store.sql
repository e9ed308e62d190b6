PRAGMA user_version = 13;
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
  outputs BLOB, parked INTEGER NOT NULL DEFAULT 0, wake_at INTEGER, is_child INTEGER NOT NULL DEFAULT 0, has_children INTEGER NOT NULL DEFAULT 0, fence INTEGER NOT NULL DEFAULT 0, retry_at INTEGER,
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
CREATE TABLE forks (
  run_no INTEGER PRIMARY KEY,
  partition TEXT NOT NULL,
  source TEXT NOT NULL
) STRICT;
INSERT INTO meta VALUES ('epoch', 2);
INSERT INTO runs VALUES (1, 'live:acme', '01m7v2kett1qmhaatvmxr013jx', 'steps', NULL, 'completed', 5, 1795131292507, 1795131292511, NULL, 2, NULL, CAST('{"n1":{}}' AS BLOB), 0, NULL, 0, 0, 0, NULL);
INSERT INTO runs VALUES (2, 'live:acme', '01m7v2ketyrp996z4dbathmv7w', 'approve', NULL, 'waiting-approval', 4, 1795131292510, NULL, 'gate', 1, NULL, NULL, 1, NULL, 0, 0, 0, NULL);
INSERT INTO runs VALUES (3, 'live:acme', '01m7v2kev0syyxkgadj24xq3pn', 'wait-long', NULL, 'running', 3, 1795131292512, NULL, 'n1', 2, NULL, NULL, 1, 1795131352513, 0, 0, 0, NULL);
INSERT INTO runs VALUES (4, 'live:acme', '01m7v2kev1724h8ajtq4j7detn', 'order', NULL, 'completed', 8, 1795131292514, 1795131292600, NULL, 2, NULL, CAST('{"offer":{"output":"1 chairs for 40"}}' AS BLOB), 0, NULL, 0, 1, 0, NULL);
INSERT INTO runs VALUES (5, 'live:acme', '01m7v2kev36k4s3t0fcya1tss3', 'mapped', NULL, 'running', 1, 1795131292515, NULL, 'map', 1, NULL, NULL, 0, NULL, 0, 0, 0, NULL);
INSERT INTO runs VALUES (6, 'live:acme', '01m7v2kev3f8e3cctvnejh2962', 'price', NULL, 'completed', 4, 1795131292517, 1795131292517, NULL, 1, NULL, CAST('{"total":{"output":40}}' AS BLOB), 0, NULL, 1, 0, 0, NULL);
INSERT INTO runs VALUES (7, 'live:acme', '01m7v2kev5ne1rkk2xk0zyw807', 'wait-short', NULL, 'running', 3, 1795131292518, NULL, 'n1', 2, NULL, NULL, 1, 1795131294019, 0, 0, 0, NULL);
INSERT INTO runs VALUES (8, 'live:acme', '01m7v2kextg5n83k7fm13egx5q', 'approve', NULL, 'waiting-approval', 4, 1795131292602, NULL, 'gate', 1, NULL, NULL, 1, NULL, 0, 0, 0, NULL);
INSERT INTO runs VALUES (9, 'live:acme', '01m7v2kexytwzysnf9m2tgn91p', 'mapped', NULL, 'running', 1, 1795131292606, NULL, 'map', 1, NULL, NULL, 0, NULL, 0, 0, 0, NULL);
INSERT INTO runs VALUES (10, 'live:acme', '01m7v2kexzck104m87pm0zyhaj', 'steps', NULL, 'completed', 5, 1795131292608, 1795131292609, NULL, 2, NULL, CAST('{"n1":{}}' AS BLOB), 0, NULL, 0, 0, 0, NULL);
INSERT INTO runs VALUES (11, 'live:acme', '01m7v2key149hkb9cgjkm1dj91', 'wait-long', NULL, 'running', 4, 1795131292609, NULL, 'n1', 2, NULL, NULL, 1, 1795131352610, 0, 0, 0, NULL);
INSERT INTO run_headers VALUES (1, CAST('{"run_id":"01m7v2kett1qmhaatvmxr013jx","partition":"live:acme","owner":{"tenant":"acme","principal":"key_86d706a2d3c06631"},"workflow_id":"steps","definition":"31306d521fd16f305db898b87d7d3bcf48334d702160524fbfa1a3d323f60d0c","created_at":1795131292506,"expression_limits":[20000000,500000]}' AS BLOB));
INSERT INTO run_headers VALUES (2, CAST('{"run_id":"01m7v2ketyrp996z4dbathmv7w","partition":"live:acme","owner":{"tenant":"acme","principal":"key_86d706a2d3c06631"},"workflow_id":"approve","definition":"9d1d5d0311beed319738cf5e1a0066f9ab44d5c41233bd512e6e542db61ad44f","created_at":1795131292510,"expression_limits":[20000000,500000]}' AS BLOB));
INSERT INTO run_headers VALUES (3, CAST('{"run_id":"01m7v2kev0syyxkgadj24xq3pn","partition":"live:acme","owner":{"tenant":"acme","principal":"key_86d706a2d3c06631"},"workflow_id":"wait-long","definition":"351fc4f9512670c7c2f3777bc75612433ff8bbb84017ada7edd205947b14cc89","created_at":1795131292512,"expression_limits":[20000000,500000]}' AS BLOB));
INSERT INTO run_headers VALUES (4, CAST('{"run_id":"01m7v2kev1724h8ajtq4j7detn","partition":"live:acme","owner":{"tenant":"acme","principal":"key_86d706a2d3c06631"},"workflow_id":"order","definition":"68771514c78088b3aef3f598060d92799642c6fcb91b5b8ce00dfb1d90c5cbc4","created_at":1795131292513,"expression_limits":[20000000,500000]}' AS BLOB));
INSERT INTO run_headers VALUES (5, CAST('{"run_id":"01m7v2kev36k4s3t0fcya1tss3","partition":"live:acme","owner":{"tenant":"acme","principal":"key_86d706a2d3c06631"},"workflow_id":"mapped","definition":"e6c07311a5dc14afdee40e954115a76105dd04c3360a08c93483e4e206cf6b05","created_at":1795131292515,"expression_limits":[20000000,500000]}' AS BLOB));
INSERT INTO run_headers VALUES (6, CAST('{"run_id":"01m7v2kev3f8e3cctvnejh2962","partition":"live:acme","owner":{"tenant":"acme","principal":"key_86d706a2d3c06631"},"workflow_id":"price","definition":"0c6753867a8e33df9bd03f88254057b4aa0e80fd779cf5588a4b682e284c19a7","created_at":1795131292515,"inputs":{"amount":1},"traceparent":"00-36358db4e780adda89903474dad925eb-01f0b260b44f3e56-01","parent":{"run_id":"01m7v2kev1724h8ajtq4j7detn","node_id":"price","key":"child","cause":"core.subWorkflow","root":"01m7v2kev1724h8ajtq4j7detn","variables":["total"],"outputs":true},"expression_limits":[20000000,500000]}' AS BLOB));
INSERT INTO run_headers VALUES (7, CAST('{"run_id":"01m7v2kev5ne1rkk2xk0zyw807","partition":"live:acme","owner":{"tenant":"acme","principal":"key_86d706a2d3c06631"},"workflow_id":"wait-short","definition":"fb256aa7fc3d991780ea0babc2019c3a265d97cdde7527211efcd3238195c923","created_at":1795131292517,"expression_limits":[20000000,500000]}' AS BLOB));
INSERT INTO run_headers VALUES (8, CAST('{"run_id":"01m7v2kextg5n83k7fm13egx5q","partition":"live:acme","owner":{"tenant":"acme","principal":"key_86d706a2d3c06631"},"workflow_id":"approve","definition":"9d1d5d0311beed319738cf5e1a0066f9ab44d5c41233bd512e6e542db61ad44f","created_at":1795131292602,"expression_limits":[20000000,500000]}' AS BLOB));
INSERT INTO run_headers VALUES (9, CAST('{"run_id":"01m7v2kexytwzysnf9m2tgn91p","partition":"live:acme","owner":{"tenant":"acme","principal":"key_86d706a2d3c06631"},"workflow_id":"mapped","definition":"e6c07311a5dc14afdee40e954115a76105dd04c3360a08c93483e4e206cf6b05","created_at":1795131292606,"expression_limits":[20000000,500000]}' AS BLOB));
INSERT INTO run_headers VALUES (10, CAST('{"run_id":"01m7v2kexzck104m87pm0zyhaj","partition":"live:acme","owner":{"tenant":"acme","principal":"key_86d706a2d3c06631"},"workflow_id":"steps","definition":"31306d521fd16f305db898b87d7d3bcf48334d702160524fbfa1a3d323f60d0c","created_at":1795131292607,"expression_limits":[20000000,500000]}' AS BLOB));
INSERT INTO run_headers VALUES (11, CAST('{"run_id":"01m7v2key149hkb9cgjkm1dj91","partition":"live:acme","owner":{"tenant":"acme","principal":"key_86d706a2d3c06631"},"workflow_id":"wait-long","definition":"351fc4f9512670c7c2f3777bc75612433ff8bbb84017ada7edd205947b14cc89","created_at":1795131292609,"expression_limits":[20000000,500000]}' AS BLOB));
INSERT INTO events VALUES (67108864, 'b4ed44342d5bd7a7ba71cf07', 'run.started', 1795131292507, CAST('{"workflowId":"steps","inputs":{},"owner":{"tenant":"acme","principal":"key_86d706a2d3c06631"}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108865, '96f9d784b965a110559a6268', 'node.started', 1795131292507, CAST('{"nodeId":"n0","typeId":"core.delay","attempt":1}' AS BLOB), 'n0', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108866, 'b5791ab9eb4abfe9b9380c5d', 'node.completed', 1795131292509, CAST('{"nodeId":"n0","outputs":{}}' AS BLOB), 'n0', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108867, 'e5bd845bf1a7b0b563f2529d', 'node.started', 1795131292509, CAST('{"nodeId":"n1","typeId":"core.delay","attempt":1}' AS BLOB), 'n1', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108868, '1af9de65e229e0cda8596d30', 'node.completed', 1795131292511, CAST('{"nodeId":"n1","outputs":{}}' AS BLOB), 'n1', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108869, '7c458916a04e630272d87886', 'run.completed', 1795131292511, CAST('{"outputs":{"n1":{}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217728, '9b94d928e650bdb772214bca', 'run.started', 1795131292510, CAST('{"workflowId":"approve","inputs":{},"owner":{"tenant":"acme","principal":"key_86d706a2d3c06631"}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217729, 'c37f873e227fef6275109e6e', 'node.started', 1795131292510, CAST('{"nodeId":"gate","typeId":"core.approvalGate","attempt":1}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217730, '05dc302ebb8542f9bc0fab30', 'interrupt.requested', 1795131292510, CAST('{"kind":"approval","key":"gate","data":{"artifactId":"gate","artifactType":"approval","title":"May it?","actions":["accept","reject"]}}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (134217731, 'c94a5ac697f244b2cd86e9a4', 'approval.requested', 1795131292510, CAST('{"nodeId":"gate","interruptId":"gate.1","artifactId":"gate","artifactType":"approval","actions":["accept","reject"],"title":"May it?"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (134217732, '147c11fcca140d65d53c0ebf', 'node.suspended', 1795131292510, CAST('{"nodeId":"gate","interruptId":"gate.1","kind":"approval","key":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (201326592, 'a5f56e9110e1c32cf720afeb', 'run.started', 1795131292512, CAST('{"workflowId":"wait-long","inputs":{},"owner":{"tenant":"acme","principal":"key_86d706a2d3c06631"}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326593, '5265842cc1c50915ae634e50', 'node.started', 1795131292512, CAST('{"nodeId":"n0","typeId":"core.delay","attempt":1}' AS BLOB), 'n0', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326594, 'fdb4b93cbaa4d39f67571cbb', 'node.completed', 1795131292513, CAST('{"nodeId":"n0","outputs":{}}' AS BLOB), 'n0', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326595, '4335a9d7a96a5d1a826c4379', 'node.started', 1795131292513, CAST('{"nodeId":"n1","typeId":"core.delay","attempt":1}' AS BLOB), 'n1', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435456, 'a5ec3934734245f4c55ca5d0', 'run.started', 1795131292514, CAST('{"workflowId":"order","inputs":{},"owner":{"tenant":"acme","principal":"key_86d706a2d3c06631"}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435457, 'c141a46b7fb41dca8175852a', 'node.started', 1795131292514, CAST('{"nodeId":"price","typeId":"core.subWorkflow","attempt":1}' AS BLOB), 'price', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435458, 'f78732914ca18bd5a5899a38', 'weftwork.child.started', 1795131292515, CAST('{"childRunId":"01m7v2kev3f8e3cctvnejh2962","workflowId":"price","key":"child","awaited":true}' AS BLOB), 'price', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435459, 'b798d25ff7b0b39f03ff57b7', 'weftwork.child.ended', 1795131292519, CAST('{"childRunId":"01m7v2kev3f8e3cctvnejh2962","key":"child","status":"completed","variables":{"total":40},"outputs":{"total":{"output":40}}}' AS BLOB), 'price', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435460, '38ec6460b3bff813e2f58dde', 'variable.changed', 1795131292600, CAST('{"name":"total","next":40,"nodeId":"price"}' AS BLOB), 'price', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435461, '28d15dd6486d9cb7f1d8107a', 'node.completed', 1795131292600, CAST('{"nodeId":"price","outputs":{"childRunId":"01m7v2kev3f8e3cctvnejh2962","childStatus":"completed","outputs":{"total":{"output":40}}}}' AS BLOB), 'price', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435462, 'c5e5f1ff518999734ec240f3', 'node.started', 1795131292600, CAST('{"nodeId":"offer","typeId":"core.template","attempt":1}' AS BLOB), 'offer', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435463, '91c00dafd221e9a10657ca0e', 'node.completed', 1795131292600, CAST('{"nodeId":"offer","outputs":{"output":"1 chairs for 40"}}' AS BLOB), 'offer', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435464, '248e78b7218f748894d39ec0', 'run.completed', 1795131292600, CAST('{"outputs":{"offer":{"output":"1 chairs for 40"}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (335544320, 'd9b0ac98229492eaec6d3e37', 'run.started', 1795131292515, CAST('{"workflowId":"mapped","inputs":{},"owner":{"tenant":"acme","principal":"key_86d706a2d3c06631"}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (335544321, 'efec0f698c5a27b845bce089', 'node.started', 1795131292515, CAST('{"nodeId":"map","typeId":"core.flow.map","attempt":1}' AS BLOB), 'map', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (402653184, '26c043897f0eaa68a3d3b12a', 'run.started', 1795131292517, CAST('{"workflowId":"price","inputs":{"amount":1},"owner":{"tenant":"acme","principal":"key_86d706a2d3c06631"}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (402653185, 'd1ed3b364bb8861e99e8c471', 'node.started', 1795131292517, CAST('{"nodeId":"total","typeId":"core.setVariable","attempt":1}' AS BLOB), 'total', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (402653186, '65953fc097a9b2e11d243be8', 'variable.changed', 1795131292517, CAST('{"name":"total","next":40,"nodeId":"total"}' AS BLOB), 'total', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (402653187, '209408730aa727537016e836', 'node.completed', 1795131292517, CAST('{"nodeId":"total","outputs":{"output":40}}' AS BLOB), 'total', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (402653188, '5d6e8da42370b00d4923ea64', 'run.completed', 1795131292517, CAST('{"outputs":{"total":{"output":40}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762048, '2a68e5e7b8539c4ffb2ec5c9', 'run.started', 1795131292518, CAST('{"workflowId":"wait-short","inputs":{},"owner":{"tenant":"acme","principal":"key_86d706a2d3c06631"}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762049, '755ed336e6eacec9ceca8809', 'node.started', 1795131292518, CAST('{"nodeId":"n0","typeId":"core.delay","attempt":1}' AS BLOB), 'n0', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762050, '3e2b26d07bcae78be26f84b1', 'node.completed', 1795131292519, CAST('{"nodeId":"n0","outputs":{}}' AS BLOB), 'n0', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762051, '590f5e3f3405fa294ddbf477', 'node.started', 1795131292519, CAST('{"nodeId":"n1","typeId":"core.delay","attempt":1}' AS BLOB), 'n1', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (536870912, '7f11c5d373979a938b576f58', 'run.started', 1795131292602, CAST('{"workflowId":"approve","inputs":{},"owner":{"tenant":"acme","principal":"key_86d706a2d3c06631"}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (536870913, '2f23624ca9de7bd38e364e88', 'node.started', 1795131292602, CAST('{"nodeId":"gate","typeId":"core.approvalGate","attempt":1}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (536870914, 'a2f3d6a36c095708817c7e62', 'interrupt.requested', 1795131292602, CAST('{"kind":"approval","key":"gate","data":{"artifactId":"gate","artifactType":"approval","title":"May it?","actions":["accept","reject"]}}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (536870915, '5144c7d9d1df274be26de054', 'approval.requested', 1795131292602, CAST('{"nodeId":"gate","interruptId":"gate.1","artifactId":"gate","artifactType":"approval","actions":["accept","reject"],"title":"May it?"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (536870916, '28659adb9cddbf6d27c025d8', 'node.suspended', 1795131292602, CAST('{"nodeId":"gate","interruptId":"gate.1","kind":"approval","key":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (603979776, '538c41ae8ff028edc39baa55', 'run.started', 1795131292606, CAST('{"workflowId":"mapped","inputs":{},"owner":{"tenant":"acme","principal":"key_86d706a2d3c06631"}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (603979777, '95da1a67d0496dca0872f222', 'node.started', 1795131292606, CAST('{"nodeId":"map","typeId":"core.flow.map","attempt":1}' AS BLOB), 'map', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (671088640, '60ea05462c8d3f01eee15e2f', 'run.started', 1795131292608, CAST('{"workflowId":"steps","inputs":{},"owner":{"tenant":"acme","principal":"key_86d706a2d3c06631"}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (671088641, '986ee497b5c2e232201553b4', 'node.started', 1795131292608, CAST('{"nodeId":"n0","typeId":"core.delay","attempt":1}' AS BLOB), 'n0', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (671088642, '48185ba0e7e8293281175347', 'node.completed', 1795131292608, CAST('{"nodeId":"n0","outputs":{}}' AS BLOB), 'n0', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (671088643, '6e6489a5a44af0e29a4dfb06', 'node.started', 1795131292608, CAST('{"nodeId":"n1","typeId":"core.delay","attempt":1}' AS BLOB), 'n1', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (671088644, 'a5179b75f56cf975ff15c924', 'node.completed', 1795131292609, CAST('{"nodeId":"n1","outputs":{}}' AS BLOB), 'n1', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (671088645, 'ded5e4be90c84990b528e309', 'run.completed', 1795131292609, CAST('{"outputs":{"n1":{}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (738197504, '7c6d8d19643a45b20fa17fb0', 'run.started', 1795131292609, CAST('{"workflowId":"wait-long","inputs":{},"owner":{"tenant":"acme","principal":"key_86d706a2d3c06631"}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (738197505, 'e0567d7587272f3aea941bdd', 'node.started', 1795131292609, CAST('{"nodeId":"n0","typeId":"core.delay","attempt":1}' AS BLOB), 'n0', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (738197506, '3d68fe162fde38b1e08f79e1', 'node.completed', 1795131292610, CAST('{"nodeId":"n0","outputs":{}}' AS BLOB), 'n0', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (738197507, '3a7520c3d68502ed47816b13', 'node.started', 1795131292610, CAST('{"nodeId":"n1","typeId":"core.delay","attempt":1}' AS BLOB), 'n1', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (738197508, 'a3eb37ba4fc2c2ab29589b27', 'weftwork.run.pause-requested', 1795131292611, CAST('{"drainPolicy":"drain-current-node"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO run_state VALUES (1, 'node', 'n0', CAST('{"status":"completed","attempt":1}' AS BLOB));
INSERT INTO run_state VALUES (1, 'node', 'n1', CAST('{"status":"completed","attempt":1}' AS BLOB));
INSERT INTO run_state VALUES (2, 'interrupt', 'gate.1', CAST('{"interruptId":"gate.1","nodeId":"gate","kind":"approval","key":"gate","status":"open","requestedAt":"2026-11-19T23:34:52.510Z","data":{"artifactId":"gate","artifactType":"approval","title":"May it?","actions":["accept","reject"]}}' AS BLOB));
INSERT INTO run_state VALUES (2, 'node', 'gate', CAST('{"status":"suspended","attempt":1}' AS BLOB));
INSERT INTO run_state VALUES (3, 'node', 'n0', CAST('{"status":"completed","attempt":1}' AS BLOB));
INSERT INTO run_state VALUES (3, 'node', 'n1', CAST('{"status":"running","attempt":1}' AS BLOB));
INSERT INTO run_state VALUES (4, 'kin', 'children', CAST('1' AS BLOB));
INSERT INTO run_state VALUES (4, 'node', 'offer', CAST('{"status":"completed","attempt":1}' AS BLOB));
INSERT INTO run_state VALUES (4, 'node', 'price', CAST('{"status":"completed","attempt":1}' AS BLOB));
INSERT INTO run_state VALUES (4, 'variable', 'amount', CAST('1' AS BLOB));
INSERT INTO run_state VALUES (4, 'variable', 'total', CAST('40' AS BLOB));
INSERT INTO run_state VALUES (5, 'node', 'map', CAST('{"status":"running","attempt":1}' AS BLOB));
INSERT INTO run_state VALUES (6, 'node', 'total', CAST('{"status":"completed","attempt":1}' AS BLOB));
INSERT INTO run_state VALUES (6, 'variable', 'amount', CAST('1' AS BLOB));
INSERT INTO run_state VALUES (6, 'variable', 'each', CAST('40' AS BLOB));
INSERT INTO run_state VALUES (6, 'variable', 'total', CAST('40' AS BLOB));
INSERT INTO run_state VALUES (7, 'node', 'n0', CAST('{"status":"completed","attempt":1}' AS BLOB));
INSERT INTO run_state VALUES (7, 'node', 'n1', CAST('{"status":"running","attempt":1}' AS BLOB));
INSERT INTO run_state VALUES (8, 'interrupt', 'gate.1', CAST('{"interruptId":"gate.1","nodeId":"gate","kind":"approval","key":"gate","status":"open","requestedAt":"2026-11-19T23:34:52.602Z","data":{"artifactId":"gate","artifactType":"approval","title":"May it?","actions":["accept","reject"]}}' AS BLOB));
INSERT INTO run_state VALUES (8, 'node', 'gate', CAST('{"status":"suspended","attempt":1}' AS BLOB));
INSERT INTO run_state VALUES (9, 'node', 'map', CAST('{"status":"running","attempt":1}' AS BLOB));
INSERT INTO run_state VALUES (10, 'node', 'n0', CAST('{"status":"completed","attempt":1}' AS BLOB));
INSERT INTO run_state VALUES (10, 'node', 'n1', CAST('{"status":"completed","attempt":1}' AS BLOB));
INSERT INTO run_state VALUES (11, 'node', 'n0', CAST('{"status":"completed","attempt":1}' AS BLOB));
INSERT INTO run_state VALUES (11, 'node', 'n1', CAST('{"status":"running","attempt":1}' AS BLOB));
INSERT INTO definitions VALUES ('0c6753867a8e33df9bd03f88254057b4aa0e80fd779cf5588a4b682e284c19a7', CAST('{"id":"price","name":"The price of an order","version":"1.0","description":"Computes a price. Ten chairs or more are 20 % cheaper.","nodes":[{"id":"total","typeId":"core.setVariable","name":"Find the total","position":{"x":0,"y":0},"config":{"name":"total"},"inputs":{"value":{"type":"expression","expression":"variables.amount * variables.each * (variables.amount >= 10.0 ? 0.8 : 1.0)"}}}],"edges":[],"triggers":[{"id":"manual","type":"manual"}],"variables":[{"name":"amount","type":"number","defaultValue":1},{"name":"each","type":"number","defaultValue":40},{"name":"total","type":"number"}],"metadata":{},"settings":{"timeout":60000}}' AS BLOB));
INSERT INTO definitions VALUES ('31306d521fd16f305db898b87d7d3bcf48334d702160524fbfa1a3d323f60d0c', CAST('{"id":"steps","name":"steps","version":"1.0","nodes":[{"id":"n0","typeId":"core.delay","name":"n0","position":{"x":0,"y":0},"config":{"delayMs":0},"inputs":{}},{"id":"n1","typeId":"core.delay","name":"n1","position":{"x":0,"y":0},"config":{"delayMs":0},"inputs":{}}],"edges":[{"id":"n0-n1","sourceNodeId":"n0","targetNodeId":"n1"}],"triggers":[],"variables":[],"metadata":{},"settings":{}}' AS BLOB));
INSERT INTO definitions VALUES ('351fc4f9512670c7c2f3777bc75612433ff8bbb84017ada7edd205947b14cc89', CAST('{"id":"wait-long","name":"wait-long","version":"1.0","nodes":[{"id":"n0","typeId":"core.delay","name":"n0","position":{"x":0,"y":0},"config":{"delayMs":0},"inputs":{}},{"id":"n1","typeId":"core.delay","name":"n1","position":{"x":0,"y":0},"config":{"delayMs":60000},"inputs":{}},{"id":"n2","typeId":"core.delay","name":"n2","position":{"x":0,"y":0},"config":{"delayMs":0},"inputs":{}}],"edges":[{"id":"n0-n1","sourceNodeId":"n0","targetNodeId":"n1"},{"id":"n1-n2","sourceNodeId":"n1","targetNodeId":"n2"}],"triggers":[],"variables":[],"metadata":{},"settings":{}}' AS BLOB));
INSERT INTO definitions VALUES ('68771514c78088b3aef3f598060d92799642c6fcb91b5b8ce00dfb1d90c5cbc4', CAST('{"id":"order","name":"An order with a price","version":"1.0","description":"Starts another workflow as a child run to compute the price.","nodes":[{"id":"price","typeId":"core.subWorkflow","name":"Find the price","position":{"x":0,"y":0},"config":{"workflowId":"price","inputMapping":{"amount":"amount","each":"price"},"outputMapping":{"total":"total"}},"inputs":{}},{"id":"offer","typeId":"core.template","name":"Write the offer","position":{"x":200,"y":0},"config":{"template":"{{string(variables.amount)}} chairs for {{string(variables.total)}}"},"inputs":{}}],"edges":[{"id":"price-offer","sourceNodeId":"price","targetNodeId":"offer"}],"triggers":[{"id":"manual","type":"manual"}],"variables":[{"name":"amount","type":"number","defaultValue":1},{"name":"price","type":"number"},{"name":"total","type":"number"}],"metadata":{},"settings":{"timeout":60000}}' AS BLOB));
INSERT INTO definitions VALUES ('9d1d5d0311beed319738cf5e1a0066f9ab44d5c41233bd512e6e542db61ad44f', CAST('{"id":"approve","name":"approve","version":"1.0.0","nodes":[{"id":"gate","typeId":"core.approvalGate","name":"gate","position":{"x":0,"y":0},"config":{"title":"May it?","actions":["accept","reject"]},"inputs":{}}],"edges":[],"triggers":[],"variables":[],"metadata":{},"settings":{}}' AS BLOB));
INSERT INTO definitions VALUES ('e6c07311a5dc14afdee40e954115a76105dd04c3360a08c93483e4e206cf6b05', CAST('{"id":"mapped","name":"mapped","version":"1.0","nodes":[{"id":"map","typeId":"core.flow.map","name":"map","position":{"x":0,"y":0},"config":{"body":{"typeId":"core.delay","config":{"delayMs":1500}}},"inputs":{"items":{"type":"static","value":[1,2]}}}],"edges":[],"triggers":[],"variables":[],"metadata":{},"settings":{}}' AS BLOB));
INSERT INTO definitions VALUES ('fb256aa7fc3d991780ea0babc2019c3a265d97cdde7527211efcd3238195c923', CAST('{"id":"wait-short","name":"wait-short","version":"1.0","nodes":[{"id":"n0","typeId":"core.delay","name":"n0","position":{"x":0,"y":0},"config":{"delayMs":0},"inputs":{}},{"id":"n1","typeId":"core.delay","name":"n1","position":{"x":0,"y":0},"config":{"delayMs":1500},"inputs":{}},{"id":"n2","typeId":"core.delay","name":"n2","position":{"x":0,"y":0},"config":{"delayMs":0},"inputs":{}}],"edges":[{"id":"n0-n1","sourceNodeId":"n0","targetNodeId":"n1"},{"id":"n1-n2","sourceNodeId":"n1","targetNodeId":"n2"}],"triggers":[],"variables":[],"metadata":{},"settings":{}}' AS BLOB));
INSERT INTO open_interrupts VALUES (2, 'gate.1', 'live:acme', '01m7v2ketyrp996z4dbathmv7w', 'approve', 'approval', 'gate', 1795131292510, NULL);
INSERT INTO open_interrupts VALUES (8, 'gate.1', 'live:acme', '01m7v2kextg5n83k7fm13egx5q', 'approve', 'approval', 'gate', 1795131292602, NULL);
INSERT INTO kinship VALUES (6, 4, 'live:acme', '01m7v2kev1724h8ajtq4j7detn', 1, 1);
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
CREATE INDEX forks_by_source ON forks (partition, source);
CREATE INDEX runs_untaken ON runs (fence, run_no) WHERE completed_at IS NULL AND parked = 0;
CREATE INDEX runs_retried ON runs (fence, retry_at) WHERE retry_at IS NOT NULL;
COMMIT;
