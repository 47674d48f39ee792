package bench

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tiny is a pattern that is over in no time.
var tiny = pattern{Name: "tiny", Streams: 3, Timing: Timing{TTFT: 5 * time.Millisecond, Gap: 2 * time.Millisecond, Events: 8, PerWrite: 2, Spread: 3}}

// Both clients see every event, none before its write.
func TestPatternRuns(t *testing.T) {
	for _, client := range []string{"raw", "ours"} {
		f, err := runPattern(client, tiny, "")
		if err != nil {
			t.Fatal(err)
		}
		if f.LagP50US <= 0 || f.LagP99US < f.LagP50US || f.TTFTAddedMS <= 0 || f.Collections != 0 || f.EventsPerS <= 0 {
			t.Errorf("%s: %+v", client, f)
		}
	}
}

func TestIdleRuns(t *testing.T) {
	for _, client := range []string{"raw", "ours"} {
		if f, err := runIdle(client, 20); err != nil || math.IsNaN(f.MemoryKB) {
			t.Errorf("%s: %+v, %v", client, f, err)
		}
	}
}

// The reference's parser stamps each event once, wherever reads are cut.
func TestRawParse(t *testing.T) {
	a := &answer{}
	wire := appendWrite(nil, a, 7, 2, 3)
	a.sent = 2
	wire = appendWrite(wire, a, 9, 1, 3)
	for first := range len(wire) {
		for second := first; second < len(wire); second += 7 {
			var s rawStream
			over := false
			var part []byte
			for i, piece := range [][]byte{wire[:first], wire[first:second], wire[second:]} {
				var rest []byte
				rest, over = s.parse(int64(i), append(part, piece...))
				part = append([]byte(nil), rest...)
			}
			if len(s.at) != 3 || !over || len(part) != 0 {
				t.Fatalf("cut at %d and %d: %d events, over %t, left %q", first, second, len(s.at), over, part)
			}
		}
	}
}

// Another tool's client that fails has its last words in the table.
func TestPeers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "peers")
	script := `#!/bin/sh
if [ "$2" = broken ]; then echo "no such client" >&2; exit 1; fi
echo '{"ttft_ms": [60.0], "gap_ms": null, "cpu_s": 1.5}'
`
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	*peersFlag = path
	defer func() { *peersFlag = "" }()
	for client, want := range map[string]string{"broken": "no such client", "idle": "the server saw no request"} {
		if _, err := runPeer(t.Context(), client, 1); err == nil || err.Error() != want {
			t.Errorf("%s: %v", client, err)
		}
	}
}

func TestKeptByServer(t *testing.T) {
	ttfts, gaps := keptByServer([]Exchange{
		{RequestNS: 1e6, WriteNS: []int64{51e6, 61e6, 72e6}},
		{RequestNS: 2e6, WriteNS: []int64{53e6}},
	})
	if mean(ttfts) != 50.5 || len(gaps) != 2 || gaps[0] != 10 || gaps[1] != 11 {
		t.Errorf("%v, %v", ttfts, gaps)
	}
}

func TestReport(t *testing.T) {
	runs := map[string][]figures{
		"raw":  {{CPUPerEventUS: 10, LagP50US: 20, LagP99US: 100}, {CPUPerEventUS: 12, LagP50US: 25, LagP99US: 100}, {CPUPerEventUS: 11, LagP50US: 22, LagP99US: 100}},
		"ours": {{CPUPerEventUS: 20, LagP50US: 24, LagP99US: 900}, {CPUPerEventUS: 15, LagP50US: 25, LagP99US: 90}, {CPUPerEventUS: 16.5, LagP50US: 26.4, LagP99US: 210}},
	}
	rows := append(patternRows(pattern{Name: "paced"}, runs),
		row{pattern: "steady", figure: "allocated per event", unit: "B", ours: []float64{0.4}, absolute: true},
		row{pattern: "steady", figure: "collections", ours: []float64{0}, absolute: true})
	var out strings.Builder
	if err := printRows(&out, rows); err != nil {
		t.Fatal(err)
	}
	want := `
  pattern                       figure  unit  raw epoll  sweep  ratio  of rounds   goal  stretch
    paced     processor time per event    µs       11.0   16.5   1.50  1.25–2.00  ×2.00    ×1.20  reached
    paced              receive lag p50    µs       22.0   25.0   1.20  1.00–1.20  ×2.00    ×1.30  stretch
    paced              receive lag p99    µs        100    210   2.10  0.90–9.00  ×2.00    ×1.30   missed
    paced  events per second of a core   1/s      90909  60606   0.67  0.50–0.80
   steady          allocated per event     B              0.40                     0.00            missed
   steady                  collections                    0.00                     0.00           reached
`
	if got := "\n" + out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
