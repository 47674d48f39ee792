package analysis

import (
	"cmp"
	"slices"

	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/stats"
)

// settlingFloor is how many requests the place where they settle is sought in: ten of MSER's batches of five. The search
// ends in the middle, and the fewer places there are, the more often plain noise has its least there: one series of
// independent values in ten at this many, two in five at 20, none in a hundred at 200.
const settlingFloor = 50

// warming is the load before the window.
type warming struct {
	begun   bool
	startNS int64 // when its first request was due
	answers []warmed
}

// A warmed is a warm-up request that ended ok, as Arrival has it.
type warmed struct{ dueNS, seq, ttftNS int64 }

func (w *warming) add(r *sweep.Request, ttftNS int64) {
	if !w.begun || r.DueNS < w.startNS {
		w.begun, w.startNS = true, r.DueNS
	}
	if r.Status == sweep.RequestOK && ttftNS != sweep.None {
		w.answers = append(w.answers, warmed{r.DueNS, r.Seq, ttftNS})
	}
}

// settle finds where TTFT settled. Every warm-up request is due before any measured one, so that the series is that of the
// warm-up and then that of the window.
func (w *warming) settle(t *Trial) *sweep.SettlingRow {
	slices.SortFunc(w.answers, func(a, b warmed) int {
		return cmp.Or(cmp.Compare(a.dueNS, b.dueNS), cmp.Compare(a.seq, b.seq))
	})
	if !w.begun {
		w.startNS = t.Record.T0NS
	}
	series := make([]float64, 0, int64(len(w.answers))+t.OK)
	for _, a := range w.answers {
		series = append(series, float64(a.ttftNS))
	}
	for _, a := range t.Arrivals {
		if a.TTFTNS != sweep.None {
			series = append(series, float64(a.TTFTNS))
		}
	}
	row := &sweep.SettlingRow{
		Block: t.Record.Block, Trial: t.Record.ID, N: int64(len(series)), WarmupN: int64(len(w.answers)), CutN: sweep.None,
		WarmupMS: milliseconds(float64(t.Record.T0NS - w.startNS)), TTFTMS: meanMS(series[len(w.answers):]),
	}
	if len(series) < settlingFloor {
		return row
	}
	cut, _, atLimit := stats.MSER5(series)
	settled := !atLimit
	row.CutN, row.Settled, row.TTFTCutMS = int64(cut), &settled, meanMS(series[cut:])
	row.FoundMS = milliseconds(float64(w.dueNS(t, cut) - w.startNS))
	return row
}

// dueNS is when the first request behind a cut was due: the start of the load where nothing is cut, that of the window where
// all of the warm-up is.
func (w *warming) dueNS(t *Trial, cut int) int64 {
	at := cut - len(w.answers)
	switch {
	case cut == 0:
		return w.startNS
	case at < 0:
		return w.answers[cut].dueNS
	case at == 0:
		return t.Record.T0NS
	}
	for _, a := range t.Arrivals {
		if a.TTFTNS == sweep.None {
			continue
		}
		if at == 0 {
			return a.DueNS
		}
		at--
	}
	return sweep.None
}

// meanMS is nil where there are no values.
func meanMS(valuesNS []float64) *float64 {
	mean, _ := stats.Moments(valuesNS)
	return milliseconds(mean)
}

// SettlingRow is a name's row of the view settling. A burst has none, nor have answers that do not stream: the first is no
// series, the others have no first token, and to the length of a whole answer its number of tokens matters more than its
// place.
func (t *Trial) SettlingRow(name string) (row sweep.SettlingRow, ok bool) {
	if t.settling == nil {
		return sweep.SettlingRow{}, false
	}
	row = *t.settling
	row.Cell = name
	return row, true
}
