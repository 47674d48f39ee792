PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE raw_sweep (
  sweep   TEXT PRIMARY KEY,
  plan    INTEGER NOT NULL,
  since   INTEGER NOT NULL,
  changes INTEGER NOT NULL
) STRICT;
INSERT INTO raw_sweep VALUES('s',1,0,10);
CREATE TABLE raw_plan (
  plan  INTEGER PRIMARY KEY,
  sweep TEXT NOT NULL,
  body  TEXT NOT NULL
) STRICT;
INSERT INTO raw_plan VALUES(1,'s','{"name":"s","blocks":3,"seed":1,"aa":true,"judge":{"metrics":null,"margin":0},"factors":null,"sources":[{"path":"s.cue","text":"s: #Sweep & {}"}],"tags":["a=b"],"traces":{"gaps.txt":[0.5,1.25]},"cells":[{"cell":{"cell":"baseline","factor":null,"level":null,"at":{"rate":null,"note":"a<b"},"target":"sim","contract":{"load":{"open":{"rate":8.0,"arrival":"poisson"}},"slo":{"ttft":"100ms","tpot":"10ms","e2e":"1s","attainment":0.99}},"server":{"port":8000,"restart":"block"},"measure":{"requests":10},"warmup":{"requests":2},"tail":"1s","timeout":{},"errorLimit":0.5},"requests":0,"digest":"sha256:base","setting":""},{"cell":{"cell":"rate=8","factor":"rate","level":8.0,"at":{"rate":8.0,"note":"a<b"},"target":"sim","contract":{"load":{"open":{"rate":8.0,"arrival":"poisson"}},"slo":{"ttft":"1s","attainment":0.9}},"server":{"port":8000,"restart":"block"},"measure":{"requests":10},"warmup":{"requests":2},"tail":"1s","timeout":{},"errorLimit":0.5},"alias_of":"baseline","moved":[{"path":"contract.x","from":null,"to":"y"}],"requests":0,"digest":"sha256:base","setting":""},{"cell":{"cell":"mode=closed","factor":"mode","level":"closed","at":{"rate":"closed","note":"a<b"},"target":"sim","contract":{"load":{"closed":{"clients":4}}},"server":{"port":8000,"restart":"block"},"measure":{"requests":10},"warmup":{"requests":2},"tail":"1s","timeout":{},"errorLimit":0.5},"moved":[{"path":"contract.load.closed.clients","from":null,"to":4},{"path":"contract.load.open.rate","from":8,"to":null}],"requests":0,"digest":"sha256:closed","setting":""}],"trials":[{"Digest":"sha256:base","Block":1,"Copy":1,"cell":"baseline","setting":"","order":1}],"launches":0}');
CREATE TABLE raw_cell (
  id          INTEGER PRIMARY KEY,
  plan        INTEGER NOT NULL REFERENCES raw_plan (plan),
  sweep       TEXT NOT NULL,
  cell        TEXT NOT NULL,
  alias_of    TEXT,
  factor      TEXT,
  level       TEXT,
  baseline    INTEGER NOT NULL,
  reference   TEXT,
  moved       INTEGER NOT NULL,
  at          TEXT NOT NULL,
  digest      TEXT NOT NULL,
  target      TEXT NOT NULL,
  contract    TEXT NOT NULL,
  server      TEXT NOT NULL,
  load        TEXT NOT NULL,
  has_slo     INTEGER NOT NULL,
  slo_ttft_ns INTEGER,
  slo_tpot_ns INTEGER,
  slo_e2e_ns  INTEGER,
  UNIQUE (plan, cell)
) STRICT;
INSERT INTO raw_cell VALUES(1,1,'s','baseline',NULL,NULL,NULL,1,NULL,0,'{"rate":null,"note":"a<b"}','sha256:base','sim','{"load":{"open":{"rate":8.0,"arrival":"poisson"}},"slo":{"ttft":"100ms","tpot":"10ms","e2e":"1s","attainment":0.99}}','{"port":8000,"restart":"block"}','open',1,100000000,10000000,1000000000);
INSERT INTO raw_cell VALUES(2,1,'s','rate=8','baseline','rate','8.0',0,'baseline',1,'{"rate":8.0,"note":"a<b"}','sha256:base','sim','{"load":{"open":{"rate":8.0,"arrival":"poisson"}},"slo":{"ttft":"1s","attainment":0.9}}','{"port":8000,"restart":"block"}','open',1,1000000000,NULL,NULL);
INSERT INTO raw_cell VALUES(3,1,'s','mode=closed',NULL,'mode','"closed"',0,'baseline',2,'{"rate":"closed","note":"a<b"}','sha256:closed','sim','{"load":{"closed":{"clients":4}}}','{"port":8000,"restart":"block"}','closed',0,NULL,NULL,NULL);
CREATE TABLE raw_sitting (
  sitting    INTEGER PRIMARY KEY,
  sweep      TEXT NOT NULL,
  plan       INTEGER NOT NULL REFERENCES raw_plan (plan),
  started_at TEXT,
  argv       TEXT NOT NULL,
  version    TEXT NOT NULL,
  revision   TEXT NOT NULL,
  host       TEXT NOT NULL,
  fresh      INTEGER NOT NULL
) STRICT;
INSERT INTO raw_sitting VALUES(1,'s',1,'2026-03-01T12:30:15.123456Z','sweep run s.cue','v1','abc','h',0);
CREATE TABLE raw_provenance (
  sitting INTEGER NOT NULL REFERENCES raw_sitting (sitting),
  key     TEXT NOT NULL,
  value   TEXT NOT NULL,
  PRIMARY KEY (sitting, key)
) STRICT;
INSERT INTO raw_provenance VALUES(1,'argv','sweep run s.cue');
INSERT INTO raw_provenance VALUES(1,'commit','abc');
INSERT INTO raw_provenance VALUES(1,'go','go1.26');
INSERT INTO raw_provenance VALUES(1,'host','h');
INSERT INTO raw_provenance VALUES(1,'journal','wal');
INSERT INTO raw_provenance VALUES(1,'source s.cue','s: #Sweep & {}');
INSERT INTO raw_provenance VALUES(1,'started_at','2026-03-01T12:30:15.123456Z');
INSERT INTO raw_provenance VALUES(1,'tags','a=b');
INSERT INTO raw_provenance VALUES(1,'version','v1');
CREATE TABLE raw_launch (
  launch         INTEGER PRIMARY KEY,
  sweep          TEXT NOT NULL,
  sitting        INTEGER NOT NULL,
  ordinal        INTEGER NOT NULL,
  target         TEXT NOT NULL,
  node           TEXT,
  setting        TEXT NOT NULL,
  command        TEXT NOT NULL,
  attached       INTEGER NOT NULL,
  started_at     TEXT,
  port_ns        INTEGER,
  ready_ns       INTEGER,
  first_token_ns INTEGER,
  stopped_at     TEXT,
  exit_code      INTEGER,
  observed       TEXT NOT NULL,
  log            TEXT
) STRICT;
INSERT INTO raw_launch VALUES(1,'s',1,1,'sim',NULL,'','["sweep","sim"]',0,'2026-03-01T12:30:15.123456Z',1500000,NULL,NULL,NULL,NULL,'{"gpus":0}',NULL);
CREATE TABLE raw_trial (
  trial         INTEGER PRIMARY KEY,
  sweep         TEXT NOT NULL,
  cell          TEXT NOT NULL,
  digest        TEXT NOT NULL,
  block         INTEGER NOT NULL,
  copy          INTEGER NOT NULL,
  attempt       INTEGER NOT NULL,
  sitting       INTEGER NOT NULL,
  order_index   INTEGER NOT NULL,
  launch        INTEGER,
  node          TEXT,
  started_at    TEXT,
  nonce         TEXT,
  workload_hash TEXT,
  status        TEXT NOT NULL,
  reason        TEXT,
  t0_ns         INTEGER,
  t1_ns         INTEGER,
  end_ns        INTEGER,
  cache_method  TEXT,
  served_model  TEXT,
  UNIQUE (sweep, digest, block, copy, attempt)
) STRICT;
INSERT INTO raw_trial VALUES(1,'s','baseline','sha256:base',1,1,1,1,1,NULL,NULL,'2026-03-01T12:30:15.123456Z','00ff',NULL,'done',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO raw_trial VALUES(2,'s','baseline#2','sha256:base',1,2,1,1,1,NULL,NULL,'2026-03-01T12:30:15.123456Z','00ff',NULL,'done',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO raw_trial VALUES(3,'s','mode=closed','sha256:closed',1,1,1,1,1,NULL,NULL,'2026-03-01T12:30:15.123456Z','00ff',NULL,'done',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO raw_trial VALUES(4,'s','old=1','sha256:old',1,1,1,1,1,NULL,NULL,'2026-03-01T12:30:15.123456Z','00ff',NULL,'done',NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE raw_request (
  trial            INTEGER NOT NULL REFERENCES raw_trial (trial),
  seq              INTEGER NOT NULL,
  phase            TEXT NOT NULL,
  request_id       TEXT,
  due_ns           INTEGER,
  sent_ns          INTEGER,
  queue_ns         INTEGER,
  dial_ns          INTEGER,
  conn_new         INTEGER NOT NULL,
  written_ns       INTEGER,
  ttfb_ns          INTEGER,
  first_token_ns   INTEGER,
  answer_ns        INTEGER,
  last_token_ns    INTEGER,
  end_ns           INTEGER,
  server_queue_ns  INTEGER,
  input_asked      INTEGER,
  input_tokens     INTEGER,
  input_source     TEXT,
  output_asked     INTEGER,
  output_tokens    INTEGER,
  output_source    TEXT,
  first_tokens     INTEGER,
  cached_tokens    INTEGER,
  reasoning_tokens INTEGER,
  chunks           INTEGER,
  status           TEXT NOT NULL,
  error            TEXT,
  error_message    TEXT,
  http_status      INTEGER,
  retry_after_ns   INTEGER,
  finish_reason    TEXT,
  response_model   TEXT,
  marks            TEXT NOT NULL,
  chunk_log        BLOB,
  UNIQUE (trial, seq)
) STRICT;
INSERT INTO raw_request VALUES(1,0,'measure','r0',0,1000000,500000,250000,1,100000,20000000,30000000,40000000,120000000,130000000,1000000,128,130,'usage',11,11,'usage',1,0,2,11,'ok',NULL,NULL,200,NULL,'length','toy','["no-done","ttft-by-usage"]',X'010203');
INSERT INTO raw_request VALUES(1,1,'measure',NULL,10000000,NULL,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'failed','not_sent','no slot',NULL,NULL,NULL,NULL,'[]',NULL);
INSERT INTO raw_request VALUES(2,0,'measure','r0',0,1000000,500000,250000,1,100000,20000000,30000000,40000000,120000000,130000000,1000000,128,130,'usage',11,11,'usage',1,0,2,11,'ok',NULL,NULL,200,NULL,'length','toy','["no-done","ttft-by-usage"]',X'010203');
INSERT INTO raw_request VALUES(2,1,'measure',NULL,10000000,NULL,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'failed','not_sent','no slot',NULL,NULL,NULL,NULL,'[]',NULL);
INSERT INTO raw_request VALUES(3,0,'measure','r0',0,1000000,500000,250000,1,100000,20000000,30000000,40000000,120000000,130000000,1000000,128,130,'usage',11,11,'usage',1,0,2,11,'ok',NULL,NULL,200,NULL,'length','toy','["no-done","ttft-by-usage"]',X'010203');
INSERT INTO raw_request VALUES(3,1,'measure',NULL,10000000,NULL,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'failed','not_sent','no slot',NULL,NULL,NULL,NULL,'[]',NULL);
INSERT INTO raw_request VALUES(4,0,'measure','r0',0,1000000,500000,250000,1,100000,20000000,30000000,40000000,120000000,130000000,1000000,128,130,'usage',11,11,'usage',1,0,2,11,'ok',NULL,NULL,200,NULL,'length','toy','["no-done","ttft-by-usage"]',X'010203');
INSERT INTO raw_request VALUES(4,1,'measure',NULL,10000000,NULL,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'failed','not_sent','no slot',NULL,NULL,NULL,NULL,'[]',NULL);
CREATE TABLE raw_answer (
  trial INTEGER NOT NULL REFERENCES raw_trial (trial),
  seq   INTEGER NOT NULL,
  text  TEXT NOT NULL,
  UNIQUE (trial, seq)
) STRICT;
INSERT INTO raw_answer VALUES(1,0,'an answer');
INSERT INTO raw_answer VALUES(2,0,'an answer');
INSERT INTO raw_answer VALUES(3,0,'an answer');
INSERT INTO raw_answer VALUES(4,0,'an answer');
CREATE TABLE raw_observation (
  trial  INTEGER NOT NULL REFERENCES raw_trial (trial),
  at_ns  INTEGER,
  source TEXT NOT NULL,
  key    TEXT NOT NULL,
  value  TEXT NOT NULL
) STRICT;
INSERT INTO raw_observation VALUES(1,2500000,'client','gpu','"H100"');
INSERT INTO raw_observation VALUES(2,2500000,'client','gpu','"H100"');
INSERT INTO raw_observation VALUES(3,2500000,'client','gpu','"H100"');
INSERT INTO raw_observation VALUES(4,2500000,'client','gpu','"H100"');
CREATE TABLE raw_sample (
  trial  INTEGER NOT NULL REFERENCES raw_trial (trial),
  at_ns  INTEGER,
  source TEXT NOT NULL,
  metric TEXT NOT NULL,
  value  REAL
) STRICT;
INSERT INTO raw_sample VALUES(1,2500000,'host','cpu',0.5);
INSERT INTO raw_sample VALUES(2,2500000,'host','cpu',0.5);
INSERT INTO raw_sample VALUES(3,2500000,'host','cpu',0.5);
INSERT INTO raw_sample VALUES(4,2500000,'host','cpu',0.5);
CREATE TABLE derived_trial (
  trial            INTEGER PRIMARY KEY REFERENCES raw_trial (trial),
  sweep            TEXT NOT NULL,
  analysis_version INTEGER NOT NULL,
  listed           INTEGER NOT NULL,
  verdict          TEXT,
  flags            TEXT NOT NULL,
  due              INTEGER,
  sent             INTEGER,
  ok               INTEGER,
  failed           INTEGER,
  offered_rate     REAL,
  achieved_rate    REAL,
  inflight_mean    REAL,
  inflight_max     REAL,
  window_s         REAL,
  cached_share     REAL
) STRICT;
INSERT INTO derived_trial VALUES(1,'s',7,1,'suspect','["late-sends"]',10,9,8,2,1.5,0.29999999999999998889,1.5,0.29999999999999998889,1.5,NULL);
INSERT INTO derived_trial VALUES(3,'s',7,1,'suspect','["late-sends"]',10,9,8,2,1.5,0.29999999999999998889,1.5,0.29999999999999998889,1.5,NULL);
CREATE TABLE derived_latency (
  sweep            TEXT NOT NULL,
  analysis_version INTEGER NOT NULL,
  cell             TEXT NOT NULL,
  block            INTEGER,
  phase            TEXT NOT NULL,
  metric           TEXT NOT NULL,
  n                INTEGER NOT NULL,
  error_share      REAL,
  mean             REAL,
  sd               REAL,
  min              REAL,
  p50              REAL,
  p90              REAL,
  p95              REAL,
  p99              REAL,
  max              REAL,
  blocks           INTEGER NOT NULL,
  left_out         INTEGER NOT NULL,
  verdict          TEXT,
  flags            TEXT NOT NULL
) STRICT;
INSERT INTO derived_latency VALUES('s',7,'baseline',NULL,'measure','ttft',20,1.5,1.5,0.29999999999999998889,1.5,0.29999999999999998889,1.5,1.5,NULL,0.29999999999999998889,2,1,'valid','[]');
INSERT INTO derived_latency VALUES('s',7,'baseline',1,'cold','gap',0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0,'invalid','["a","b"]');
CREATE TABLE derived_goodput (
  sweep             TEXT NOT NULL,
  analysis_version  INTEGER NOT NULL,
  cell              TEXT NOT NULL,
  block             INTEGER,
  due               INTEGER,
  ok                INTEGER,
  failed            INTEGER,
  met               INTEGER,
  attainment        REAL,
  window_s          REAL,
  request_rate      REAL,
  input_rate        REAL,
  output_rate       REAL,
  goodput_req_s     REAL,
  goodput_tok_s     REAL,
  goodput_tok_s_gpu REAL,
  blocks            INTEGER NOT NULL,
  left_out          INTEGER NOT NULL,
  moved             INTEGER NOT NULL,
  verdict           TEXT,
  flags             TEXT NOT NULL
) STRICT;
INSERT INTO derived_goodput VALUES('s',7,'baseline',NULL,1,2,3,4,1.5,1.5,0.29999999999999998889,1.5,1.5,0.29999999999999998889,1.5,1.5,1,2,3,'valid','[]');
INSERT INTO derived_goodput VALUES('s',7,'baseline',2,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0,0,'valid','[]');
CREATE TABLE derived_variance (
  sweep            TEXT NOT NULL,
  analysis_version INTEGER NOT NULL,
  cell             TEXT NOT NULL,
  metric           TEXT NOT NULL,
  blocks           INTEGER NOT NULL,
  estimate         REAL,
  estimator        TEXT,
  sd               REAL,
  cv               REAL,
  ci_low           REAL,
  ci_high          REAL,
  ci_method        TEXT,
  moved            INTEGER NOT NULL,
  verdict          TEXT,
  flags            TEXT NOT NULL
) STRICT;
INSERT INTO derived_variance VALUES('s',7,'baseline','goodput_req_s',3,1.5,'geometric',0.29999999999999998889,1.5,1.5,0.29999999999999998889,'t-log',1,'valid','[]');
INSERT INTO derived_variance VALUES('s',7,'rate=8','ttft_p99',0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL,'[]');
CREATE TABLE derived_comparison (
  sweep            TEXT NOT NULL,
  analysis_version INTEGER NOT NULL,
  cell             TEXT NOT NULL,
  reference        TEXT NOT NULL,
  factor           TEXT,
  metric           TEXT NOT NULL,
  blocks           INTEGER NOT NULL,
  ratio            REAL,
  ci_low           REAL,
  ci_high          REAL,
  p                REAL,
  p_holm           REAL,
  margin           REAL,
  test             TEXT,
  outcome          TEXT NOT NULL,
  moved            INTEGER NOT NULL,
  flags            TEXT NOT NULL
) STRICT;
INSERT INTO derived_comparison VALUES('s',7,'rate=8','baseline','rate','attainment',3,1.5,1.5,1.5,0.29999999999999998889,0.29999999999999998889,0.020000000000000000416,'paired-t','better',1,'["extended"]');
CREATE TABLE derived_flag (
  sweep            TEXT NOT NULL,
  analysis_version INTEGER NOT NULL,
  cell             TEXT,
  block            INTEGER,
  code             TEXT NOT NULL,
  severity         TEXT NOT NULL,
  detail           TEXT NOT NULL
) STRICT;
INSERT INTO derived_flag VALUES('s',7,NULL,NULL,'extended','note','two nights');
INSERT INTO derived_flag VALUES('s',7,'baseline',2,'drift','suspect','12 %');
CREATE TABLE derived_capacity (
  sweep            TEXT NOT NULL,
  analysis_version INTEGER NOT NULL,
  search           TEXT NOT NULL,
  cell             TEXT NOT NULL,
  block            INTEGER,
  rate             REAL,
  attainment       REAL,
  ci_low           REAL,
  ci_high          REAL,
  probes           INTEGER NOT NULL,
  verdict          TEXT,
  flags            TEXT NOT NULL
) STRICT;
CREATE TABLE derived_quality (
  sweep            TEXT NOT NULL,
  analysis_version INTEGER NOT NULL,
  cell             TEXT NOT NULL,
  dataset          TEXT NOT NULL,
  metric           TEXT NOT NULL,
  n                INTEGER NOT NULL,
  score            REAL,
  ci_low           REAL,
  ci_high          REAL,
  reference        TEXT,
  margin           REAL,
  outcome          TEXT
) STRICT;
CREATE TABLE derived_state (
  sweep            TEXT PRIMARY KEY,
  analysis_version INTEGER NOT NULL,
  changes          INTEGER NOT NULL
) STRICT;
INSERT INTO derived_state VALUES('s',7,10);
CREATE INDEX raw_cell_digest ON raw_cell (plan, digest);
CREATE INDEX raw_sitting_sweep ON raw_sitting (sweep);
CREATE INDEX raw_launch_sweep ON raw_launch (sweep);
CREATE INDEX raw_trial_status ON raw_trial (status);
CREATE INDEX raw_observation_trial ON raw_observation (trial);
CREATE INDEX raw_sample_trial ON raw_sample (trial);
CREATE TRIGGER raw_request_update BEFORE UPDATE ON raw_request BEGIN SELECT RAISE(ABORT, 'raw_request is append-only'); END;
CREATE TRIGGER raw_request_delete BEFORE DELETE ON raw_request BEGIN SELECT RAISE(ABORT, 'raw_request is append-only'); END;
CREATE TRIGGER raw_observation_update BEFORE UPDATE ON raw_observation BEGIN SELECT RAISE(ABORT, 'raw_observation is append-only'); END;
CREATE TRIGGER raw_observation_delete BEFORE DELETE ON raw_observation BEGIN SELECT RAISE(ABORT, 'raw_observation is append-only'); END;
CREATE TRIGGER raw_sample_update BEFORE UPDATE ON raw_sample BEGIN SELECT RAISE(ABORT, 'raw_sample is append-only'); END;
CREATE TRIGGER raw_sample_delete BEFORE DELETE ON raw_sample BEGIN SELECT RAISE(ABORT, 'raw_sample is append-only'); END;
CREATE TRIGGER raw_trial_delete BEFORE DELETE ON raw_trial BEGIN SELECT RAISE(ABORT, 'raw_trial is append-only'); END;
CREATE INDEX derived_trial_sweep ON derived_trial (sweep);
CREATE INDEX derived_latency_cell ON derived_latency (sweep, cell, block);
CREATE INDEX derived_goodput_cell ON derived_goodput (sweep, cell, block);
CREATE INDEX derived_variance_cell ON derived_variance (sweep, cell);
CREATE INDEX derived_comparison_cell ON derived_comparison (sweep, cell);
CREATE INDEX derived_flag_cell ON derived_flag (sweep, cell, block);
CREATE VIEW cell AS
SELECT c.sweep, c.cell, c.alias_of, c.factor, c.level, c.baseline, c.reference, c.moved, c.at, c.digest, c.target,
       c.contract, c.server
FROM raw_sweep AS s JOIN raw_cell AS c ON c.plan = s.plan
ORDER BY c.id;
CREATE VIEW point AS
SELECT c.sweep, c.cell, p.key AS factor, c.at -> ('$."' || p.key || '"') AS level
FROM raw_sweep AS s JOIN raw_cell AS c ON c.plan = s.plan JOIN json_each(c.at) AS p
ORDER BY c.id, p.id;
CREATE VIEW judged AS
SELECT t.trial, t.sweep, CASE t.copy WHEN 2 THEN t.cell ELSE coalesce(c.cell, t.cell) END AS cell, t.block, t.copy,
       t.attempt, c.load <> 'closed' AS from_due, c.has_slo, c.slo_ttft_ns, c.slo_tpot_ns, c.slo_e2e_ns
FROM raw_trial AS t
LEFT JOIN raw_cell AS c ON c.id = coalesce(
  (SELECT now.id FROM raw_sweep AS s JOIN raw_cell AS now ON now.plan = s.plan
   WHERE s.sweep = t.sweep AND now.digest = t.digest AND now.alias_of IS NULL),
  (SELECT old.id FROM raw_sitting AS s JOIN raw_cell AS old ON old.plan = s.plan
   WHERE s.sitting = t.sitting AND old.digest = t.digest AND old.alias_of IS NULL));
CREATE VIEW trial AS
SELECT t.sweep, j.cell, t.block, t.copy, t.attempt, t.trial, t.digest, t.sitting, t.status, d.verdict,
       coalesce(d.flags, '[]') AS flags, t.started_at, t.node, t.order_index, t.launch, t.workload_hash, d.due, d.sent,
       d.ok, d.failed, d.offered_rate, d.achieved_rate, d.inflight_mean, d.inflight_max, d.window_s, d.cached_share,
       t.cache_method, t.served_model
FROM raw_trial AS t JOIN judged AS j ON j.trial = t.trial LEFT JOIN derived_trial AS d ON d.trial = t.trial;
CREATE VIEW request AS
SELECT j.sweep, j.cell, j.block, j.attempt, r.trial, r.phase, r.seq, r.request_id,
       r.due_ns / 1e6 AS due_ms, r.sent_ns / 1e6 AS sent_ms, r.written_ns / 1e6 AS written_ms,
       r.queue_ns / 1e6 AS queue_ms, r.dial_ns / 1e6 AS dial_ms, r.conn_new, r.ttfb_ns / 1e6 AS ttfb_ms,
       r.first_token_ns / 1e6 AS ttft_ms, (r.sent_ns - r.due_ns + r.first_token_ns) / 1e6 AS ttft_due_ms,
       r.answer_ns / 1e6 AS answer_ms,
       CASE WHEN r.output_tokens >= 2
            THEN CAST(r.last_token_ns - r.first_token_ns AS REAL) / (r.output_tokens - 1) / 1e6 END AS tpot_ms,
       r.last_token_ns / 1e6 AS e2e_ms, (r.sent_ns - r.due_ns + r.last_token_ns) / 1e6 AS e2e_due_ms,
       r.end_ns / 1e6 AS end_ms, r.server_queue_ns / 1e6 AS server_queue_ms, r.input_asked, r.input_tokens,
       r.input_source, r.output_asked, r.output_tokens, r.output_source, r.first_tokens, r.cached_tokens,
       r.reasoning_tokens, r.chunks, r.status, r.error, r.error_message, r.http_status,
       r.retry_after_ns / 1e9 AS retry_after_s, r.finish_reason, r.response_model,
       CASE
         WHEN r.phase <> 'measure' OR j.has_slo IS NOT 1 THEN NULL
         WHEN r.status <> 'ok' THEN 0
         ELSE (j.slo_ttft_ns IS NULL
               OR coalesce(iif(j.from_due, r.sent_ns - r.due_ns, 0) + r.first_token_ns <= j.slo_ttft_ns, 0))
          AND (j.slo_e2e_ns IS NULL
               OR coalesce(iif(j.from_due, r.sent_ns - r.due_ns, 0) + r.last_token_ns <= j.slo_e2e_ns, 0))
          AND (j.slo_tpot_ns IS NULL
               OR coalesce(r.output_tokens < 2
                           OR r.last_token_ns - r.first_token_ns <= j.slo_tpot_ns * (r.output_tokens - 1), 0))
       END AS met,
       r.marks
FROM judged AS j JOIN raw_request AS r ON r.trial = j.trial;
CREATE VIEW latency AS
SELECT sweep, cell, block, phase, metric, n, error_share, mean, sd, min, p50, p90, p95, p99, max, blocks, left_out,
       verdict, flags
FROM derived_latency;
CREATE VIEW goodput AS
SELECT sweep, cell, block, due, ok, failed, met, attainment, window_s, request_rate, input_rate, output_rate,
       goodput_req_s, goodput_tok_s, goodput_tok_s_gpu, blocks, left_out, moved, verdict, flags
FROM derived_goodput;
CREATE VIEW variance AS
SELECT sweep, cell, metric, blocks, estimate, estimator, sd, cv, ci_low, ci_high, ci_method, moved, verdict, flags
FROM derived_variance;
CREATE VIEW comparison AS
SELECT sweep, cell, reference, factor, metric, blocks, ratio, ci_low, ci_high, p, p_holm, margin, test, outcome, moved,
       flags
FROM derived_comparison;
CREATE VIEW launch AS
SELECT sweep, launch, ordinal, target, node, nullif(command, '[]') AS command, started_at, port_ns / 1e6 AS port_ms,
       ready_ns / 1e6 AS ready_ms, first_token_ns / 1e6 AS first_token_ms, stopped_at, exit_code, observed, log
FROM raw_launch;
CREATE VIEW answer AS
SELECT j.sweep, j.cell, j.block, j.attempt, a.trial, a.seq, a.text
FROM judged AS j JOIN raw_answer AS a ON a.trial = j.trial;
CREATE VIEW capacity AS
SELECT sweep, search, cell, block, rate, attainment, ci_low, ci_high, probes, verdict, flags FROM derived_capacity;
CREATE VIEW quality AS
SELECT sweep, cell, dataset, metric, n, score, ci_low, ci_high, reference, margin, outcome FROM derived_quality;
CREATE VIEW flag AS
SELECT sweep, cell, block, code, severity, detail FROM derived_flag;
CREATE VIEW observation AS
SELECT trial, at_ns / 1e6 AS at_ms, source, key, json_extract(value, '$') AS value FROM raw_observation;
CREATE VIEW sample AS
SELECT trial, at_ns / 1e6 AS at_ms, source, metric, value FROM raw_sample;
CREATE VIEW provenance AS
SELECT s.sweep, p.key, p.value
FROM (SELECT sweep, max(sitting) AS sitting FROM raw_sitting GROUP BY sweep) AS s
JOIN raw_provenance AS p ON p.sitting = s.sitting;
CREATE VIEW sitting AS
SELECT sweep, sitting, started_at, argv, version, revision, host, fresh FROM raw_sitting;
COMMIT;
PRAGMA application_id=1398228304;
PRAGMA user_version=1;
