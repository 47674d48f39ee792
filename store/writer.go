package store

import (
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/inference-sweep/sweep/sweep"
)

// How rows wait and are written.
const (
	batchRows = 500
	batchWait = 250 * time.Millisecond
	queueRows = 1 << 16     // a lock of 10 s at 6,500 rows a second
	queueFull = time.Second // how long a full queue may hold a caller up
)

var errWriterClosed = errors.New("the writer is closed")

// Writer takes rows from many goroutines and writes them in one: a commit every 250 ms or 500 rows. It never drops a
// row: once it cannot write, every method returns the cause, for ever. A row given to it must not be changed after.
type Writer struct {
	db     *DB
	queue  chan entry
	done   chan struct{} // closed when the goroutine has ended
	closed atomic.Bool

	mu  sync.Mutex
	err error
}

// entry is one thing to be written. Exactly one field is set.
type entry struct {
	insert func(*inserts) error
	finish *finish
	stop   bool
}

// finish is a trial's end on its way to the goroutine that writes it.
type finish struct {
	record *sweep.TrialRecord
	derive func() (*sweep.TrialDerived, error)
	reply  chan error
}

// NewWriter starts a writer; it and its goroutine belong to the caller's testing/synctest bubble, if there is one.
func (db *DB) NewWriter() *Writer {
	w := &Writer{db: db, queue: make(chan entry, queueRows), done: make(chan struct{})}
	go w.run()
	return w
}

// Put stores a request of a trial, with its chunk log and, where it has one, its text.
func (w *Writer) Put(trial int64, r *sweep.Request) error {
	return w.send(entry{insert: func(in *inserts) error { return in.putRequest(trial, r) }})
}

// Observe stores a fact beside the requests.
func (w *Writer) Observe(o sweep.Observation) error {
	return w.send(entry{insert: func(in *inserts) error { return in.put("raw_observation", observationColumns(&o)) }})
}

// Sample stores a reading.
func (w *Writer) Sample(s sweep.Sample) error {
	return w.send(entry{insert: func(in *inserts) error { return in.put("raw_sample", sampleColumns(&s)) }})
}

// FinishTrial stores the end of a trial, the rows before it that are not yet written, and what derive makes of them, in
// one transaction that is on the disk when it returns. derive may be nil; it reads through Facts and must not write.
// Where derive fails the trial is finished all the same, without derived rows, and its error is returned.
func (w *Writer) FinishTrial(t *sweep.TrialRecord, derive func() (*sweep.TrialDerived, error)) error {
	f := &finish{record: t, derive: derive, reply: make(chan error, 1)}
	if err := w.send(entry{finish: f}); err != nil {
		return err
	}
	select {
	case err := <-f.reply:
		return err
	case <-w.done:
	}
	select {
	case err := <-f.reply: // written just before the writer ended
		return err
	default:
		return w.cause()
	}
}

// Err is why nothing more can be written, or nil.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Close writes what is waiting and ends the writer. No other method may be running.
func (w *Writer) Close() error {
	if w.closed.CompareAndSwap(false, true) {
		select {
		case w.queue <- entry{stop: true}:
		case <-w.done:
		}
	}
	<-w.done
	return w.Err()
}

func (w *Writer) cause() error {
	if err := w.Err(); err != nil {
		return err
	}
	return errWriterClosed
}

// fail remembers the first cause.
func (w *Writer) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
}

// send hands an entry to the goroutine. It waits only where the queue is full, and not for long: a caller that is held
// up is a load that slows down.
func (w *Writer) send(e entry) error {
	if w.closed.Load() || w.Err() != nil {
		return w.cause()
	}
	select {
	case w.queue <- e:
		return nil
	default:
	}
	timer := time.NewTimer(queueFull)
	defer timer.Stop()
	select {
	case w.queue <- e:
		return nil
	case <-w.done:
	case <-timer.C:
		w.fail(fmt.Errorf("write to %s: %d rows are waiting and none was written for %v", w.db.path, queueRows, queueFull))
	}
	return w.cause()
}

// run writes until it is told to stop or cannot.
func (w *Writer) run() {
	defer close(w.done)
	timer := time.NewTimer(batchWait)
	timer.Stop()
	defer timer.Stop()
	var batch []entry
	for {
		var e entry // without a field set: the time is up
		select {
		case e = <-w.queue:
		case <-timer.C:
		}
		if e.insert != nil {
			batch = append(batch, e)
			if len(batch) == 1 {
				timer.Reset(batchWait)
			}
			if len(batch) < batchRows {
				continue
			}
		}
		err := w.commit(batch, e.finish)
		batch = batch[:0]
		if err != nil {
			w.fail(err)
		}
		if err != nil || e.stop {
			return
		}
	}
}

// commit writes a batch, with the end of a trial where there is one.
func (w *Writer) commit(batch []entry, f *finish) error {
	switch {
	case f != nil:
		return w.finish(batch, f)
	case len(batch) > 0:
		return w.flush(batch)
	}
	return nil
}

// flush commits a batch.
func (w *Writer) flush(batch []entry) error {
	err := w.db.update(ordinary, func(c *sql.Conn) error { return insertBatch(c, batch) })
	if err != nil {
		return w.db.about(fmt.Sprintf("write %d rows", len(batch)), err)
	}
	return nil
}

// finish commits a trial's end with the batch before it, and answers whoever waits for it. What it returns is an error
// of the database; one of the derivation is in the answer alone.
func (w *Writer) finish(batch []entry, f *finish) error {
	var deriveErr error
	err := w.db.update(durable, func(c *sql.Conn) error {
		deriveErr = nil
		if err := insertBatch(c, batch); err != nil {
			return err
		}
		if err := endTrial(c, f.record); err != nil {
			return err
		}
		if f.derive == nil {
			return nil
		}
		deriveErr = w.db.deriveTrial(c, f)
		if endsTransaction(deriveErr) {
			return deriveErr
		}
		return nil
	})
	if err != nil {
		err = w.db.about(fmt.Sprintf("finish trial %d", f.record.ID), err)
		w.fail(err) // before anyone is answered: what follows the answer has to fail as well
		f.reply <- err
		return err
	}
	w.db.checkpoint()
	f.reply <- deriveErr
	return nil
}

// deriveTrial stores what a trial decides alone, all of it or nothing.
func (db *DB) deriveTrial(c *sql.Conn, f *finish) (err error) {
	db.finish.now.Store(&finishingTrial{f.record.ID, c})
	defer db.finish.now.Store(nil)
	d, err := f.derive()
	if err != nil {
		return fmt.Errorf("derive trial %d: %w", f.record.ID, err)
	}
	if d == nil {
		return nil
	}
	if err := db.run("SAVEPOINT derived"); err != nil {
		return err
	}
	if err := putTrialDerived(c, f.record, d); err != nil {
		return errors.Join(fmt.Errorf("store what trial %d decides: %w", f.record.ID, err), db.run("ROLLBACK TO derived"))
	}
	return db.run("RELEASE derived")
}

// inserts are the statements of one batch, prepared as they are needed.
type inserts struct {
	conn     *sql.Conn
	prepared map[string]*sql.Stmt
}

func insertBatch(c *sql.Conn, batch []entry) error {
	in := &inserts{c, map[string]*sql.Stmt{}}
	defer in.close()
	for _, e := range batch {
		if err := e.insert(in); err != nil {
			return err
		}
	}
	return nil
}

func (in *inserts) close() {
	for _, s := range in.prepared {
		s.Close()
	}
}

func (in *inserts) put(table string, columns []column) error {
	insert := in.prepared[table]
	if insert == nil {
		var err error
		if insert, err = in.conn.PrepareContext(background, insertSQL(table, columns)); err != nil {
			return fmt.Errorf("insert into %s: %w", table, err)
		}
		in.prepared[table] = insert
	}
	if _, err := insert.ExecContext(background, values(columns)...); err != nil {
		return fmt.Errorf("insert into %s: %w", table, err)
	}
	return nil
}

func (in *inserts) putRequest(trial int64, r *sweep.Request) error {
	key := column{"trial", integer{&trial}}
	if err := in.put("raw_request", append(requestColumns(r), key)); err != nil {
		return fmt.Errorf("request %d of trial %d: %w", r.Seq, trial, err)
	}
	if r.Text == "" {
		return nil
	}
	return in.put("raw_answer", []column{key, {"seq", integer{&r.Seq}}, {"text", text{&r.Text}}})
}
