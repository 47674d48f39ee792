package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

// What is for people keeps to the columns that there are, but for commands to be pasted; without any it has one line for
// each thing, as programs like it.
func TestWidth(t *testing.T) {
	for _, c := range []struct {
		columns string
		args    []string
		longest int
	}{
		{"80", []string{"run", "--help"}, 80}, {"60", []string{"run", "--help"}, 60}, {"80", []string{"check", "testdata/tiny.cue"}, 80},
		{"", []string{"check", "testdata/tiny.cue"}, 1000}, {"no", []string{"run", "--help"}, 1000},
	} {
		t.Setenv("COLUMNS", c.columns)
		var stdout, stderr bytes.Buffer
		run(append([]string{"--db", t.TempDir() + "/s.db"}, c.args...), strings.NewReader(""), &stdout, &stderr)
		longest := 0
		for line := range strings.Lines(stdout.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); !strings.HasPrefix(line, "  sweep ") {
				longest = max(longest, n)
			}
		}
		if longest > c.longest || c.longest == 1000 && longest <= 100 {
			t.Errorf("COLUMNS=%s, sweep %v: a line of %d columns\n%s%s", c.columns, c.args, longest, &stdout, &stderr)
		}
	}
}

func TestHanging(t *testing.T) {
	for _, c := range []struct {
		head, text string
		width      int
		want       string
	}{
		{"ok  ", "a b\n→ c", 0, "ok  a b\n    → c"},
		{"ok  ", "aaaa bbbb", 44, "ok  aaaa bbbb"},
		{"ok  ", strings.Repeat("word ", 9), 44, "ok  " + strings.Repeat("word ", 7) + "word\n    word"},
		{strings.Repeat("x", 20) + "  ", "a b", 44, strings.Repeat("x", 20) + "\n      a b"},
	} {
		if got := hanging(c.head, c.text, c.width); got != c.want {
			t.Errorf("hanging(%q, %q, %d)\n%s\nwant\n%s", c.head, c.text, c.width, got, c.want)
		}
	}
}
