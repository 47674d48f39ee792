package verdict

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// An agreement is what an observed text says of an asked one.
type agreement int

const (
	unknown agreement = iota // no rule tells
	agrees
	contradicts
)

func agreed(yes bool) agreement {
	if yes {
		return agrees
	}
	return contradicts
}

var (
	commitPattern  = regexp.MustCompile(`^[0-9a-f]{7,64}$`)
	versionPattern = regexp.MustCompile(`^\d+(\.\d+)*([.-]?(a|b|rc|dev|post)\.?\d+)*$`)
	numberPattern  = regexp.MustCompile(`^\d+(\.\d+)*$`)
	localCommit    = regexp.MustCompile(`(?:^|\.)g([0-9a-f]{7,40})(?:\.|$)`)
)

// agreeRevision compares an engine's revision with the version that it reports: without a leading v and without a local
// part, a commit by prefix, also where it stands in the local part (0.11.1.dev17+g1a2b3c4).
func agreeRevision(asked, seen string) agreement {
	if asked == seen {
		return agrees
	}
	version, local, _ := strings.Cut(strings.TrimPrefix(seen, "v"), "+")
	if isCommit(asked) {
		if built := localCommit.FindStringSubmatch(local); built != nil {
			return agreed(samePrefix(asked, built[1]))
		}
		if isCommit(seen) {
			return agreed(samePrefix(asked, seen))
		}
		return unknown
	}
	release, _, _ := strings.Cut(strings.TrimPrefix(asked, "v"), "+")
	switch {
	case release == version:
		return agrees
	case versionPattern.MatchString(release) && versionPattern.MatchString(version):
		return contradicts
	}
	return unknown
}

// isCommit tells a commit from a release: seven digits alone could be either, and count as a commit only with a letter.
func isCommit(text string) bool {
	return commitPattern.MatchString(text) && strings.ContainsAny(text, "abcdef")
}

func samePrefix(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }

// agreeNumbers compares dotted versions, of which one may be given shorter than the other: 12.8 and 12.8.1.
func agreeNumbers(asked, seen string) agreement {
	if asked == seen {
		return agrees
	}
	if !numberPattern.MatchString(asked) || !numberPattern.MatchString(seen) {
		return unknown
	}
	return agreed(samePrefix(asked+".", seen+"."))
}

// agreeHost compares host names by their first label.
func agreeHost(asked, seen string) agreement {
	first := func(name string) string {
		label, _, _ := strings.Cut(strings.ToLower(name), ".")
		return label
	}
	return agreed(first(asked) == first(seen))
}

// agreeDigest compares container images by their digests.
func agreeDigest(asked, seen string) agreement {
	if asked == seen {
		return agrees
	}
	_, a, okA := strings.Cut(asked, "sha256:")
	_, b, okB := strings.Cut(seen, "sha256:")
	if !okA || !okB {
		return unknown
	}
	return agreed(samePrefix(a, b))
}

// agreeSnapshot compares a model's revision with the folder that it was loaded from, where that names a commit.
func agreeSnapshot(asked, seen string) agreement {
	for _, part := range strings.FieldsFunc(seen, func(r rune) bool { return r == '/' || r == '@' }) {
		if len(part) == 40 && commitPattern.MatchString(part) {
			return agreed(samePrefix(asked, part))
		}
	}
	return unknown
}

// agreeWatts compares power limits, which a driver reports to a fraction of a watt.
func agreeWatts(asked, seen string) agreement {
	a, errA := strconv.ParseFloat(asked, 64)
	b, errB := strconv.ParseFloat(seen, 64)
	if errA != nil || errB != nil {
		return unknown
	}
	return agreed(a-b < 1 && b-a < 1)
}

// agreeCount compares how many GPUs are asked for with how many the server uses.
func agreeCount(asked, seen string) agreement {
	a, errA := strconv.ParseFloat(asked, 64)
	b, errB := strconv.ParseFloat(seen, 64)
	if errA != nil || errB != nil {
		return unknown
	}
	return agreed(a == b)
}

// agreeGPUs compares a GPU with those that the server uses, a list with commas where they are of several kinds.
func agreeGPUs(asked, seen string) agreement {
	all := agrees
	for _, name := range strings.Split(seen, ",") {
		switch agreeGPU(asked, name) {
		case contradicts:
			return contradicts
		case unknown:
			all = unknown
		}
	}
	return all
}

// agreeGPU compares two names of a GPU by their groups of letters and digits: the model (H100, A100, MI300X, 4090),
// which both must give, and the memory, where both give it.
func agreeGPU(asked, seen string) agreement {
	a, b := gpuOf(asked), gpuOf(seen)
	switch {
	case len(a.models) == 0 || len(b.models) == 0:
		return unknown
	case a.memory != "" && b.memory != "" && a.memory != b.memory:
		return contradicts
	}
	for _, model := range a.models {
		if !slices.Contains(b.models, model) {
			return contradicts
		}
	}
	return agrees
}

type gpu struct {
	models []string
	memory string
}

var (
	memoryGroup = regexp.MustCompile(`^(\d+)GI?B$`)
	// modelGroup is letters, digits and perhaps letters, or digits alone; a form factor may follow without a space.
	modelGroup = regexp.MustCompile(`^([A-Z]*\d{1,4}[A-Z]{0,2}?)(SXM\d*|PCIE|NVL\d*|HBM\d\w?)?$`)
	formGroup  = regexp.MustCompile(`^(SXM|PCIE|NVL|HBM|GDDR|DDR|GEN|MIG)\d*[A-Z]?$`)
)

func gpuOf(name string) gpu {
	var g gpu
	for _, group := range strings.FieldsFunc(strings.ToUpper(name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if memory := memoryGroup.FindStringSubmatch(group); memory != nil {
			g.memory = memory[1]
		} else if formGroup.MatchString(group) {
			continue
		} else if model := modelGroup.FindStringSubmatch(group); model != nil {
			g.models = append(g.models, model[1])
		}
	}
	return g
}

// sameModel says whether a model is the one asked for: its name begins with an asked one, or the server lists an asked
// one as its alias.
func sameModel(asked []string, model string, o observed) bool {
	begins := func(name string) bool { return strings.HasPrefix(model, name) }
	return slices.ContainsFunc(asked, begins) || isAlias(asked, model, o)
}
