-- What is remembered. Raw tables hold facts and only grow; derived tables are made from them and can be made again.
-- Times are integer nanoseconds; NULL is "does not exist". What the public may read are the views.

-- A sweep by its name: the plan of its last run, the first sitting that counts (the last one that began anew), and a
-- counter that moves with every change of what its derived rows are made from.
CREATE TABLE raw_sweep (
  sweep   TEXT PRIMARY KEY,
  plan    INTEGER NOT NULL,
  since   INTEGER NOT NULL,
  changes INTEGER NOT NULL
) STRICT;

-- A plan as it was run, whole, as JSON.
CREATE TABLE raw_plan (
  plan  INTEGER PRIMARY KEY,
  sweep TEXT NOT NULL,
  body  TEXT NOT NULL
) STRICT;

-- The cells of a plan, in its order. The bars of the SLO stand beside them as numbers, so that plain SQL can judge a
-- request.
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
CREATE INDEX raw_cell_digest ON raw_cell (plan, digest);

-- One uninterrupted pass.
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
CREATE INDEX raw_sitting_sweep ON raw_sitting (sweep);

CREATE TABLE raw_provenance (
  sitting INTEGER NOT NULL REFERENCES raw_sitting (sitting),
  key     TEXT NOT NULL,
  value   TEXT NOT NULL,
  PRIMARY KEY (sitting, key)
) STRICT;

-- One life of a server.
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
CREATE INDEX raw_launch_sweep ON raw_launch (sweep);

-- One attempt at a trial, under the cell name that it was recorded with.
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
CREATE INDEX raw_trial_status ON raw_trial (status);

-- One request, exactly one a due time. chunk_log is the blob of its output events.
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

-- The text of an answer, where it is kept.
CREATE TABLE raw_answer (
  trial INTEGER NOT NULL REFERENCES raw_trial (trial),
  seq   INTEGER NOT NULL,
  text  TEXT NOT NULL,
  UNIQUE (trial, seq)
) STRICT;

-- value is JSON: a float always has a point or an exponent, an integer never.
CREATE TABLE raw_observation (
  trial  INTEGER NOT NULL REFERENCES raw_trial (trial),
  at_ns  INTEGER,
  source TEXT NOT NULL,
  key    TEXT NOT NULL,
  value  TEXT NOT NULL
) STRICT;
CREATE INDEX raw_observation_trial ON raw_observation (trial);

CREATE TABLE raw_sample (
  trial  INTEGER NOT NULL REFERENCES raw_trial (trial),
  at_ns  INTEGER,
  source TEXT NOT NULL,
  metric TEXT NOT NULL,
  value  REAL
) STRICT;
CREATE INDEX raw_sample_trial ON raw_sample (trial);

CREATE TRIGGER raw_request_update BEFORE UPDATE ON raw_request BEGIN SELECT RAISE(ABORT, 'raw_request is append-only'); END;
CREATE TRIGGER raw_request_delete BEFORE DELETE ON raw_request BEGIN SELECT RAISE(ABORT, 'raw_request is append-only'); END;
CREATE TRIGGER raw_observation_update BEFORE UPDATE ON raw_observation BEGIN SELECT RAISE(ABORT, 'raw_observation is append-only'); END;
CREATE TRIGGER raw_observation_delete BEFORE DELETE ON raw_observation BEGIN SELECT RAISE(ABORT, 'raw_observation is append-only'); END;
CREATE TRIGGER raw_sample_update BEFORE UPDATE ON raw_sample BEGIN SELECT RAISE(ABORT, 'raw_sample is append-only'); END;
CREATE TRIGGER raw_sample_delete BEFORE DELETE ON raw_sample BEGIN SELECT RAISE(ABORT, 'raw_sample is append-only'); END;
CREATE TRIGGER raw_trial_delete BEFORE DELETE ON raw_trial BEGIN SELECT RAISE(ABORT, 'raw_trial is append-only'); END;

-- Derived rows. listed says that the row belongs to what was derived last; the rows of trials that left the plan stay
-- as they were.
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
CREATE INDEX derived_trial_sweep ON derived_trial (sweep);

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
CREATE INDEX derived_latency_cell ON derived_latency (sweep, cell, block);

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
CREATE INDEX derived_goodput_cell ON derived_goodput (sweep, cell, block);

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
CREATE INDEX derived_variance_cell ON derived_variance (sweep, cell);

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
CREATE INDEX derived_comparison_cell ON derived_comparison (sweep, cell);

CREATE TABLE derived_flag (
  sweep            TEXT NOT NULL,
  analysis_version INTEGER NOT NULL,
  cell             TEXT,
  block            INTEGER,
  code             TEXT NOT NULL,
  severity         TEXT NOT NULL,
  detail           TEXT NOT NULL
) STRICT;
CREATE INDEX derived_flag_cell ON derived_flag (sweep, cell, block);

-- Places reserved: nothing fills these two yet.
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

-- What a sweep's derived rows were made from: raw_sweep.changes at that time, and by which analysis.
CREATE TABLE derived_state (
  sweep            TEXT PRIMARY KEY,
  analysis_version INTEGER NOT NULL,
  changes          INTEGER NOT NULL
) STRICT;
