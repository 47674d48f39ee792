package report

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLaTeXCompiles reads every table into an article and into one of two columns, where a TeX is installed.
func TestLaTeXCompiles(t *testing.T) {
	tex, err := exec.LookPath("pdflatex")
	if err != nil {
		t.Skip("no TeX is installed: nothing was compiled")
	}
	dir := t.TempDir()
	var inputs []string
	add := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name+".tex"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, `\input{`+name+".tex}")
	}
	for _, kind := range Kinds() {
		add("night-"+kind, write(t, build(t, kind, night(t)), "latex", Options{}))
	}
	add("tabular", write(t, build(t, "goodput", night(t)), "latex", Options{TabularOnly: true}))
	for _, kind := range []string{"goodput", "flags", "errors", "compare"} {
		add("storm-"+kind, write(t, build(t, kind, storm(t)), "latex", Options{}))
	}
	for i, text := range nastyTexts {
		add(fmt.Sprint("nasty-", i), write(t, nasty(text), "latex", Options{}))
	}
	var plan bytes.Buffer
	if err := WritePlan(&plan, enginesPlan(t), "latex", PlanInfo{}); err != nil {
		t.Fatal(err)
	}
	add("plan", plan.String())
	body := latexPackages + "\n\\begin{document}\n" + strings.Join(inputs, "\n\\clearpage\n") + "\n\\end{document}\n"
	compile(t, tex, dir, "one", "\\documentclass{article}\n"+body)
	compile(t, tex, dir, "two", "\\documentclass[twocolumn]{article}\n"+body)
	compile(t, tex, dir, "alone", write(t, build(t, "goodput", storm(t)), "latex", Options{Standalone: true}))
}

// TestOneFloat: a table of a night's goodput is one float, its legend in it; a tabular alone has neither.
func TestOneFloat(t *testing.T) {
	table := build(t, "goodput", night(t))
	if text := write(t, table, "latex", Options{}); strings.Count(text, `\begin{table`) != 2 || !strings.Contains(text, "Contract of all rows") {
		t.Errorf("more than a float and its notes:\n%s", text)
	}
	text := write(t, table, "latex", Options{TabularOnly: true})
	if !strings.Contains(text, `\begin{tabular}`) || strings.Contains(text, `\caption`) || strings.Contains(text, "notes") {
		t.Errorf("not a tabular alone:\n%s", text)
	}
}

var tooWide = regexp.MustCompile(`Overfull \\hbox \(([0-9.]+)pt too wide\)`)

func compile(t *testing.T, tex, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name+".tex"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(tex, "-interaction=nonstopmode", "-halt-on-error", name+".tex")
	command.Dir = dir
	log, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, log)
	}
	if keep := os.Getenv("KEEP_TEX"); keep != "" {
		_ = exec.Command("cp", "-r", dir, keep).Run()
	}
	for _, m := range tooWide.FindAllSubmatch(log, -1) {
		t.Logf("%s: %s", name, m[0])
	}
	if bytes.Contains(log, []byte("Float too large")) {
		t.Errorf("%s: a table is taller than a page\n%s", name, log)
	}
}
