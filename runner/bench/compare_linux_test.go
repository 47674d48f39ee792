package bench

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// compareAll runs every pattern with both clients in turn and prints how they compare.
func compareAll(ctx context.Context, w io.Writer) error {
	fmt.Fprintln(w, machine())
	var rows []row
	for _, p := range patterns() {
		if !wanted(p.Name) {
			continue
		}
		runs, err := inTurn(ctx, p.Name, p.rounds(), func(client string) (figures, error) { return runPattern(client, p, profileOf(client, p)) })
		if err != nil {
			return err
		}
		rows = append(rows, patternRows(p, runs)...)
	}
	for _, add := range []func(context.Context) ([]row, error){steadyRows, idleRows, lateRows} {
		more, err := add(ctx)
		if err != nil {
			return err
		}
		rows = append(rows, more...)
	}
	if err := printRows(w, rows); err != nil {
		return err
	}
	fmt.Fprintln(w, machine())
	if *peersFlag == "" {
		return nil
	}
	return comparePeers(ctx, w)
}

// inTurn runs both clients in so many rounds, one after the other, and the other way round in every second round. The
// runs come by client.
func inTurn(ctx context.Context, name string, rounds int, run func(client string) (figures, error)) (map[string][]figures, error) {
	runs := map[string][]figures{}
	for round := range rounds {
		clients := [2]string{"raw", "ours"}
		if round%2 == 1 {
			clients = [2]string{"ours", "raw"}
		}
		for _, client := range clients {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			fmt.Fprintf(os.Stderr, "bench: %s, round %d of %d, %s\n", name, round+1, rounds, client)
			f, err := run(client)
			if err != nil {
				return nil, err
			}
			runs[client] = append(runs[client], f)
		}
	}
	return runs, nil
}

func profileOf(client string, p pattern) string {
	if *profileFlag == "" || client != "ours" {
		return ""
	}
	return filepath.Join(*profileFlag, p.Name+".pprof")
}

// wanted says whether a pattern was asked for.
func wanted(name string) bool {
	return *onlyFlag == "" || slices.Contains(strings.Split(*onlyFlag, ","), name)
}

// steadyWindow is how long this client reads at the paced rate to show that nothing is allocated and nothing collected.
const steadyWindow = 60 * time.Second

func steadyRows(ctx context.Context) ([]row, error) {
	if !wanted("steady") {
		return nil, ctx.Err()
	}
	fmt.Fprintf(os.Stderr, "bench: steady, %s\n", steadyWindow)
	p := pattern{Name: "steady", Streams: 200, Inner: true}
	p.Timing = paced(int(steadyWindow / (20 * time.Millisecond)))
	f, err := runPattern("ours", p, "")
	if err != nil {
		return nil, err
	}
	return []row{
		{pattern: "steady", figure: "allocated per event", unit: "B", ours: []float64{f.BytesPerEvent}, goal: 0, absolute: true},
		{pattern: "steady", figure: "collections in " + steadyWindow.String(), ours: []float64{f.Collections}, goal: 0, absolute: true},
	}, nil
}

func idleRows(ctx context.Context) ([]row, error) {
	if !wanted("idle") {
		return nil, ctx.Err()
	}
	runs, err := inTurn(ctx, "idle", *roundsFlag, func(client string) (figures, error) { return runIdle(client, idleStreams) })
	if err != nil {
		return nil, err
	}
	r := newRow("idle", "memory per stream of "+digits(idleStreams), "KB", runs, func(f figures) float64 { return f.MemoryKB })
	r.absolute, r.goal, r.stretch = true, 37, 15
	return []row{r}, nil
}

func lateRows(ctx context.Context) ([]row, error) {
	if !wanted("lateness") {
		return nil, ctx.Err()
	}
	var all []map[string]lateFigures
	for round := range *roundsFlag {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		fmt.Fprintf(os.Stderr, "bench: lateness, round %d of %d\n", round+1, *roundsFlag)
		found, err := compareLateness()
		if err != nil {
			return nil, err
		}
		all = append(all, found)
	}
	var rows []row
	for _, kind := range lateKinds[1:] {
		rows = append(rows, lateRow(all, kind, "p50", func(f lateFigures) float64 { return f.p50US }),
			lateRow(all, kind, "p99", func(f lateFigures) float64 { return f.p99US }),
			lateRow(all, kind, "processor", func(f lateFigures) float64 { return f.cpuPercent }))
	}
	rows[0].goal = 1.5
	return rows, nil
}

func lateRow(all []map[string]lateFigures, kind, what string, of func(lateFigures) float64) row {
	r := row{pattern: "lateness", figure: kind + ", " + what, unit: "µs", goal: math.NaN()}
	if what == "processor" {
		r.unit = "%"
	}
	for _, found := range all {
		r.raw, r.ours = append(r.raw, of(found[lateThread])), append(r.ours, of(found[kind]))
	}
	return r
}
