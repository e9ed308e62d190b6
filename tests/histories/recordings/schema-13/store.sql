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
INSERT INTO runs VALUES (1, 'live:acme', '01m7v4cyfhjqm7784jxyvfacek', 'steps', NULL, 'completed', 5, 1795133176306, 1795133176338, NULL, 2, NULL, CAST('{"n1":{}}' AS BLOB), 0, NULL, 0, 0, 1, NULL);
INSERT INTO runs VALUES (2, 'live:acme', '01m7v4cygh84gtrjwxc5snx4zh', 'approve', NULL, 'waiting-approval', 4, 1795133176337, NULL, 'gate', 1, NULL, NULL, 1, NULL, 0, 0, 1, NULL);
INSERT INTO runs VALUES (3, 'live:acme', '01m7v4cygk79jansmtv8n2e1t8', 'wait-long', NULL, 'running', 3, 1795133176340, NULL, 'n1', 2, NULL, NULL, 1, 1795133236341, 0, 0, 1, NULL);
INSERT INTO runs VALUES (4, 'live:acme', '01m7v4cygnr9gffrt3zsf98dm2', 'order', NULL, 'completed', 8, 1795133176341, 1795133176726, NULL, 2, NULL, CAST('{"offer":{"output":"1 chairs for 40"}}' AS BLOB), 0, NULL, 0, 1, 2, NULL);
INSERT INTO runs VALUES (5, 'live:acme', '01m7v4cygvdj9fe66sepdnvzc1', 'mapped', NULL, 'running', 1, 1795133176347, NULL, 'map', 1, NULL, NULL, 0, NULL, 0, 0, 2, NULL);
INSERT INTO runs VALUES (6, 'live:acme', '01m7v4cygt6h97p9xy6tyz4vvq', 'price', NULL, 'completed', 4, 1795133176349, 1795133176349, NULL, 1, NULL, CAST('{"total":{"output":40}}' AS BLOB), 0, NULL, 1, 0, 1, NULL);
INSERT INTO runs VALUES (7, 'live:acme', '01m7v4cygxp0f1897kaxvyhpdt', 'wait-short', NULL, 'running', 3, 1795133176350, NULL, 'n1', 2, NULL, NULL, 1, 1795133178227, 0, 0, 2, NULL);
INSERT INTO runs VALUES (8, 'live:acme', '01m7v4cyw98qad509z60qj5x94', 'approve', NULL, 'waiting-approval', 4, 1795133176714, NULL, 'gate', 1, NULL, NULL, 1, NULL, 0, 0, 2, NULL);
INSERT INTO runs VALUES (9, 'live:acme', '01m7v4cywfer08mr3pb3gpqmge', 'mapped', NULL, 'running', 1, 1795133176719, NULL, 'map', 1, NULL, NULL, 0, NULL, 0, 0, 2, NULL);
INSERT INTO runs VALUES (10, 'live:acme', '01m7v4cywmga7mzrt07vw4z4qn', 'steps', NULL, 'completed', 5, 1795133176725, 1795133176731, NULL, 2, NULL, CAST('{"n1":{}}' AS BLOB), 0, NULL, 0, 0, 2, NULL);
INSERT INTO runs VALUES (11, 'live:acme', '01m7v4cywskp1h4p3212abxfp1', 'wait-long', NULL, 'running', 4, 1795133176729, NULL, 'n1', 2, NULL, NULL, 1, 1795133236731, 0, 0, 2, NULL);
INSERT INTO run_headers VALUES (1, CAST('{"run_id":"01m7v4cyfhjqm7784jxyvfacek","partition":"live:acme","owner":{"tenant":"acme","principal":"key_49718d320981ea36"},"workflow_id":"steps","definition":"31306d521fd16f305db898b87d7d3bcf48334d702160524fbfa1a3d323f60d0c","created_at":1795133176305,"expression_limits":[20000000,500000]}' AS BLOB));
INSERT INTO run_headers VALUES (2, CAST('{"run_id":"01m7v4cygh84gtrjwxc5snx4zh","partition":"live:acme","owner":{"tenant":"acme","principal":"key_49718d320981ea36"},"workflow_id":"approve","definition":"9d1d5d0311beed319738cf5e1a0066f9ab44d5c41233bd512e6e542db61ad44f","created_at":1795133176337,"expression_limits":[20000000,500000]}' AS BLOB));
INSERT INTO run_headers VALUES (3, CAST('{"run_id":"01m7v4cygk79jansmtv8n2e1t8","partition":"live:acme","owner":{"tenant":"acme","principal":"key_49718d320981ea36"},"workflow_id":"wait-long","definition":"351fc4f9512670c7c2f3777bc75612433ff8bbb84017ada7edd205947b14cc89","created_at":1795133176339,"expression_limits":[20000000,500000]}' AS BLOB));
INSERT INTO run_headers VALUES (4, CAST('{"run_id":"01m7v4cygnr9gffrt3zsf98dm2","partition":"live:acme","owner":{"tenant":"acme","principal":"key_49718d320981ea36"},"workflow_id":"order","definition":"68771514c78088b3aef3f598060d92799642c6fcb91b5b8ce00dfb1d90c5cbc4","created_at":1795133176341,"expression_limits":[20000000,500000]}' AS BLOB));
INSERT INTO run_headers VALUES (5, CAST('{"run_id":"01m7v4cygvdj9fe66sepdnvzc1","partition":"live:acme","owner":{"tenant":"acme","principal":"key_49718d320981ea36"},"workflow_id":"mapped","definition":"e6c07311a5dc14afdee40e954115a76105dd04c3360a08c93483e4e206cf6b05","created_at":1795133176347,"expression_limits":[20000000,500000]}' AS BLOB));
INSERT INTO run_headers VALUES (6, CAST('{"run_id":"01m7v4cygt6h97p9xy6tyz4vvq","partition":"live:acme","owner":{"tenant":"acme","principal":"key_49718d320981ea36"},"workflow_id":"price","definition":"0c6753867a8e33df9bd03f88254057b4aa0e80fd779cf5588a4b682e284c19a7","created_at":1795133176346,"inputs":{"amount":1},"traceparent":"00-55c725eefa6ea8b31d5b8146e8bf33ca-be8a8cba27507a74-01","parent":{"run_id":"01m7v4cygnr9gffrt3zsf98dm2","node_id":"price","key":"child","cause":"core.subWorkflow","root":"01m7v4cygnr9gffrt3zsf98dm2","variables":["total"],"outputs":true},"expression_limits":[20000000,500000]}' AS BLOB));
INSERT INTO run_headers VALUES (7, CAST('{"run_id":"01m7v4cygxp0f1897kaxvyhpdt","partition":"live:acme","owner":{"tenant":"acme","principal":"key_49718d320981ea36"},"workflow_id":"wait-short","definition":"fb256aa7fc3d991780ea0babc2019c3a265d97cdde7527211efcd3238195c923","created_at":1795133176349,"expression_limits":[20000000,500000]}' AS BLOB));
INSERT INTO run_headers VALUES (8, CAST('{"run_id":"01m7v4cyw98qad509z60qj5x94","partition":"live:acme","owner":{"tenant":"acme","principal":"key_49718d320981ea36"},"workflow_id":"approve","definition":"9d1d5d0311beed319738cf5e1a0066f9ab44d5c41233bd512e6e542db61ad44f","created_at":1795133176713,"expression_limits":[20000000,500000]}' AS BLOB));
INSERT INTO run_headers VALUES (9, CAST('{"run_id":"01m7v4cywfer08mr3pb3gpqmge","partition":"live:acme","owner":{"tenant":"acme","principal":"key_49718d320981ea36"},"workflow_id":"mapped","definition":"e6c07311a5dc14afdee40e954115a76105dd04c3360a08c93483e4e206cf6b05","created_at":1795133176719,"expression_limits":[20000000,500000]}' AS BLOB));
INSERT INTO run_headers VALUES (10, CAST('{"run_id":"01m7v4cywmga7mzrt07vw4z4qn","partition":"live:acme","owner":{"tenant":"acme","principal":"key_49718d320981ea36"},"workflow_id":"steps","definition":"31306d521fd16f305db898b87d7d3bcf48334d702160524fbfa1a3d323f60d0c","created_at":1795133176724,"expression_limits":[20000000,500000]}' AS BLOB));
INSERT INTO run_headers VALUES (11, CAST('{"run_id":"01m7v4cywskp1h4p3212abxfp1","partition":"live:acme","owner":{"tenant":"acme","principal":"key_49718d320981ea36"},"workflow_id":"wait-long","definition":"351fc4f9512670c7c2f3777bc75612433ff8bbb84017ada7edd205947b14cc89","created_at":1795133176729,"expression_limits":[20000000,500000]}' AS BLOB));
INSERT INTO events VALUES (67108864, '0e6d5742ecd99fb0d63ba07f', 'run.started', 1795133176306, CAST('{"workflowId":"steps","inputs":{},"owner":{"tenant":"acme","principal":"key_49718d320981ea36"}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108865, '6f477a1759ad89993f4de8d7', 'node.started', 1795133176306, CAST('{"nodeId":"n0","typeId":"core.delay","attempt":1}' AS BLOB), 'n0', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108866, '1af2ddcc10d5fd11f1e45e9e', 'node.completed', 1795133176336, CAST('{"nodeId":"n0","outputs":{}}' AS BLOB), 'n0', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108867, '3972920b930c3cc8efc4177e', 'node.started', 1795133176336, CAST('{"nodeId":"n1","typeId":"core.delay","attempt":1}' AS BLOB), 'n1', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108868, '0efe703dd13f8252776e3dba', 'node.completed', 1795133176338, CAST('{"nodeId":"n1","outputs":{}}' AS BLOB), 'n1', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108869, 'c60e7bf9232eb4889ada9bf7', 'run.completed', 1795133176338, CAST('{"outputs":{"n1":{}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217728, 'd780b49228e433726b625748', 'run.started', 1795133176337, CAST('{"workflowId":"approve","inputs":{},"owner":{"tenant":"acme","principal":"key_49718d320981ea36"}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217729, '19aedc7e7456e8243bfa69ac', 'node.started', 1795133176337, CAST('{"nodeId":"gate","typeId":"core.approvalGate","attempt":1}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217730, '3cd3d6970cc10c1eabd7d7fe', 'interrupt.requested', 1795133176337, CAST('{"kind":"approval","key":"gate","data":{"artifactId":"gate","artifactType":"approval","title":"May it?","actions":["accept","reject"]}}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (134217731, '49e14f37dc0537535458eae8', 'approval.requested', 1795133176337, CAST('{"nodeId":"gate","interruptId":"gate.1","artifactId":"gate","artifactType":"approval","actions":["accept","reject"],"title":"May it?"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (134217732, 'b55fcb8571d9f3eea88f667e', 'node.suspended', 1795133176337, CAST('{"nodeId":"gate","interruptId":"gate.1","kind":"approval","key":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (201326592, 'e17dd8b1d81cae610d97b661', 'run.started', 1795133176340, CAST('{"workflowId":"wait-long","inputs":{},"owner":{"tenant":"acme","principal":"key_49718d320981ea36"}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326593, '5e585dc4b191ba1e300829fa', 'node.started', 1795133176340, CAST('{"nodeId":"n0","typeId":"core.delay","attempt":1}' AS BLOB), 'n0', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326594, 'a6b188e386e5be6e4f66b206', 'node.completed', 1795133176341, CAST('{"nodeId":"n0","outputs":{}}' AS BLOB), 'n0', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326595, 'a327a2141372f6f034bd257e', 'node.started', 1795133176341, CAST('{"nodeId":"n1","typeId":"core.delay","attempt":1}' AS BLOB), 'n1', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435456, '48ed0da1a80060d0cf414c7e', 'run.started', 1795133176341, CAST('{"workflowId":"order","inputs":{},"owner":{"tenant":"acme","principal":"key_49718d320981ea36"}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435457, 'cd29a038b86f54d3d77dd2dd', 'node.started', 1795133176341, CAST('{"nodeId":"price","typeId":"core.subWorkflow","attempt":1}' AS BLOB), 'price', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435458, '811b0146769a3479f00048d4', 'weftwork.child.started', 1795133176347, CAST('{"childRunId":"01m7v4cygt6h97p9xy6tyz4vvq","workflowId":"price","key":"child","awaited":true}' AS BLOB), 'price', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435459, '3dbb11967edaf9d4e018ec39', 'weftwork.child.ended', 1795133176351, CAST('{"childRunId":"01m7v4cygt6h97p9xy6tyz4vvq","key":"child","status":"completed","variables":{"total":40},"outputs":{"total":{"output":40}}}' AS BLOB), 'price', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435460, '55cb78dec580a78528cc3cc2', 'variable.changed', 1795133176726, CAST('{"name":"total","next":40,"nodeId":"price"}' AS BLOB), 'price', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435461, 'dda91763f86a3ff250b8cb2a', 'node.completed', 1795133176726, CAST('{"nodeId":"price","outputs":{"childRunId":"01m7v4cygt6h97p9xy6tyz4vvq","childStatus":"completed","outputs":{"total":{"output":40}}}}' AS BLOB), 'price', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435462, '7c547ff352417912088b42f9', 'node.started', 1795133176726, CAST('{"nodeId":"offer","typeId":"core.template","attempt":1}' AS BLOB), 'offer', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435463, '91a41c43bde0f5ec7907ab20', 'node.completed', 1795133176726, CAST('{"nodeId":"offer","outputs":{"output":"1 chairs for 40"}}' AS BLOB), 'offer', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435464, '20784466911713179ab159f0', 'run.completed', 1795133176726, CAST('{"outputs":{"offer":{"output":"1 chairs for 40"}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (335544320, '56b89f97d61dfc7001c7a469', 'run.started', 1795133176347, CAST('{"workflowId":"mapped","inputs":{},"owner":{"tenant":"acme","principal":"key_49718d320981ea36"}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (335544321, '21cb56b8e8ee09ea6e5402a9', 'node.started', 1795133176347, CAST('{"nodeId":"map","typeId":"core.flow.map","attempt":1}' AS BLOB), 'map', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (402653184, '5b37877088b9c0c1fa682895', 'run.started', 1795133176349, CAST('{"workflowId":"price","inputs":{"amount":1},"owner":{"tenant":"acme","principal":"key_49718d320981ea36"}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (402653185, '50a0d0a3be2fe5ab9a22591f', 'node.started', 1795133176349, CAST('{"nodeId":"total","typeId":"core.setVariable","attempt":1}' AS BLOB), 'total', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (402653186, '5bc59c9c549aeee0ef973690', 'variable.changed', 1795133176349, CAST('{"name":"total","next":40,"nodeId":"total"}' AS BLOB), 'total', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (402653187, 'b537b021c5ac3808a0734e77', 'node.completed', 1795133176349, CAST('{"nodeId":"total","outputs":{"output":40}}' AS BLOB), 'total', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (402653188, 'e21231984ce6bba2b5c8de77', 'run.completed', 1795133176349, CAST('{"outputs":{"total":{"output":40}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762048, 'bde0c7fd44fda19dd56f7db0', 'run.started', 1795133176350, CAST('{"workflowId":"wait-short","inputs":{},"owner":{"tenant":"acme","principal":"key_49718d320981ea36"}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762049, '513f2f5d91ef35f008e0bcf8', 'node.started', 1795133176350, CAST('{"nodeId":"n0","typeId":"core.delay","attempt":1}' AS BLOB), 'n0', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762050, 'ef6e1017f2333e4d01e5db23', 'node.completed', 1795133176727, CAST('{"nodeId":"n0","outputs":{}}' AS BLOB), 'n0', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762051, 'c1cf45cbec5639a9c40899cc', 'node.started', 1795133176727, CAST('{"nodeId":"n1","typeId":"core.delay","attempt":1}' AS BLOB), 'n1', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (536870912, '3c9f8cbd8b0ac4f8ff0506bc', 'run.started', 1795133176714, CAST('{"workflowId":"approve","inputs":{},"owner":{"tenant":"acme","principal":"key_49718d320981ea36"}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (536870913, 'e7160702aa4702b6b77fd906', 'node.started', 1795133176714, CAST('{"nodeId":"gate","typeId":"core.approvalGate","attempt":1}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (536870914, '363b67b9d8ef17dbf2d9648a', 'interrupt.requested', 1795133176714, CAST('{"kind":"approval","key":"gate","data":{"artifactId":"gate","artifactType":"approval","title":"May it?","actions":["accept","reject"]}}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (536870915, '979d0d4dca92df113f8d6ab9', 'approval.requested', 1795133176714, CAST('{"nodeId":"gate","interruptId":"gate.1","artifactId":"gate","artifactType":"approval","actions":["accept","reject"],"title":"May it?"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (536870916, 'c22fe0f5a09f1573a6fffbe2', 'node.suspended', 1795133176714, CAST('{"nodeId":"gate","interruptId":"gate.1","kind":"approval","key":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (603979776, 'c1cc8410d6ef3c099d874b4b', 'run.started', 1795133176719, CAST('{"workflowId":"mapped","inputs":{},"owner":{"tenant":"acme","principal":"key_49718d320981ea36"}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (603979777, '0df64db234bfbf0841970d9f', 'node.started', 1795133176719, CAST('{"nodeId":"map","typeId":"core.flow.map","attempt":1}' AS BLOB), 'map', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (671088640, '3dda62b9e100a75d80150415', 'run.started', 1795133176725, CAST('{"workflowId":"steps","inputs":{},"owner":{"tenant":"acme","principal":"key_49718d320981ea36"}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (671088641, 'bbf6090278367626fb5d46ef', 'node.started', 1795133176725, CAST('{"nodeId":"n0","typeId":"core.delay","attempt":1}' AS BLOB), 'n0', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (671088642, '9bb384ad44ed87f578bc0044', 'node.completed', 1795133176729, CAST('{"nodeId":"n0","outputs":{}}' AS BLOB), 'n0', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (671088643, '0ab4647fe7eb8e50a0bf0607', 'node.started', 1795133176729, CAST('{"nodeId":"n1","typeId":"core.delay","attempt":1}' AS BLOB), 'n1', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (671088644, '5181c7dcb265cd24cb4f5037', 'node.completed', 1795133176731, CAST('{"nodeId":"n1","outputs":{}}' AS BLOB), 'n1', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (671088645, 'a87ae3ea25ea0284bccb732e', 'run.completed', 1795133176731, CAST('{"outputs":{"n1":{}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (738197504, '4bc243b6ca0584cdf4b45485', 'run.started', 1795133176729, CAST('{"workflowId":"wait-long","inputs":{},"owner":{"tenant":"acme","principal":"key_49718d320981ea36"}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (738197505, '8bc2cb84d1bf33bb1c4a0c87', 'node.started', 1795133176729, CAST('{"nodeId":"n0","typeId":"core.delay","attempt":1}' AS BLOB), 'n0', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (738197506, 'e636e4cebd3e973edc20e65d', 'node.completed', 1795133176731, CAST('{"nodeId":"n0","outputs":{}}' AS BLOB), 'n0', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (738197507, 'faff4df3d4bf57fcad1f58c9', 'node.started', 1795133176731, CAST('{"nodeId":"n1","typeId":"core.delay","attempt":1}' AS BLOB), 'n1', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (738197508, '19cd083399fa029b659baddb', 'weftwork.run.pause-requested', 1795133176732, CAST('{"drainPolicy":"drain-current-node"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO run_state VALUES (1, 'node', 'n0', CAST('{"status":"completed","attempt":1}' AS BLOB));
INSERT INTO run_state VALUES (1, 'node', 'n1', CAST('{"status":"completed","attempt":1}' AS BLOB));
INSERT INTO run_state VALUES (2, 'interrupt', 'gate.1', CAST('{"interruptId":"gate.1","nodeId":"gate","kind":"approval","key":"gate","status":"open","requestedAt":"2026-11-20T00:06:16.337Z","data":{"artifactId":"gate","artifactType":"approval","title":"May it?","actions":["accept","reject"]}}' AS BLOB));
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
INSERT INTO run_state VALUES (8, 'interrupt', 'gate.1', CAST('{"interruptId":"gate.1","nodeId":"gate","kind":"approval","key":"gate","status":"open","requestedAt":"2026-11-20T00:06:16.714Z","data":{"artifactId":"gate","artifactType":"approval","title":"May it?","actions":["accept","reject"]}}' AS BLOB));
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
INSERT INTO open_interrupts VALUES (2, 'gate.1', 'live:acme', '01m7v4cygh84gtrjwxc5snx4zh', 'approve', 'approval', 'gate', 1795133176337, NULL);
INSERT INTO open_interrupts VALUES (8, 'gate.1', 'live:acme', '01m7v4cyw98qad509z60qj5x94', 'approve', 'approval', 'gate', 1795133176714, NULL);
INSERT INTO kinship VALUES (6, 4, 'live:acme', '01m7v4cygnr9gffrt3zsf98dm2', 1, 1);
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
