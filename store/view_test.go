package store_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/inference-sweep/sweep/store"
	"github.com/inference-sweep/sweep/sweep"
)

// publicViews is the promise made to scripts and notebooks: these columns, in this order.
const publicViews = `
cell(sweep, cell, alias_of, factor, level, baseline, reference, moved, at, digest, target, contract, server)
point(sweep, cell, factor, level)
trial(sweep, cell, block, copy, attempt, trial, digest, sitting, status, verdict, flags, started_at, node, order_index, launch, workload_hash, due, sent, ok, failed, offered_rate, achieved_rate, inflight_mean, inflight_max, window_s, cached_share, cache_method, served_model)
request(sweep, cell, block, attempt, trial, phase, seq, request_id, due_ms, sent_ms, written_ms, queue_ms, dial_ms, conn_new, ttfb_ms, ttft_ms, ttft_due_ms, answer_ms, tpot_ms, e2e_ms, e2e_due_ms, end_ms, server_queue_ms, input_asked, input_tokens, input_source, output_asked, output_tokens, output_source, first_tokens, cached_tokens, reasoning_tokens, chunks, status, error, error_message, http_status, retry_after_s, finish_reason, response_model, met, marks)
latency(sweep, cell, block, phase, metric, n, error_share, mean, sd, min, p50, p90, p95, p99, max, blocks, left_out, verdict, flags)
settling(sweep, cell, block, copy, attempt, trial, n, warmup_n, cut_n, found_ms, warmup_ms, settled, ttft_ms, ttft_cut_ms)
goodput(sweep, cell, block, due, ok, failed, met, attainment, window_s, request_rate, input_rate, output_rate, goodput_req_s, goodput_tok_s, goodput_tok_s_gpu, blocks, left_out, moved, verdict, flags)
variance(sweep, cell, metric, blocks, estimate, estimator, sd, cv, ci_low, ci_high, ci_method, moved, verdict, flags)
comparison(sweep, cell, reference, factor, metric, blocks, ratio, ci_low, ci_high, p, p_holm, margin, test, outcome, moved, flags)
launch(sweep, launch, ordinal, target, node, command, started_at, port_ms, ready_ms, first_token_ms, stopped_at, exit_code, observed, log)
answer(sweep, cell, block, attempt, trial, seq, text)
capacity(sweep, search, cell, block, rate, attainment, ci_low, ci_high, probes, verdict, flags)
quality(sweep, cell, dataset, metric, n, score, ci_low, ci_high, reference, margin, outcome)
flag(sweep, cell, block, code, severity, detail)
observation(trial, at_ms, source, key, value)
sample(trial, at_ms, source, metric, value)
provenance(sweep, key, value)
sitting(sweep, sitting, started_at, argv, version, revision, host, fresh)
exclusion(sweep, cell, block, attempt, trial, excluded, reason, at)
`

func TestViewsHaveTheirColumns(t *testing.T) {
	db, _ := begun(t)
	var seen []string
	for line := range strings.Lines(strings.TrimSpace(publicViews)) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), "(")
		seen = append(seen, name)
		columns, _, err := db.View(name, "")
		if err != nil {
			t.Errorf("view %s: %v", name, err)
			continue
		}
		if got, want := strings.Join(columns, ", "), strings.TrimSuffix(rest, ")"); got != want {
			t.Errorf("view %s has\n%s, want\n%s", name, got, want)
		}
	}
	if got, want := strings.Join(store.Views, " "), strings.Join(seen, " "); got != want {
		t.Errorf("the views are %s, want %s", got, want)
	}
	if _, _, err := db.View("raw_trial", ""); err == nil {
		t.Error("a raw table is served as a view")
	}
}

// filled is a closed database with every kind of row, and its path.
func filled(t testing.TB) string {
	t.Helper()
	path := t.TempDir() + "/a b?#%.db" // a name that a URI has to escape
	db, err := store.Open(path, store.Options{})
	must(t, err)
	sitting := begin(t, db, testPlan())
	launch := &sweep.Launch{Sweep: "s", Sitting: sitting, Target: "sim", Command: []string{"sweep", "sim"}, StartedAt: testTime,
		PortNS: 1500000, ReadyNS: sweep.None, FirstTokenNS: sweep.None, ExitCode: sweep.None, Observed: map[string]any{"gpus": int64(0)}}
	must(t, db.StartLaunch(launch))
	w := db.NewWriter()
	for _, c := range []struct {
		cell, digest string
		copy         int
	}{{"baseline", digestBase, 1}, {"baseline#2", digestBase, 2}, {"mode=closed", digestClosed, 1}, {"old=1", "sha256:old", 1}} {
		trial := startTrial(t, db, sitting, c.cell, c.digest, 1, c.copy)
		must(t, w.Put(trial.ID, okRequest(0)))
		must(t, w.Put(trial.ID, failedRequest(1)))
		must(t, w.Observe(sweep.Observation{Trial: trial.ID, AtNS: 2500000, Source: "client", Key: "gpu", Value: "H100"}))
		must(t, w.Sample(sweep.Sample{Trial: trial.ID, AtNS: 2500000, Source: "host", Metric: "cpu", Value: 0.5}))
		trial.Status = sweep.StatusDone
		must(t, w.FinishTrial(trial, nil))
	}
	must(t, w.Close())
	must(t, db.PutDerived("s", fullDerived(1, 3)))
	must(t, db.Close())
	return path
}

// ask runs one query that answers with one row of one column.
func ask(t testing.TB, path, query string) string {
	t.Helper()
	pool, err := sql.Open("sqlite", path) // not a URI: taken as it is up to a question mark
	if strings.ContainsAny(path, "?#%") {
		t.Fatalf("cannot ask %s", path)
	}
	must(t, err)
	defer pool.Close()
	var answer sql.NullString
	if err := pool.QueryRow(query).Scan(&answer); errors.Is(err, sql.ErrNoRows) {
		return "no row"
	} else if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	if !answer.Valid {
		return "NULL"
	}
	return answer.String
}

func TestViewValues(t *testing.T) {
	path := t.TempDir() + "/v.db"
	must(t, exec.Command("cp", filled(t), path).Run())
	for query, want := range map[string]string{
		"SELECT group_concat(cell, ' ') FROM cell":                                             "baseline rate=8 mode=closed",
		"SELECT level FROM cell WHERE cell = 'rate=8'":                                         "8.0",
		"SELECT level FROM cell WHERE cell = 'mode=closed'":                                    `"closed"`,
		"SELECT level FROM cell WHERE baseline":                                                "NULL",
		"SELECT alias_of FROM cell WHERE cell = 'rate=8'":                                      "baseline",
		"SELECT reference || moved FROM cell WHERE cell = 'mode=closed'":                       "baseline2",
		"SELECT json_extract(contract, '$.slo.ttft') FROM cell WHERE cell = 'rate=8'":          "1s",
		"SELECT at FROM cell WHERE cell = 'rate=8'":                                            `{"rate":8.0,"note":"a<b"}`,
		"SELECT group_concat(factor || '=' || level, ' ') FROM point WHERE cell = 'rate=8'":    `rate=8.0 note="a<b"`,
		"SELECT group_concat(cell || copy, ' ') FROM trial":                                    "baseline1 baseline#22 mode=closed1 old=11",
		"SELECT started_at FROM trial LIMIT 1":                                                 "2026-03-01T12:30:15.123456Z",
		"SELECT flags FROM trial WHERE trial = 1":                                              `["late-sends"]`,
		"SELECT flags || coalesce(verdict, ' none') FROM trial WHERE trial = 2":                "[] none",
		"SELECT due_ms || ' ' || sent_ms || ' ' || ttft_ms || ' ' || ttft_due_ms FROM request": "0.0 1.0 30.0 31.0",
		"SELECT tpot_ms || ' ' || e2e_ms || ' ' || e2e_due_ms || ' ' || end_ms FROM request":   "9.0 120.0 121.0 130.0",
		"SELECT coalesce(sent_ms, ttft_ms, ttft_due_ms, tpot_ms, e2e_due_ms, http_status, chunks, input_source, finish_reason) FROM request WHERE seq = 1": "NULL",
		"SELECT error FROM request WHERE seq = 0":                                                                                       "NULL",
		"SELECT marks FROM request WHERE seq = 0":                                                                                       `["no-done","ttft-by-usage"]`,
		"SELECT group_concat(coalesce(met, '-'), '') FROM request":                                                                      "1010----",
		"SELECT command || observed || port_ms FROM launch":                                                                             `["sweep","sim"]{"gpus":0}1.5`,
		"SELECT coalesce(ready_ms, exit_code, stopped_at, log, node) FROM launch":                                                       "NULL",
		"SELECT group_concat(text, ';') FROM answer WHERE cell = 'baseline'":                                                            "an answer",
		"SELECT at_ms || ' ' || key || ' ' || value FROM observation LIMIT 1":                                                           "2.5 gpu H100",
		"SELECT at_ms || ' ' || metric || ' ' || value FROM sample LIMIT 1":                                                             "2.5 cpu 0.5",
		"SELECT value FROM provenance WHERE key = 'argv'":                                                                               "sweep run s.cue",
		"SELECT count(*) FROM latency WHERE block IS NULL":                                                                              "1",
		"SELECT copy || ' ' || attempt || ' ' || trial || ' ' || cut_n || ' ' || found_ms || ' ' || settled FROM settling WHERE n = 90": "1 1 1 45 1.5 0",
		"SELECT coalesce(cut_n, found_ms, settled, ttft_ms, ttft_cut_ms) FROM settling WHERE n = 9":                                     "NULL",
		"SELECT count(*) FROM flag WHERE cell IS NULL AND block IS NULL":                                                                "1",
		"SELECT (SELECT count(*) FROM capacity) + (SELECT count(*) FROM quality)":                                                       "0",
		"PRAGMA journal_mode":    "delete",
		"PRAGMA application_id":  fmt.Sprint(0x53574550),
		"PRAGMA integrity_check": "ok",
	} {
		if got := ask(t, path, query); got != want {
			t.Errorf("%s\n\tis %s, want %s", query, got, want)
		}
	}
}

// A request is judged against the bars of its cell in the current plan: from due where the loop is open, from sent
// where it is closed.
func TestMet(t *testing.T) {
	db, sitting := begun(t)
	const ms = int64(1e6)
	type change func(*sweep.Request)
	cases := []struct {
		name   string
		change change
		want   any
	}{
		{"every bar met", func(*sweep.Request) {}, int64(1)},
		{"first token late by one nanosecond, counted from due", func(r *sweep.Request) { r.FirstTokenNS = 100*ms - (r.SentNS - r.DueNS) + 1 }, int64(0)},
		{"first token just in time, counted from due", func(r *sweep.Request) { r.FirstTokenNS = 100*ms - (r.SentNS - r.DueNS) }, int64(1)},
		{"sent late", func(r *sweep.Request) { r.SentNS += 80 * ms }, int64(0)},
		{"no first token", func(r *sweep.Request) { r.FirstTokenNS = sweep.None }, int64(0)},
		{"tokens at the bar", func(r *sweep.Request) { r.LastTokenNS = r.FirstTokenNS + 100*ms }, int64(1)},
		{"tokens over the bar", func(r *sweep.Request) { r.LastTokenNS = r.FirstTokenNS + 100*ms + 1 }, int64(0)},
		{"an answer of one token has no TPOT to miss", func(r *sweep.Request) { r.OutputTokens, r.LastTokenNS = 1, r.FirstTokenNS }, int64(1)},
		{"nobody counted the tokens", func(r *sweep.Request) { r.OutputTokens = sweep.None }, int64(0)},
		{"ended late", func(r *sweep.Request) { r.OutputTokens, r.LastTokenNS = 1000, 1000*ms }, int64(0)},
		{"no end", func(r *sweep.Request) { r.LastTokenNS = sweep.None }, int64(0)},
		{"failed", func(r *sweep.Request) { r.Status = sweep.RequestFailed }, int64(0)},
		{"of the warm-up", func(r *sweep.Request) { r.Phase = sweep.PhaseWarmup }, nil},
		{"of the tail, failed", func(r *sweep.Request) { r.Phase, r.Status = sweep.PhaseTail, sweep.RequestFailed }, nil},
	}
	w := db.NewWriter()
	trial := startTrial(t, db, sitting, "baseline", digestBase, 1, 1)
	for i, c := range cases {
		r := okRequest(int64(i))
		c.change(r)
		must(t, w.Put(trial.ID, r))
	}
	must(t, w.Close())
	columns, rows, err := db.View("request", "s")
	must(t, err)
	met := indexOf(columns, "met")
	i := 0
	for row, err := range rows {
		must(t, err)
		if row[met] != cases[i].want {
			t.Errorf("%s: met is %v, want %v", cases[i].name, row[met], cases[i].want)
		}
		i++
	}
	if i != len(cases) {
		t.Errorf("%d rows, want %d", i, len(cases))
	}
}

func TestMetByLoad(t *testing.T) {
	for load, want := range map[string]int64{`{"open":{"rate":8,"arrival":"poisson"}}`: 0, `{"burst":{}}`: 0, `{"closed":{"clients":4}}`: 1} {
		plan := testPlan()
		plan.Cells = plan.Cells[:1]
		plan.Cells[0].Cell = testCell("baseline", "null", "null", load, `,"slo":{"ttft":"50ms","attainment":0.9}`)
		db := open(t, t.TempDir()+"/s.db", store.Options{})
		trial := startTrial(t, db, begin(t, db, plan), "baseline", digestBase, 1, 1)
		late := okRequest(0)
		late.SentNS = 40e6 // and its first token 30 ms later
		w := db.NewWriter()
		must(t, w.Put(trial.ID, late))
		must(t, w.Close())
		columns, rows, err := db.View("request", "")
		must(t, err)
		for row := range rows {
			if got := row[indexOf(columns, "met")]; got != want {
				t.Errorf("load %s: met is %v, want %d", load, got, want)
			}
		}
	}
}

// A digest of the current plan goes by its first name there and is judged by that cell's bars; one that left the plan
// keeps the name and the bars that it was recorded with.
func TestNamesFollowTheCurrentPlan(t *testing.T) {
	db, sitting := begun(t)
	w := db.NewWriter()
	for _, c := range [][2]string{{"baseline", digestBase}, {"mode=closed", digestClosed}} {
		must(t, w.Put(startTrial(t, db, sitting, c[0], c[1], 1, 1).ID, okRequest(0)))
	}
	must(t, w.Close())
	view := func() (text string) {
		columns, rows, err := db.View("request", "s")
		must(t, err)
		for row := range rows {
			text += fmt.Sprint(row[indexOf(columns, "cell")], "/", row[indexOf(columns, "met")], " ")
		}
		return text
	}
	if got, want := view(), "baseline/1 mode=closed/<nil> "; got != want {
		t.Errorf("at first %s, want %s", got, want)
	}
	next := testPlan() // the old baseline is now a level, with a bar that it misses; the closed cell is gone
	next.Cells[0].Digest = "sha256:new"
	next.Cells[1] = sweep.PlanCell{Digest: digestBase, Cell: testCell("rate=9", `"rate"`, "9", `{"open":{"rate":9,"arrival":"poisson"}}`, `,"slo":{"e2e":"1ms","attainment":0.9}`)}
	next.Cells = next.Cells[:2]
	begin(t, db, next)
	if got, want := view(), "rate=9/0 mode=closed/<nil> "; got != want {
		t.Errorf("under the next plan %s, want %s", got, want)
	}
}

func indexOf(list []string, name string) int {
	for i, s := range list {
		if s == name {
			return i
		}
	}
	return -1
}

// What others open the file with knows none of our code.
func TestOtherPrograms(t *testing.T) {
	path := filled(t)
	t.Run("sqlite3", func(t *testing.T) {
		shell, err := exec.LookPath("sqlite3")
		if err != nil {
			t.Skip("there is no sqlite3 shell here")
		}
		for _, view := range store.Views {
			if out, err := exec.Command(shell, "-readonly", path, "SELECT count(*) FROM (SELECT * FROM "+view+")").CombinedOutput(); err != nil {
				t.Errorf("view %s: %v: %s", view, err, out)
			}
		}
		out, err := exec.Command(shell, "-readonly", path, "SELECT group_concat(coalesce(met, '-'), '') FROM request; PRAGMA integrity_check").CombinedOutput()
		if want := "1010----\nok\n"; err != nil || string(out) != want {
			t.Errorf("the shell says %q, %v; want %q", out, err, want)
		}
	})
	t.Run("python", func(t *testing.T) {
		const script = `
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
for view in sys.argv[2:]:
    db.execute("SELECT * FROM " + view).fetchall()
print(type(db.execute("SELECT ttft_ms FROM request").fetchone()[0]).__name__)`
		python, err := exec.LookPath("python3")
		if err != nil {
			t.Skip("there is no python3 here")
		}
		out, err := exec.Command(python, append([]string{"-c", script, path}, store.Views...)...).CombinedOutput()
		if strings.Contains(string(out), "No module named") {
			t.Skip("this python3 has no sqlite3 module")
		}
		if err != nil || string(out) != "float\n" {
			t.Errorf("python says %q, %v", out, err)
		}
	})
}

func TestRawTablesAreAppendOnly(t *testing.T) {
	path := t.TempDir() + "/v.db"
	must(t, exec.Command("cp", filled(t), path).Run())
	pool, err := sql.Open("sqlite", path)
	must(t, err)
	defer pool.Close()
	for _, statement := range []string{
		"DELETE FROM raw_request", "UPDATE raw_request SET status = 'ok'", "DELETE FROM raw_sample", "UPDATE raw_sample SET value = 1",
		"DELETE FROM raw_observation", "UPDATE raw_observation SET value = '1'", "DELETE FROM raw_trial",
	} {
		if _, err := pool.Exec(statement); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s: %v, want a refusal", statement, err)
		}
	}
}
