package store

import "time"

// SetLockLimit sets how long another program's lock is waited for.
func (db *DB) SetLockLimit(d time.Duration) { db.lockLimit = d }

// SetWarnSize sets the size of the write-ahead log from which on it is worth a word, in bytes.
func (db *DB) SetWarnSize(bytes int64) { db.warnSize = bytes }
