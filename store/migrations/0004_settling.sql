-- Where a trial's time to first token settled: one row a block under each name of its cell.
CREATE TABLE derived_settling (
  sweep            TEXT NOT NULL,
  analysis_version INTEGER NOT NULL,
  cell             TEXT NOT NULL,
  block            INTEGER,
  trial            INTEGER NOT NULL REFERENCES raw_trial (trial),
  n                INTEGER NOT NULL,
  warmup_n         INTEGER NOT NULL,
  cut_n            INTEGER,
  found_ms         REAL,
  warmup_ms        REAL,
  settled          INTEGER,
  ttft_ms          REAL,
  ttft_cut_ms      REAL
) STRICT;
CREATE INDEX derived_settling_cell ON derived_settling (sweep, cell, block);
