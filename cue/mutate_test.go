package cue

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// mutations are what happens to a line while somebody edits it.
var mutations = []struct {
	name string
	edit func(line string) string
}{
	{"gone", func(string) string { return "" }},
	{"word cut", func(line string) string {
		return regexp.MustCompile(`[a-zA-Z]([a-zA-Z]{3,})`).ReplaceAllString(line, "$1")
	}},
	{"number quoted", func(line string) string { return regexp.MustCompile(`: (\d+)`).ReplaceAllString(line, `: "$1"`) }},
	{"string bare", func(line string) string { return regexp.MustCompile(`: "([^"]*)"`).ReplaceAllString(line, ": 17") }},
	{"value gone", func(line string) string { return regexp.MustCompile(`: [^ {\[]+$`).ReplaceAllString(line, ": {}") }},
	{"negative", func(line string) string { return regexp.MustCompile(`\b(\d+)\b`).ReplaceAllString(line, "-$1") }},
	{"list emptied", func(line string) string { return regexp.MustCompile(`\[[^\]]*\]`).ReplaceAllString(line, "[]") }},
}

// raw is CUE's own language for what a user should read in words.
var raw = regexp.MustCompile(`matchN|empty disjunction|does not satisfy|_\|_|cue\.mod|mismatched types|list lengths`)

// TestMutations: each line of some experiments, spoilt in each way, is good still or gives a few lines, each of which
// names the file, is short and says it in words.
func TestMutations(t *testing.T) {
	for _, name := range []string{"cache.cue", "lesson/lesson.cue", "plain.yaml"} {
		text, err := os.ReadFile(filepath.Join("../experiments", name))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			lines := strings.Split(string(text), "\n")
			for i, line := range lines {
				if word := strings.TrimLeft(line, "\t "); word == "" || word[0] == '/' || word[0] == '#' && name == "plain.yaml" {
					continue
				}
				for _, m := range mutations {
					if edited := m.edit(line); edited != line {
						spoilt := append(append(append([]string{}, lines[:i]...), edited), lines[i+1:]...)
						checkSpoilt(t, filepath.Base(name), fmt.Sprintf("line %d %s", i+1, m.name), strings.Join(spoilt, "\n"))
					}
				}
			}
		})
	}
}

func checkSpoilt(t *testing.T, file, what, text string) {
	t.Helper()
	writeFile(t, file, text)
	var tags []string
	if strings.Contains(text, "@tag(revision)") && file == "lesson.cue" {
		tags = []string{"revision=0123456"}
	}
	_, err := Load(file, Options{Tags: tags})
	if err == nil {
		return
	}
	said := strings.Split(err.Error(), "\n")
	if len(said) > 12 {
		t.Errorf("%s: %d lines:\n%v", what, len(said), err)
	}
	for _, line := range said {
		if !strings.HasPrefix(line, file) || len(line) > 260 || raw.MatchString(line) {
			t.Errorf("%s:\n%s", what, line)
		}
	}
}
