-- Trials that somebody took out of the tables (excluded 1) or put back (0), and why. The last word on a trial counts;
-- the trial itself stays as it is.
CREATE TABLE raw_exclusion (
  exclusion INTEGER PRIMARY KEY,
  trial     INTEGER NOT NULL REFERENCES raw_trial (trial),
  excluded  INTEGER NOT NULL,
  reason    TEXT NOT NULL,
  at        TEXT NOT NULL
) STRICT;
CREATE INDEX raw_exclusion_trial ON raw_exclusion (trial);

CREATE TRIGGER raw_exclusion_update BEFORE UPDATE ON raw_exclusion BEGIN SELECT RAISE(ABORT, 'raw_exclusion is append-only'); END;
CREATE TRIGGER raw_exclusion_delete BEFORE DELETE ON raw_exclusion BEGIN SELECT RAISE(ABORT, 'raw_exclusion is append-only'); END;
