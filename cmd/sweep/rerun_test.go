package main

import (
	"bytes"
	"database/sql"
	"errors"
	"maps"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/inference-sweep/sweep/runner/sim"
	"github.com/inference-sweep/sweep/store"
)

// TestRerunSendsTheSameBytes: a trial that is run again from the record sends the bodies that it sent, byte for byte, and
// a trial of a new run sends none of them.
func TestRerunSendsTheSameBytes(t *testing.T) {
	var mu sync.Mutex
	bodies := map[string][]string{} // by request id; a request that was cut may still come in after its trial
	seen := func() map[string][]string {
		mu.Lock()
		defer mu.Unlock()
		return maps.Clone(bodies)
	}
	server := oddServer(t, sim.Default(), func(_ http.ResponseWriter, r *http.Request, body string) bool {
		if id := r.Header.Get("X-Request-Id"); id != "" {
			mu.Lock()
			bodies[id] = append(bodies[id], body)
			mu.Unlock()
		}
		return false
	})
	database := filepath.Join(t.TempDir(), "s.db")
	do := func(words ...string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		if code := run(append([]string{"--db", database}, words...), strings.NewReader(""), &stdout, &stderr); code != exitOK {
			t.Fatalf("%v: exit code %d\n%s", words, code, &stderr)
		}
	}
	definition := definitionAt(t, server, "")
	do("run", definition, "--blocks", "1", "--only", "baseline", "--progress", "none")
	do("rerun", "1", "--progress", "none")
	twice := 0
	known := seen()
	for id, sent := range known {
		if len(sent) == 2 {
			twice++
			if sent[0] != sent[1] {
				t.Errorf("request %s:\n%s\nand again:\n%s", id, sent[0], sent[1])
			}
		}
	}
	if twice < 20 { // the window's; how many of the tail are sent is a matter of time
		t.Errorf("%d requests were sent again", twice)
	}
	do("run", definition, "--blocks", "1", "--only", "baseline", "--progress", "none", "--fresh")
	fresh := 0
	for id := range seen() {
		if known[id] == nil {
			fresh++
		}
	}
	if fresh < 20 {
		t.Errorf("a fresh run has %d request ids of its own", fresh)
	}
	db, err := store.Open(database, store.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	one, err := db.Trial(1)
	if err != nil {
		t.Fatal(err)
	}
	two, err := db.Trial(2)
	if err != nil || two.Attempt != 2 || two.Key != one.Key || two.Nonce != one.Nonce || two.WorkloadHash != one.WorkloadHash || two.Sitting == one.Sitting {
		t.Errorf("%v: the rerun is\n%+v, of\n%+v", err, two, one)
	}
	readmeCounts(t, database)
}

// readmeCounts checks that the README's way to the requests behind the tables leads to as many as the tables have.
func readmeCounts(t *testing.T, database string) {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, query, _ := strings.Cut(string(readme), "-- the requests behind the tables")
	_, query, _ = strings.Cut(query, "\n")
	query, _, found := strings.Cut(query, "```")
	if !found {
		t.Fatal("the README has no such query")
	}
	db, err := sql.Open("sqlite", database)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var name, cell string
	var n, want int
	var mean, wantMean sql.NullFloat64
	if err := db.QueryRow(query).Scan(&name, &cell, &n, &mean); err != nil && !errors.Is(err, sql.ErrNoRows) { // a busy machine's trial may be invalid
		t.Fatal(err)
	}
	err = db.QueryRow("SELECT n, mean FROM latency WHERE cell = 'baseline' AND metric = 'ttft' AND phase = 'measure' AND block IS NULL").Scan(&want, &wantMean)
	if err != nil || n != want || math.Abs(mean.Float64-wantMean.Float64) > 1e-6 {
		t.Errorf("%v: %d requests of mean %g ms, the table has %d of %g", err, n, mean.Float64, want, wantMean.Float64)
	}
}
