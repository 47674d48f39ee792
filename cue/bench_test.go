package cue

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// sweepOf is a definition of n cells: two factors and their grid are about a third of it, the rest one long factor.
func sweepOf(tb testing.TB, n int) string {
	tb.Helper()
	text, err := os.ReadFile("../experiments/batch.cue")
	if err != nil {
		tb.Fatal(err)
	}
	crossed := max(2, n/15)
	long := n - 1 - 4 - (crossed - 1) - 5*crossed
	edited := strings.NewReplacer(
		`import "github.com`, "import \"list\"\nimport \"github.com",
		"batch: {baseline: 16, levels: [4, 8, 32]}", "batch: {baseline: 16, levels: [4, 8, 32, 64]}",
		"rate: {baseline: 100, levels: [50, 150, 200]}", fmt.Sprintf(`rate: {baseline: 0.5, levels: [for i in list.Range(0, %d, 1) {i + 1}]}
		length: {baseline: 128, levels: [for i in list.Range(0, %d, 1) {i + 129}]}`, crossed-1, long),
		"#cell: {", "grids: both: of: [\"rate\", \"batch\"]\n\t#cell: {",
		"fixed: 128", "fixed: at.length",
	).Replace(string(text))
	path := filepath.Join(tb.TempDir(), "batch.cue")
	if err := os.WriteFile(path, []byte(edited), 0o666); err != nil {
		tb.Fatal(err)
	}
	return path
}

func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{27, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			path := sweepOf(b, n)
			b.ReportAllocs()
			for b.Loop() {
				definitions, err := Load(path, Options{})
				if err != nil {
					b.Fatal(err)
				}
				if got := len(definitions[0].Cells); got != n {
					b.Fatalf("%d cells, not %d", got, n)
				}
			}
		})
	}
}

// BenchmarkAgainstExport reports how many times as long Load takes as the cue command takes to export the same 1,000
// cells: 1.3 is the most that is worth it.
func BenchmarkAgainstExport(b *testing.B) {
	path := sweepOf(b, 1000)
	if _, err := Vendor(filepath.Dir(path), false); err != nil {
		b.Fatal(err)
	}
	var load, export time.Duration
	for b.Loop() {
		start := time.Now()
		if _, err := Load(path, Options{}); err != nil {
			b.Fatal(err)
		}
		load += time.Since(start)
		start = time.Now()
		cueCommand(b, filepath.Dir(path), "export", "batch.cue", "-e", "batch.plan.cells")
		export += time.Since(start)
	}
	b.ReportMetric(load.Seconds()/export.Seconds(), "load/export")
}
