PRAGMA user_version = 12;
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
CREATE TABLE forks (
  run_no INTEGER PRIMARY KEY,
  partition TEXT NOT NULL,
  source TEXT NOT NULL
) STRICT;
INSERT INTO runs VALUES (1, 'live:acme', '01m7pgt24m3nxjwyv7qd3907ry', 'steps', NULL, 'completed', 7, 1794978416789, 1794978416789, NULL, 3, NULL, CAST('{"c":{}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (2, 'test:acme', '01m7pgt24xs5s7d8kcwcgn2szf', 'steps', NULL, 'completed', 7, 1794978416797, 1794978416797, NULL, 3, NULL, CAST('{"c":{}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (3, 'live:acme', '01m7pgt255y616wskfvgk2e5m5', 'summary', NULL, 'completed', 9, 1794978416806, 1794978416817, NULL, 1, NULL, CAST('{"sum":{"content":"The lamp is broken.","finishReason":"stop","model":"scripted-1","text":"The lamp is broken.","usage":{"inputTokens":8,"outputTokens":5,"totalTokens":13}}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (4, 'live:acme', '01m7pgt25raqj587m5pzsetzpj', 'clarify', NULL, 'waiting-input', 7, 1794978416825, NULL, 'book', 1, NULL, NULL, 1, NULL, 0, 0);
INSERT INTO runs VALUES (5, 'live:acme', '01m7pgt26d2rk0pm1x5ynstrda', 'approve', NULL, 'waiting-approval', 4, 1794978416845, NULL, 'gate', 1, NULL, NULL, 1, NULL, 0, 0);
INSERT INTO runs VALUES (6, 'live:acme', '01m7pgt26vbnxd50kq1hnpn2gx', 'approve', NULL, 'completed', 11, 1794978416859, 1794978416874, NULL, 2, NULL, CAST('{"n":{}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (7, 'live:acme', '01m7pgt27tmk3s6qr75c80ngkp', 'wait-short', NULL, 'paused', 4, 1794978416891, NULL, NULL, 2, NULL, NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (8, 'live:acme', '01m7pgt286j3fw0k03zpr8hd1h', 'wait-short', NULL, 'paused', 6, 1794978416902, NULL, NULL, 2, NULL, NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (9, 'live:acme', '01m7pgt4pj9yk11k6dg8s0zwvp', 'list', NULL, 'running', 3, 1794978419410, NULL, 'm', 1, NULL, NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (10, 'live:acme', '01m7pgt4ptyawyhyk30p9ybvrv', 'wait-long', NULL, 'running', 3, 1794978419418, NULL, 'd', 2, NULL, NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (11, 'live:acme', '01m7pgt4pwqk22wbfe8khptp10', 'wait-long', NULL, 'running', 4, 1794978419420, NULL, 'd', 2, NULL, NULL, 0, NULL, 0, 0);
INSERT INTO runs VALUES (12, 'live:acme', '01m7pgt9a0f3x0c8m2v6w4k1ta', 'summary', NULL, 'completed', 9, 1794978416806, 1794978416817, NULL, 1, NULL, CAST('{"sum":{"content":"The lamp is broken.","finishReason":"stop","model":"scripted-1","text":"The lamp is broken.","usage":{"inputTokens":8,"outputTokens":5,"totalTokens":13}}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO runs VALUES (13, 'test:acme', '01m7pgt9a1q5d7h9j2b4n6p8rs', 'steps', NULL, 'completed', 7, 1794978416797, 1794978416797, NULL, 3, NULL, CAST('{"c":{}}' AS BLOB), 0, NULL, 0, 0);
INSERT INTO run_headers VALUES (1, CAST('{"run_id":"01m7pgt24m3nxjwyv7qd3907ry","partition":"live:acme","owner":{"tenant":"acme","principal":"key_cf8e488e12f623a5"},"workflow_id":"steps","definition":"9b51e102696628ad1f15c2c83347313f7cb42ae51f59b14e026323a3aff3ca30","created_at":1794978416788,"inputs":{"word":"owl","secret":"[REDACTED:secret]"}}' AS BLOB));
INSERT INTO run_headers VALUES (2, CAST('{"run_id":"01m7pgt24xs5s7d8kcwcgn2szf","partition":"test:acme","owner":{"tenant":"acme","principal":"key_488fa885f420aef6"},"workflow_id":"steps","definition":"9b51e102696628ad1f15c2c83347313f7cb42ae51f59b14e026323a3aff3ca30","created_at":1794978416797,"inputs":{"word":"owl","secret":"[REDACTED:secret]"}}' AS BLOB));
INSERT INTO run_headers VALUES (3, CAST('{"run_id":"01m7pgt255y616wskfvgk2e5m5","partition":"live:acme","owner":{"tenant":"acme","principal":"key_cf8e488e12f623a5"},"workflow_id":"summary","definition":"2da9ae168a9bba87e853e3628297b9d9fddeb402a7a4dcb74f28faddbb0c7548","created_at":1794978416805}' AS BLOB));
INSERT INTO run_headers VALUES (4, CAST('{"run_id":"01m7pgt25raqj587m5pzsetzpj","partition":"live:acme","owner":{"tenant":"acme","principal":"key_cf8e488e12f623a5"},"workflow_id":"clarify","definition":"6899b98b6d00d5836ba6066fe2472810e902c91f80111ee6291c9bed4969c8f5","created_at":1794978416824}' AS BLOB));
INSERT INTO run_headers VALUES (5, CAST('{"run_id":"01m7pgt26d2rk0pm1x5ynstrda","partition":"live:acme","owner":{"tenant":"acme","principal":"key_cf8e488e12f623a5"},"workflow_id":"approve","definition":"30d987f4ce56390758a3239348013844e2ddc8ad11c64de0603baff4a7366434","created_at":1794978416845}' AS BLOB));
INSERT INTO run_headers VALUES (6, CAST('{"run_id":"01m7pgt26vbnxd50kq1hnpn2gx","partition":"live:acme","owner":{"tenant":"acme","principal":"key_cf8e488e12f623a5"},"workflow_id":"approve","definition":"30d987f4ce56390758a3239348013844e2ddc8ad11c64de0603baff4a7366434","created_at":1794978416859}' AS BLOB));
INSERT INTO run_headers VALUES (7, CAST('{"run_id":"01m7pgt27tmk3s6qr75c80ngkp","partition":"live:acme","owner":{"tenant":"acme","principal":"key_cf8e488e12f623a5"},"workflow_id":"wait-short","definition":"7fa4a07b7f617fe0eb89e53824cc14532c2d837fa7708599fc43a39cc97280e1","created_at":1794978416890}' AS BLOB));
INSERT INTO run_headers VALUES (8, CAST('{"run_id":"01m7pgt286j3fw0k03zpr8hd1h","partition":"live:acme","owner":{"tenant":"acme","principal":"key_cf8e488e12f623a5"},"workflow_id":"wait-short","definition":"7fa4a07b7f617fe0eb89e53824cc14532c2d837fa7708599fc43a39cc97280e1","created_at":1794978416902}' AS BLOB));
INSERT INTO run_headers VALUES (9, CAST('{"run_id":"01m7pgt4pj9yk11k6dg8s0zwvp","partition":"live:acme","owner":{"tenant":"acme","principal":"key_cf8e488e12f623a5"},"workflow_id":"list","definition":"983d621754e3e0a0a5ba5718635c88036f45fcfcc3d6535ebc30edaedabf2013","created_at":1794978419410}' AS BLOB));
INSERT INTO run_headers VALUES (10, CAST('{"run_id":"01m7pgt4ptyawyhyk30p9ybvrv","partition":"live:acme","owner":{"tenant":"acme","principal":"key_cf8e488e12f623a5"},"workflow_id":"wait-long","definition":"b3aa2a1ddea21373784223139d8b91f9acba3c7000bcfc93d721d60aa6cf0bfc","created_at":1794978419418}' AS BLOB));
INSERT INTO run_headers VALUES (11, CAST('{"run_id":"01m7pgt4pwqk22wbfe8khptp10","partition":"live:acme","owner":{"tenant":"acme","principal":"key_cf8e488e12f623a5"},"workflow_id":"wait-long","definition":"b3aa2a1ddea21373784223139d8b91f9acba3c7000bcfc93d721d60aa6cf0bfc","created_at":1794978419420}' AS BLOB));
INSERT INTO run_headers VALUES (12, CAST('{"run_id":"01m7pgt9a0f3x0c8m2v6w4k1ta","partition":"live:acme","owner":{"tenant":"acme","principal":"key_cf8e488e12f623a5"},"workflow_id":"summary","definition":"2da9ae168a9bba87e853e3628297b9d9fddeb402a7a4dcb74f28faddbb0c7548","created_at":1794978417817,"fork":{"run_id":"01m7pgt255y616wskfvgk2e5m5","from_seq":3,"mode":"replay","until":9,"acts_as":"01m7pgt255y616wskfvgk2e5m5"}}' AS BLOB));
INSERT INTO run_headers VALUES (13, CAST('{"run_id":"01m7pgt9a1q5d7h9j2b4n6p8rs","partition":"test:acme","owner":{"tenant":"acme","principal":"key_488fa885f420aef6"},"workflow_id":"steps","definition":"9b51e102696628ad1f15c2c83347313f7cb42ae51f59b14e026323a3aff3ca30","created_at":1794978417797,"inputs":{"word":"owl","secret":"[REDACTED:secret]"},"fork":{"run_id":"01m7pgt24xs5s7d8kcwcgn2szf","from_seq":0,"mode":"replay","until":7,"acts_as":"01m7pgt24xs5s7d8kcwcgn2szf"}}' AS BLOB));
INSERT INTO events VALUES (67108864, '25731b02e011b4a299765213', 'run.started', 1794978416789, CAST('{"inputs":{"secret":"[REDACTED:secret]","word":"owl"},"owner":{"principal":"key_cf8e488e12f623a5","tenant":"acme"},"workflowId":"steps"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108865, '34de33b0f901d3d7e1971860', 'node.started', 1794978416789, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108866, '53debdd3e4c593bceb315185', 'node.completed', 1794978416789, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108867, 'ae9e19674c95eb29e77155c5', 'node.started', 1794978416789, CAST('{"attempt":1,"nodeId":"b","typeId":"core.identity"}' AS BLOB), 'b', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108868, 'e72736674529e2312cc86843', 'node.completed', 1794978416789, CAST('{"nodeId":"b","outputs":{"secret":"[REDACTED:b.secret]","word":"[REDACTED:b.word]"}}' AS BLOB), 'b', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108869, '5ffb68ec9234679a8e38c723', 'node.started', 1794978416789, CAST('{"attempt":1,"nodeId":"c","typeId":"core.noop"}' AS BLOB), 'c', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108870, 'bc5729929bdf8c3c4919ab63', 'node.completed', 1794978416789, CAST('{"nodeId":"c","outputs":{}}' AS BLOB), 'c', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (67108871, '5005d3eb8f38dc1ed7d65a2e', 'run.completed', 1794978416789, CAST('{"outputs":{"c":{}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217728, 'd77826ba8f94643563c45cf0', 'run.started', 1794978416797, CAST('{"inputs":{"secret":"[REDACTED:secret]","word":"owl"},"owner":{"principal":"key_488fa885f420aef6","tenant":"acme"},"workflowId":"steps"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217729, '0e25e59ff2767a3ba766fbad', 'node.started', 1794978416797, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217730, '8e437fba305ab3bdf5b6ff83', 'node.completed', 1794978416797, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217731, '4037cf4ff6b2f54cee23f134', 'node.started', 1794978416797, CAST('{"attempt":1,"nodeId":"b","typeId":"core.identity"}' AS BLOB), 'b', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217732, '7fbc7a669bed1156417691f6', 'node.completed', 1794978416797, CAST('{"nodeId":"b","outputs":{"secret":"[REDACTED:b.secret]","word":"[REDACTED:b.word]"}}' AS BLOB), 'b', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217733, '7694199720425834fd210a6f', 'node.started', 1794978416797, CAST('{"attempt":1,"nodeId":"c","typeId":"core.noop"}' AS BLOB), 'c', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217734, '6443d54457a388065c36267b', 'node.completed', 1794978416797, CAST('{"nodeId":"c","outputs":{}}' AS BLOB), 'c', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (134217735, 'faf1bb963e45f2944963dfb1', 'run.completed', 1794978416797, CAST('{"outputs":{"c":{}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326592, '1403ce773f4e6b87a24de093', 'run.started', 1794978416806, CAST('{"inputs":{},"owner":{"principal":"key_cf8e488e12f623a5","tenant":"acme"},"workflowId":"summary"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326593, 'f796ad1e4e956602be38f864', 'node.started', 1794978416806, CAST('{"attempt":1,"nodeId":"sum","typeId":"core.ai.callPrompt"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326594, 'cac2cdd3d66b3d439703732f', 'output.chunk', 1794978416812, CAST('{"chunk":"The","isLast":false,"meta":{"model":"scripted-1","provider":"scripted"},"nodeId":"sum","runId":"01m7pgt255y616wskfvgk2e5m5"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326595, '585f0d56e7b480fc19940294', 'output.chunk', 1794978416812, CAST('{"chunk":" lamp","isLast":false,"meta":{"model":"scripted-1","provider":"scripted"},"nodeId":"sum","runId":"01m7pgt255y616wskfvgk2e5m5"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326596, '1befdfd88d91625ef93e766e', 'output.chunk', 1794978416812, CAST('{"chunk":" is","isLast":false,"meta":{"model":"scripted-1","provider":"scripted"},"nodeId":"sum","runId":"01m7pgt255y616wskfvgk2e5m5"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326597, 'a8294c5e911b3e37b8cc126d', 'output.chunk', 1794978416812, CAST('{"chunk":" broken.","isLast":true,"meta":{"finishReason":"stop","model":"scripted-1","provider":"scripted","usage":{"completionTokens":5,"promptTokens":8,"totalTokens":13}},"nodeId":"sum","runId":"01m7pgt255y616wskfvgk2e5m5"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326598, '1e350e3d988dcbb4c97cbdbf', 'weftwork.model.answered', 1794978416812, CAST('{"call":"/0.0","detail":"end_turn","inputTokens":8,"model":"scripted-1","nodeId":"sum","outputTokens":5,"provider":"scripted","stop":"stop","text":"The lamp is broken."}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326599, '04360084296bf8dda91014b0', 'provider.usage', 1794978416812, CAST('{"inputTokens":8,"model":"scripted-1","nodeId":"sum","outputTokens":5,"provider":"scripted","totalTokens":13}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326600, '45daa26b9eafd39dfc52316e', 'node.completed', 1794978416817, CAST('{"nodeId":"sum","outputs":{"content":"The lamp is broken.","finishReason":"stop","model":"scripted-1","text":"The lamp is broken.","usage":{"inputTokens":8,"outputTokens":5,"totalTokens":13}}}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (201326601, '56c2b452103d2b7a17bae8fb', 'run.completed', 1794978416817, CAST('{"outputs":{"sum":{"content":"The lamp is broken.","finishReason":"stop","model":"scripted-1","text":"The lamp is broken.","usage":{"inputTokens":8,"outputTokens":5,"totalTokens":13}}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435456, 'f291c655b7934a9cfb93a14e', 'run.started', 1794978416825, CAST('{"inputs":{},"owner":{"principal":"key_cf8e488e12f623a5","tenant":"acme"},"workflowId":"clarify"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435457, 'f6bcd2b5c0c1af5f1507b44a', 'node.started', 1794978416825, CAST('{"attempt":1,"nodeId":"book","typeId":"core.ai.generateEnvelope"}' AS BLOB), 'book', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435458, 'db9e18218643254d57c879e8', 'weftwork.model.answered', 1794978416832, CAST('{"call":"/0.0","detail":"end_turn","inputTokens":99,"model":"scripted-1","nodeId":"book","outputTokens":36,"provider":"scripted","stop":"stop","text":"{\"type\": \"clarification.request\", \"payload\": {\"questions\": [{\"id\": \"people\", \"question\": \"How many are you?\", \"schema\": {\"type\": \"integer\"}}]}}"}' AS BLOB), 'book', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435459, 'aea39b1effc86b288993a04f', 'provider.usage', 1794978416832, CAST('{"inputTokens":99,"model":"scripted-1","nodeId":"book","outputTokens":36,"provider":"scripted","totalTokens":135}' AS BLOB), 'book', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (268435460, '91a0c529a804ee3ba57b7df0', 'weftwork.envelope.recorded', 1794978416836, CAST('{"correlationId":"01m7pgt25raqj587m5pzsetzpj:book:/0.0.0:0:5b97a253","drift":true,"envelopeId":"env-25f3a2ca1368c01b6587046534d0003f","floor":1,"nodeId":"book","payload":{"questions":[{"id":"people","question":"How many are you?","schema":{"type":"integer"}}]},"redactionCount":0,"schemaVersion":0,"status":"accepted","type":"clarification.request"}' AS BLOB), 'book', '01m7pgt25raqj587m5pzsetzpj:book:/0.0.0:0:5b97a253', 1, 1, NULL, 'trusted');
INSERT INTO events VALUES (268435461, 'eba63aa336803b8f79a1704f', 'interrupt.requested', 1794978416836, CAST('{"data":{"questions":[{"id":"people","question":"How many are you?","schema":{"type":"integer"}}]},"key":"envelope:01m7pgt25raqj587m5pzsetzpj:book:/0.0.0:0:5b97a253","kind":"clarification"}' AS BLOB), 'book', '01m7pgt25raqj587m5pzsetzpj:book:/0.0.0:0:5b97a253', 1, 1, 'book.1', 'trusted');
INSERT INTO events VALUES (268435462, '230be9093dcfb86954fb022c', 'clarification.requested', 1794978416836, CAST('{"interruptId":"book.1","nodeId":"book","questions":[{"id":"people","question":"How many are you?","schema":{"type":"integer"}}]}' AS BLOB), 'book', '01m7pgt25raqj587m5pzsetzpj:book:/0.0.0:0:5b97a253', 1, 1, 'book.1', 'trusted');
INSERT INTO events VALUES (268435463, '69903f347ae5b0fa2103b18b', 'node.suspended', 1794978416836, CAST('{"interruptId":"book.1","key":"envelope:01m7pgt25raqj587m5pzsetzpj:book:/0.0.0:0:5b97a253","kind":"clarification","nodeId":"book"}' AS BLOB), 'book', '01m7pgt25raqj587m5pzsetzpj:book:/0.0.0:0:5b97a253', 1, 1, 'book.1', 'trusted');
INSERT INTO events VALUES (335544320, '3954f60c1aa05e6939df0131', 'run.started', 1794978416845, CAST('{"inputs":{},"owner":{"principal":"key_cf8e488e12f623a5","tenant":"acme"},"workflowId":"approve"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (335544321, '8ace34f553069075e6217db5', 'node.started', 1794978416845, CAST('{"attempt":1,"nodeId":"gate","typeId":"core.approvalGate"}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (335544322, '32836f4201bb53342f0d0fae', 'interrupt.requested', 1794978416845, CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","title":"Pay for a chair?"},"key":"gate","kind":"approval"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (335544323, 'ae3a2f1f1879b8bb78204ee2', 'approval.requested', 1794978416845, CAST('{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","interruptId":"gate.1","nodeId":"gate","title":"Pay for a chair?"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (335544324, 'a8bd2b2f62faa1e4e7e71942', 'node.suspended', 1794978416845, CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (402653184, '1654ef5002ddb0295ff521cd', 'run.started', 1794978416859, CAST('{"inputs":{},"owner":{"principal":"key_cf8e488e12f623a5","tenant":"acme"},"workflowId":"approve"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (402653185, '1c33a32f0709f7146e5f3100', 'node.started', 1794978416859, CAST('{"attempt":1,"nodeId":"gate","typeId":"core.approvalGate"}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (402653186, 'db52e08a2ac1c12c49cff4d5', 'interrupt.requested', 1794978416859, CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","title":"Pay for a chair?"},"key":"gate","kind":"approval"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (402653187, '8f58d82911dbd69cdbd97a49', 'approval.requested', 1794978416859, CAST('{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","interruptId":"gate.1","nodeId":"gate","title":"Pay for a chair?"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (402653188, '28575ea69be351888b25fbea', 'node.suspended', 1794978416859, CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (402653189, '6988d2c2c76af8ad8f1e2de2', 'interrupt.resolved', 1794978416874, CAST('{"interruptId":"gate.1","kind":"approval","nodeId":"gate","outcome":"accepted","resolvedBy":"key_cf8e488e12f623a5","resumeValue":{"action":"accept","decidedBy":"ada"}}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (402653190, '96d6183cf9bb121ea51ad0b3', 'approval.received', 1794978416874, CAST('{"action":"accept","decidedBy":"ada","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (402653191, '00de3129c5ed2cc0a3ee6ad3', 'node.resumed', 1794978416874, CAST('{"interruptId":"gate.1","nodeId":"gate"}' AS BLOB), 'gate', NULL, 1, 1, 'gate.1', NULL);
INSERT INTO events VALUES (402653192, 'fdece1175991adc0ad070db8', 'node.completed', 1794978416874, CAST('{"nodeId":"gate","outputs":{"action":"accept","approved":true,"decidedBy":"ada"}}' AS BLOB), 'gate', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (402653193, 'c3b75c84378185f5f2703ddf', 'node.started', 1794978416874, CAST('{"attempt":1,"nodeId":"n","typeId":"core.noop"}' AS BLOB), 'n', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (402653194, '0745496a50138f3562a7220a', 'node.completed', 1794978416874, CAST('{"nodeId":"n","outputs":{}}' AS BLOB), 'n', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (402653195, '8f64f66387d549e30e5c86e9', 'run.completed', 1794978416874, CAST('{"outputs":{"n":{}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762048, 'b0a20912e8f71c06b2730c4e', 'run.started', 1794978416891, CAST('{"inputs":{},"owner":{"principal":"key_cf8e488e12f623a5","tenant":"acme"},"workflowId":"wait-short"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762049, 'fccb472d9772723dc2acab2c', 'node.started', 1794978416891, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762050, '26ab0af881d53a8bb9754ec9', 'node.completed', 1794978416891, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762051, 'a5d17a5bbde48d0364f1650c', 'node.started', 1794978416891, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (469762052, '2f598a857b96c1ebe7a0525b', 'run.paused', 1794978416899, CAST('{"drainPolicy":"immediate","reason":"lunch"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (536870912, '8f8045c845e67c1a2916fa61', 'run.started', 1794978416902, CAST('{"inputs":{},"owner":{"principal":"key_cf8e488e12f623a5","tenant":"acme"},"workflowId":"wait-short"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (536870913, '702b6ded3ea232869adffcb0', 'node.started', 1794978416902, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (536870914, 'dc3f0f1b571e42b3fd58f07a', 'node.completed', 1794978416902, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (536870915, '04c42262cb2f24db232d1089', 'node.started', 1794978416902, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (536870916, '0de516205f97056d06430ec0', 'weftwork.run.pause-requested', 1794978416904, CAST('{"drainPolicy":"drain-current-node"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (536870917, 'b6daa2fd1f7ec599f270f7c2', 'node.completed', 1794978419403, CAST('{"nodeId":"d","outputs":{}}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (536870918, '51452908a1672e83d8c70639', 'run.paused', 1794978419403, CAST('{"drainPolicy":"drain-current-node"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (603979776, '28cc5cec70e498cce332e4c4', 'run.started', 1794978419410, CAST('{"inputs":{},"owner":{"principal":"key_cf8e488e12f623a5","tenant":"acme"},"workflowId":"list"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (603979777, '12e19a857e405d14d5881cb8', 'node.started', 1794978419410, CAST('{"attempt":1,"nodeId":"m","typeId":"core.flow.map"}' AS BLOB), 'm', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (603979778, '214bf0ec9d5adea61c4879ad', 'weftwork.map.item', 1794978419414, CAST('{"index":0,"output":{}}' AS BLOB), 'm', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (603979779, '5df113917a0eb99dbd208fa1', 'weftwork.map.item', 1794978419415, CAST('{"index":2,"output":{}}' AS BLOB), 'm', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (671088640, 'e0b6dace26cdd89acd928ec0', 'run.started', 1794978419418, CAST('{"inputs":{},"owner":{"principal":"key_cf8e488e12f623a5","tenant":"acme"},"workflowId":"wait-long"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (671088641, 'e79e24dfe8e7d89f7016bbab', 'node.started', 1794978419418, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (671088642, 'ed778e9b17396effb5b9eeda', 'node.completed', 1794978419418, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (671088643, '49f7b77863c148866704490f', 'node.started', 1794978419418, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (738197504, 'b228d8126c34d10d8b6d49ff', 'run.started', 1794978419420, CAST('{"inputs":{},"owner":{"principal":"key_cf8e488e12f623a5","tenant":"acme"},"workflowId":"wait-long"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (738197505, 'b635f83d1f0df8f608898222', 'node.started', 1794978419420, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (738197506, '0e38f284af785f41119c8273', 'node.completed', 1794978419420, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (738197507, '07ea33447777f609788db15f', 'node.started', 1794978419420, CAST('{"attempt":1,"nodeId":"d","typeId":"core.delay"}' AS BLOB), 'd', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (738197508, 'e308ff7bf298280f768aa3ed', 'weftwork.run.pause-requested', 1794978419422, CAST('{"drainPolicy":"drain-current-node"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (805306368, '1403ce773f4e6b87a24de093', 'run.started', 1794978416806, CAST('{"inputs":{},"owner":{"principal":"key_cf8e488e12f623a5","tenant":"acme"},"workflowId":"summary"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (805306369, 'f796ad1e4e956602be38f864', 'node.started', 1794978416806, CAST('{"attempt":1,"nodeId":"sum","typeId":"core.ai.callPrompt"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (805306370, 'cac2cdd3d66b3d439703732f', 'output.chunk', 1794978416812, CAST('{"chunk":"The","isLast":false,"meta":{"model":"scripted-1","provider":"scripted"},"nodeId":"sum","runId":"01m7pgt9a0f3x0c8m2v6w4k1ta"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (805306371, '585f0d56e7b480fc19940294', 'output.chunk', 1794978416812, CAST('{"chunk":" lamp","isLast":false,"meta":{"model":"scripted-1","provider":"scripted"},"nodeId":"sum","runId":"01m7pgt9a0f3x0c8m2v6w4k1ta"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (805306372, '1befdfd88d91625ef93e766e', 'output.chunk', 1794978416812, CAST('{"chunk":" is","isLast":false,"meta":{"model":"scripted-1","provider":"scripted"},"nodeId":"sum","runId":"01m7pgt9a0f3x0c8m2v6w4k1ta"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (805306373, 'a8294c5e911b3e37b8cc126d', 'output.chunk', 1794978416812, CAST('{"chunk":" broken.","isLast":true,"meta":{"finishReason":"stop","model":"scripted-1","provider":"scripted","usage":{"completionTokens":5,"promptTokens":8,"totalTokens":13}},"nodeId":"sum","runId":"01m7pgt9a0f3x0c8m2v6w4k1ta"}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (805306374, '1e350e3d988dcbb4c97cbdbf', 'weftwork.model.answered', 1794978416812, CAST('{"call":"/0.0","detail":"end_turn","inputTokens":8,"model":"scripted-1","nodeId":"sum","outputTokens":5,"provider":"scripted","stop":"stop","text":"The lamp is broken."}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (805306375, '04360084296bf8dda91014b0', 'provider.usage', 1794978416812, CAST('{"inputTokens":8,"model":"scripted-1","nodeId":"sum","outputTokens":5,"provider":"scripted","totalTokens":13}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (805306376, '45daa26b9eafd39dfc52316e', 'node.completed', 1794978416817, CAST('{"nodeId":"sum","outputs":{"content":"The lamp is broken.","finishReason":"stop","model":"scripted-1","text":"The lamp is broken.","usage":{"inputTokens":8,"outputTokens":5,"totalTokens":13}}}' AS BLOB), 'sum', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (805306377, '56c2b452103d2b7a17bae8fb', 'run.completed', 1794978416817, CAST('{"outputs":{"sum":{"content":"The lamp is broken.","finishReason":"stop","model":"scripted-1","text":"The lamp is broken.","usage":{"inputTokens":8,"outputTokens":5,"totalTokens":13}}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (872415232, 'd77826ba8f94643563c45cf0', 'run.started', 1794978416797, CAST('{"inputs":{"secret":"[REDACTED:secret]","word":"owl"},"owner":{"principal":"key_488fa885f420aef6","tenant":"acme"},"workflowId":"steps"}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (872415233, '0e25e59ff2767a3ba766fbad', 'node.started', 1794978416797, CAST('{"attempt":1,"nodeId":"a","typeId":"core.noop"}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (872415234, '8e437fba305ab3bdf5b6ff83', 'node.completed', 1794978416797, CAST('{"nodeId":"a","outputs":{}}' AS BLOB), 'a', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (872415235, '4037cf4ff6b2f54cee23f134', 'node.started', 1794978416797, CAST('{"attempt":1,"nodeId":"b","typeId":"core.identity"}' AS BLOB), 'b', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (872415236, '7fbc7a669bed1156417691f6', 'node.completed', 1794978416797, CAST('{"nodeId":"b","outputs":{"secret":"[REDACTED:b.secret]","word":"[REDACTED:b.word]"}}' AS BLOB), 'b', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (872415237, '7694199720425834fd210a6f', 'node.started', 1794978416797, CAST('{"attempt":1,"nodeId":"c","typeId":"core.noop"}' AS BLOB), 'c', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (872415238, '6443d54457a388065c36267b', 'node.completed', 1794978416797, CAST('{"nodeId":"c","outputs":{}}' AS BLOB), 'c', NULL, 1, 1, NULL, NULL);
INSERT INTO events VALUES (872415239, 'faf1bb963e45f2944963dfb1', 'run.completed', 1794978416797, CAST('{"outputs":{"c":{}}}' AS BLOB), NULL, NULL, 1, 1, NULL, NULL);
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
INSERT INTO run_state VALUES (4, 'interrupt', 'book.1', CAST('{"data":{"questions":[{"id":"people","question":"How many are you?","schema":{"type":"integer"}}]},"interruptId":"book.1","key":"envelope:01m7pgt25raqj587m5pzsetzpj:book:/0.0.0:0:5b97a253","kind":"clarification","nodeId":"book","requestedAt":"2026-11-18T05:06:56.836Z","status":"open"}' AS BLOB));
INSERT INTO run_state VALUES (4, 'node', 'book', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (5, 'interrupt', 'gate.1', CAST('{"data":{"actions":["accept","reject"],"artifactId":"gate","artifactType":"approval","title":"Pay for a chair?"},"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","requestedAt":"2026-11-18T05:06:56.845Z","status":"open"}' AS BLOB));
INSERT INTO run_state VALUES (5, 'node', 'gate', CAST('{"attempt":1,"status":"suspended"}' AS BLOB));
INSERT INTO run_state VALUES (6, 'interrupt', 'gate.1', CAST('{"interruptId":"gate.1","key":"gate","kind":"approval","nodeId":"gate","outcome":"accepted","requestedAt":"2026-11-18T05:06:56.859Z","resolvedAt":"2026-11-18T05:06:56.874Z","resolvedBy":"ada","status":"resolved"}' AS BLOB));
INSERT INTO run_state VALUES (6, 'node', 'gate', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (6, 'node', 'n', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (7, 'node', 'a', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (7, 'node', 'd', CAST('{"attempt":1,"status":"pending"}' AS BLOB));
INSERT INTO run_state VALUES (8, 'node', 'a', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (8, 'node', 'd', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (9, 'node', 'm', CAST('{"attempt":1,"status":"running"}' AS BLOB));
INSERT INTO run_state VALUES (10, 'node', 'a', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (10, 'node', 'd', CAST('{"attempt":1,"status":"running"}' AS BLOB));
INSERT INTO run_state VALUES (11, 'node', 'a', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (11, 'node', 'd', CAST('{"attempt":1,"status":"running"}' AS BLOB));
INSERT INTO run_state VALUES (12, 'node', 'sum', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (13, 'node', 'a', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (13, 'node', 'b', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (13, 'node', 'c', CAST('{"attempt":1,"status":"completed"}' AS BLOB));
INSERT INTO run_state VALUES (13, 'variable', 'secret', CAST('"[REDACTED:secret]"' AS BLOB));
INSERT INTO run_state VALUES (13, 'variable', 'word', CAST('"owl"' AS BLOB));
INSERT INTO hidden VALUES (1, 1, -1, '/secret', CAST('"xxxx"' AS BLOB));
INSERT INTO hidden VALUES (2, 1, 0, '/inputs/secret', CAST('"xxxx"' AS BLOB));
INSERT INTO hidden VALUES (3, 1, 4, '/outputs/secret', CAST('"xxxx"' AS BLOB));
INSERT INTO hidden VALUES (4, 1, 4, '/outputs/word', CAST('"xxx"' AS BLOB));
INSERT INTO hidden VALUES (5, 2, -1, '/secret', CAST('"xxxx"' AS BLOB));
INSERT INTO hidden VALUES (6, 2, 0, '/inputs/secret', CAST('"xxxx"' AS BLOB));
INSERT INTO hidden VALUES (7, 2, 4, '/outputs/secret', CAST('"xxxx"' AS BLOB));
INSERT INTO hidden VALUES (8, 2, 4, '/outputs/word', CAST('"xxx"' AS BLOB));
INSERT INTO hidden VALUES (9, 13, -1, '/secret', CAST('"xxxx"' AS BLOB));
INSERT INTO hidden VALUES (10, 13, 0, '/inputs/secret', CAST('"xxxx"' AS BLOB));
INSERT INTO hidden VALUES (11, 13, 4, '/outputs/secret', CAST('"xxxx"' AS BLOB));
INSERT INTO hidden VALUES (12, 13, 4, '/outputs/word', CAST('"xxx"' AS BLOB));
INSERT INTO idempotency VALUES (1, 'live:acme', '0ab37f124634b244340a312c710776f7f44a9ac8f4f62d960838e60196ad3547', '0de3d0b6157f6460451b6c6008a8690bf931fd4076a16919237e5b79e23a008a', CAST('{"run_id":"01m7pgt27tmk3s6qr75c80ngkp","status":"paused","at":1794978416898,"node_id":"","replayed":false}' AS BLOB), 1794978416898);
INSERT INTO definitions VALUES ('2da9ae168a9bba87e853e3628297b9d9fddeb402a7a4dcb74f28faddbb0c7548', CAST('{"edges":[],"id":"summary","metadata":{},"name":"summary","nodes":[{"config":{"maxTokens":100,"prompt":"A letter: the lamp is broken."},"id":"sum","inputs":{},"name":"sum","position":{"x":0,"y":0},"typeId":"core.ai.callPrompt"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('30d987f4ce56390758a3239348013844e2ddc8ad11c64de0603baff4a7366434', CAST('{"edges":[{"id":"gate-n","sourceNodeId":"gate","targetNodeId":"n"}],"id":"approve","metadata":{},"name":"approve","nodes":[{"config":{"title":"Pay for a chair?"},"id":"gate","inputs":{},"name":"gate","position":{"x":0,"y":0},"typeId":"core.approvalGate"},{"config":{},"id":"n","inputs":{},"name":"n","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('6899b98b6d00d5836ba6066fe2472810e902c91f80111ee6291c9bed4969c8f5', CAST('{"edges":[{"id":"book-n","sourceNodeId":"book","targetNodeId":"n"}],"id":"clarify","metadata":{"envelopeKinds":{"vendor.example.booking":{"schema":{"properties":{"day":{"type":"string"}},"required":["day"],"type":"object"}}}},"name":"clarify","nodes":[{"config":{"envelopeType":"vendor.example.booking","systemPrompt":"You book tables.","userMessage":"A table, please."},"envelopeContract":{"accepts":["vendor.example.booking"]},"id":"book","inputs":{},"name":"book","position":{"x":0,"y":0},"typeId":"core.ai.generateEnvelope"},{"config":{},"id":"n","inputs":{},"name":"n","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('7fa4a07b7f617fe0eb89e53824cc14532c2d837fa7708599fc43a39cc97280e1', CAST('{"edges":[{"id":"a-d","sourceNodeId":"a","targetNodeId":"d"},{"id":"d-c","sourceNodeId":"d","targetNodeId":"c"}],"id":"wait-short","metadata":{},"name":"wait-short","nodes":[{"config":{},"id":"a","inputs":{},"name":"a","position":{"x":0,"y":0},"typeId":"core.noop"},{"config":{"delayMs":2500},"id":"d","inputs":{},"name":"d","position":{"x":0,"y":0},"typeId":"core.delay"},{"config":{},"id":"c","inputs":{},"name":"c","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('983d621754e3e0a0a5ba5718635c88036f45fcfcc3d6535ebc30edaedabf2013', CAST('{"edges":[{"id":"m-n","sourceNodeId":"m","targetNodeId":"n"}],"id":"list","metadata":{},"name":"list","nodes":[{"config":{"body":{"inputs":{"delayMs":{"expression":"item","type":"expression"}},"typeId":"core.delay"},"concurrency":2},"id":"m","inputs":{"items":{"type":"static","value":[1,1500,1]}},"name":"m","position":{"x":0,"y":0},"typeId":"core.flow.map"},{"config":{},"id":"n","inputs":{},"name":"n","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('9b51e102696628ad1f15c2c83347313f7cb42ae51f59b14e026323a3aff3ca30', CAST('{"edges":[{"id":"a-b","sourceNodeId":"a","targetNodeId":"b"},{"id":"b-c","sourceNodeId":"b","targetNodeId":"c"}],"id":"steps","metadata":{},"name":"steps","nodes":[{"config":{},"id":"a","inputs":{},"name":"a","position":{"x":0,"y":0},"typeId":"core.noop"},{"config":{},"id":"b","inputs":{"secret":{"type":"variable","variableName":"secret"},"word":{"type":"variable","variableName":"word"}},"name":"b","position":{"x":0,"y":0},"typeId":"core.identity"},{"config":{},"id":"c","inputs":{},"name":"c","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[],"variables":[{"name":"word","type":"string"},{"name":"secret","sensitive":true,"type":"string"}],"version":"1.0"}' AS BLOB));
INSERT INTO definitions VALUES ('b3aa2a1ddea21373784223139d8b91f9acba3c7000bcfc93d721d60aa6cf0bfc', CAST('{"edges":[{"id":"a-d","sourceNodeId":"a","targetNodeId":"d"},{"id":"d-c","sourceNodeId":"d","targetNodeId":"c"}],"id":"wait-long","metadata":{},"name":"wait-long","nodes":[{"config":{},"id":"a","inputs":{},"name":"a","position":{"x":0,"y":0},"typeId":"core.noop"},{"config":{"delayMs":60000},"id":"d","inputs":{},"name":"d","position":{"x":0,"y":0},"typeId":"core.delay"},{"config":{},"id":"c","inputs":{},"name":"c","position":{"x":0,"y":0},"typeId":"core.noop"}],"settings":{},"triggers":[],"variables":[],"version":"1.0"}' AS BLOB));
INSERT INTO open_interrupts VALUES (4, 'book.1', 'live:acme', '01m7pgt25raqj587m5pzsetzpj', 'clarify', 'clarification', 'book', 1794978416836, NULL);
INSERT INTO open_interrupts VALUES (5, 'gate.1', 'live:acme', '01m7pgt26d2rk0pm1x5ynstrda', 'approve', 'approval', 'gate', 1794978416845, NULL);
INSERT INTO forks VALUES (12, 'live:acme', '01m7pgt255y616wskfvgk2e5m5');
INSERT INTO forks VALUES (13, 'test:acme', '01m7pgt24xs5s7d8kcwcgn2szf');
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
CREATE INDEX forks_by_source ON forks (partition, source);
COMMIT;
