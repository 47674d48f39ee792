package load_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/inference-sweep/sweep/runner/load"
	"github.com/inference-sweep/sweep/schema"
	"github.com/inference-sweep/sweep/sweep"
)

// openCell is a cell with an open loop at a rate; change adjusts it.
func openCell(ratePerS float64, change func(*sweep.Cell)) *sweep.Cell {
	c := &sweep.Cell{}
	c.Cell.Cell = "baseline"
	c.Contract.Prompt.Length.Fixed = 128
	c.Contract.Output.Length.Fixed = 16
	c.Contract.Load.Open = &schema.Open{Rate: ratePerS, Arrival: "poisson"}
	c.Warmup.Duration = "400ms"
	c.Measure.Duration = "1800ms"
	c.Tail = "1500ms"
	if change != nil {
		change(c)
	}
	return c
}

func draw(t testing.TB, c *sweep.Cell, block int) *load.Schedule {
	t.Helper()
	s, err := load.Draw(c, 1, block, map[string][]float64{"arrivals": {0, 1, 3, 6}, "lengths": {10, 20, 30}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func measured(s *load.Schedule) []load.Slot { return s.Slots[s.Warmup : s.Warmup+s.Measured] }

func TestWindows(t *testing.T) {
	requests := func(n int64) *int64 { return &n }
	tests := []struct {
		name             string
		change           func(*sweep.Cell)
		t0MS, t1MS       float64
		warmup, measured int
	}{
		{"by durations", func(c *sweep.Cell) { c.Contract.Load.Open.Arrival = "constant" }, 400, 2200, 3, 18},
		{"by requests, each window ends when the next would be due", func(c *sweep.Cell) {
			c.Contract.Load.Open.Arrival = "constant"
			c.Warmup = schema.Warmup{Requests: requests(5)}
			c.Measure = schema.Measure{Requests: 10}
		}, 600, 1600, 5, 10},
		{"no warm-up", func(c *sweep.Cell) {
			c.Contract.Load.Open.Arrival = "constant"
			c.Warmup = schema.Warmup{Requests: requests(0)}
			c.Measure = schema.Measure{Requests: 10}
		}, 0, 1100, 0, 10},
		{"a duration goes on until as many are due", func(c *sweep.Cell) {
			c.Contract.Load.Open.Arrival = "constant"
			c.Measure.MinRequests = 25
		}, 400, 3000, 3, 25},
		{"a duration with enough of them ends with its time", func(c *sweep.Cell) {
			c.Contract.Load.Open.Arrival = "constant"
			c.Measure.MinRequests = 10
		}, 400, 2200, 3, 17},
	}
	for _, tt := range tests {
		s := draw(t, openCell(10, tt.change), 1)
		// A constant arrival at 10/s is due every 100 ms; the request at the window's very end is the tail's.
		if math.Abs(float64(s.T0NS)/1e6-tt.t0MS) > 1e-6 || math.Abs(float64(s.T1NS)/1e6-tt.t1MS) > 1e-6 || s.Warmup != tt.warmup || abs(s.Measured-tt.measured) > 1 {
			t.Errorf("%s: [%v, %v) ms, %d warm-up, %d measured; want [%v, %v), %d, %d", tt.name,
				float64(s.T0NS)/1e6, float64(s.T1NS)/1e6, s.Warmup, s.Measured, tt.t0MS, tt.t1MS, tt.warmup, tt.measured)
		}
		for i, slot := range s.Slots {
			inWindow := slot.DueNS >= s.T0NS && slot.DueNS < s.T1NS
			if (slot.Phase == sweep.PhaseMeasure) != inWindow || i > 0 && slot.DueNS < s.Slots[i-1].DueNS {
				t.Errorf("%s: slot %d is due at %d in phase %s", tt.name, i, slot.DueNS, slot.Phase)
			}
		}
	}
}

func abs(n int) int { return max(n, -n) }

// All cells of a block have the same lengths and unit gaps in their windows, whatever their rates and warm-ups.
func TestCommonRandomNumbers(t *testing.T) {
	lengths := func(c *sweep.Cell) {
		c.Contract.Prompt.Length = schema.Lengths{Uniform: &schema.Uniform{Min: 10, Max: 1000}}
		c.Contract.Output.Length = schema.Lengths{Lognormal: &schema.Lognormal{Median: 100, Sigma: 0.5}}
	}
	slow := draw(t, openCell(50, lengths), 3)
	fast := draw(t, openCell(200, func(c *sweep.Cell) { lengths(c); c.Warmup.Duration = "1s" }), 3)
	a, b := measured(slow), measured(fast)
	for i := range min(len(a), len(b)) {
		unitA, unitB := float64(a[i].DueNS-slow.T0NS)*50, float64(b[i].DueNS-fast.T0NS)*200
		if a[i].Input != b[i].Input || a[i].Output != b[i].Output || math.Abs(unitA-unitB) > 200 {
			t.Fatalf("request %d: %+v against %+v", i, a[i], b[i])
		}
	}
	other := measured(draw(t, openCell(50, lengths), 4))
	if other[0].Input == a[0].Input && other[1].Input == a[1].Input && other[2].Input == a[2].Input {
		t.Error("another block has the same lengths")
	}
	hash := func(c *sweep.Cell, block int) string {
		h, err := load.WorkloadHash(c, 1, block, nil)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	if hash(openCell(50, lengths), 3) != hash(openCell(200, lengths), 3) || hash(openCell(50, lengths), 3) == hash(openCell(50, lengths), 4) ||
		hash(openCell(50, lengths), 3) == hash(openCell(50, nil), 3) {
		t.Error("the workload's hash is not that of lengths and unit gaps")
	}
}

// The mean gap is 1 ÷ rate for every process, and its coefficient of variation what the process says.
func TestArrivalLaws(t *testing.T) {
	shape := func(k float64) *float64 { return &k }
	tests := []struct {
		open schema.Open
		cv   float64
	}{
		{schema.Open{Arrival: "poisson"}, 1},
		{schema.Open{Arrival: "constant"}, 0},
		{schema.Open{Arrival: "gamma", Shape: shape(0.5)}, math.Sqrt2},
		{schema.Open{Arrival: "gamma", Shape: shape(4)}, 0.5},
		{schema.Open{Arrival: "trace", Trace: "arrivals"}, math.Sqrt(2.0/3) / 2},
	}
	for _, tt := range tests {
		s := draw(t, openCell(100, func(c *sweep.Cell) {
			open := tt.open
			open.Rate = 100
			c.Contract.Load.Open = &open
			c.Measure = schema.Measure{Requests: 20000}
		}), 1)
		var sum, squares float64
		slots := measured(s)
		for i := 1; i < len(slots); i++ {
			gap := float64(slots[i].DueNS-slots[i-1].DueNS) / 1e7
			sum, squares = sum+gap, squares+gap*gap
		}
		n := float64(len(slots) - 1)
		mean := sum / n
		cv := math.Sqrt(squares/n-mean*mean) / mean
		if math.Abs(mean-1) > 0.05 || math.Abs(cv-tt.cv) > 0.05 {
			t.Errorf("%+v: mean gap %.3f, cv %.3f, want 1 and %.3f", tt.open, mean, cv, tt.cv)
		}
	}
}

func TestLengths(t *testing.T) {
	tests := []struct {
		text     string
		min, max int64
	}{
		{`{"fixed":7}`, 7, 7},
		{`{"uniform":{"min":3,"max":5}}`, 3, 5},
		{`{"lognormal":{"median":100,"sigma":2,"max":200}}`, 1, 200},
		{`{"lognormal":{"median":1,"sigma":3}}`, 1, math.MaxInt64},
		{`{"trace":"lengths"}`, 10, 30},
	}
	for _, tt := range tests {
		var l schema.Lengths
		if err := json.Unmarshal([]byte(tt.text), &l); err != nil {
			t.Fatal(err)
		}
		s := draw(t, openCell(1000, func(c *sweep.Cell) { c.Contract.Prompt.Length = l }), 1)
		low, high := int64(math.MaxInt64), int64(0)
		for _, slot := range s.Slots {
			low, high = min(low, slot.Input), max(high, slot.Input)
		}
		if low < tt.min || high > tt.max {
			t.Errorf("%s: lengths from %d to %d", tt.text, low, high)
		}
		if tt.max < math.MaxInt64 && (low != tt.min && tt.min != 1 || high != tt.max) {
			t.Errorf("%s: lengths from %d to %d do not reach the ends", tt.text, low, high)
		}
	}
}

func BenchmarkDraw(b *testing.B) {
	c := openCell(1000, func(c *sweep.Cell) { c.Measure.Duration = schema.Duration((10 * time.Second).String()) })
	for b.Loop() {
		draw(b, c, 1)
	}
}

// TestDrawEnds: a schedule without an end is an error, soon, whatever got past the plan.
func TestDrawEnds(t *testing.T) {
	tiny := math.SmallestNonzeroFloat64
	for name, change := range map[string]func(*sweep.Cell){
		"gaps that round to nothing": func(c *sweep.Cell) { c.Contract.Load.Open.Rate = 1e300 },
		"no rate":                    func(c *sweep.Cell) { c.Contract.Load.Open.Rate = 0 },
		"a rate of nearly nothing":   func(c *sweep.Cell) { c.Contract.Load.Open.Rate = tiny },
		"gaps of ages":               func(c *sweep.Cell) { c.Contract.Load.Open.Rate, c.Measure = 1e-9, schema.Measure{Requests: 10} },
		"no gaps at all": func(c *sweep.Cell) {
			c.Contract.Load.Open.Arrival, c.Contract.Load.Open.Shape = "gamma", &tiny
		},
		"a tail of ages": func(c *sweep.Cell) { c.Contract.Load.Open.Rate, c.Tail = 1e6, "8760h" },
	} {
		t.Run(name, func(t *testing.T) {
			if s, err := load.Draw(openCell(8, change), 1, 1, nil); err == nil {
				t.Errorf("%d slots until %d ns, and no error", len(s.Slots), s.T1NS)
			}
		})
	}
}
