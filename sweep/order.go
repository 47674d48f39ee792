package sweep

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// The values of server.restart.
const (
	RestartBlock   = "block"
	RestartTrial   = "trial"
	RestartSetting = "setting"
)

// orderKey is a keyed hash: the same sweep gives the same order on every machine, and no cell's place depends on which
// other cells there are.
func orderKey(seed int64, block int, what string) uint64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "sweep order %d %d %s", seed, block, what))
	return binary.BigEndian.Uint64(sum[:8])
}

// sortTrials puts trials in the order in which they run: block by block, and in each block the cells that share a
// launch together, the groups and the cells in them in keyed random order; what waits comes after what it waits for. Cells whose server is restarted once a
// setting come first, setting by setting, since one launch has to serve all their blocks.
func sortTrials(trials []Trial, seed int64, restart func(digest string) string, waits func(Trial) bool) {
	type place struct {
		perSetting   int
		settingOuter uint64
		block        int
		setting      uint64
		trial        uint64
	}
	type group struct {
		block   int
		setting string
	}
	own := map[group]bool{} // launches that have something to measure besides what waits
	for _, t := range trials {
		own[group{t.Block, t.Setting}] = own[group{t.Block, t.Setting}] || !waits(t)
	}
	places := make(map[Key]place, len(trials))
	for _, t := range trials {
		p := place{perSetting: 1, block: t.Block}
		p.setting = orderKey(seed, t.Block, "launch "+t.Setting)
		p.trial = orderKey(seed, t.Block, fmt.Sprintf("trial %s %d", t.Digest, t.Copy))
		if waits(t) {
			p.trial = math.MaxUint64
			if !own[group{t.Block, t.Setting}] {
				p.setting = math.MaxUint64
			}
		}
		if restart(t.Digest) == RestartSetting {
			p.perSetting, p.settingOuter = 0, orderKey(seed, 0, "launch "+t.Setting)
		}
		places[t.Key] = p
	}
	slices.SortFunc(trials, func(a, b Trial) int {
		x, y := places[a.Key], places[b.Key]
		return cmp.Or(
			cmp.Compare(x.perSetting, y.perSetting),
			cmp.Compare(x.settingOuter, y.settingOuter),
			cmp.Compare(x.block, y.block),
			cmp.Compare(x.setting, y.setting),
			cmp.Compare(x.trial, y.trial),
			cmp.Compare(a.Digest, b.Digest),
			cmp.Compare(a.Copy, b.Copy),
		)
	})
}
