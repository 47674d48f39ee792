package cue

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// A broken definition is a good one, edited: a section of testdata/broken*.txtar lists replacements, each a line that
// begins with "-" (what to replace, once) and lines that begin with "+" (by what), and then the lines to be printed.
// "@ name" takes another file of the archive than base.cue, "! name" lays a file beside it, "t key=value" sets a tag.
type broken struct {
	name, base string
	edits      [][2]string
	beside     []string
	tags       []string
	want       []string
	directives string
}

func parseBroken(name, text string) broken {
	b := broken{name: name, base: "base.cue"}
	for whole := range strings.Lines(text) {
		line := strings.TrimSuffix(whole, "\n")
		isDirective := true
		switch {
		case strings.HasPrefix(line, "@ "):
			b.base = line[2:]
		case strings.HasPrefix(line, "! "):
			b.beside = append(b.beside, line[2:])
		case strings.HasPrefix(line, "t "):
			b.tags = append(b.tags, line[2:])
		case strings.HasPrefix(line, "-"):
			b.edits = append(b.edits, [2]string{line[1:], ""})
		case strings.HasPrefix(line, "+"):
			to := &b.edits[len(b.edits)-1][1]
			if *to != "" {
				*to += "\n"
			}
			*to += line[1:]
		case line != "":
			b.want = append(b.want, whole)
			isDirective = false
		}
		if isDirective {
			b.directives += whole
		}
	}
	return b
}

// write lays the definition into dir and returns its name.
func (b broken) write(t *testing.T, dir string, files map[string]string) string {
	text, ok := files[b.base]
	if !ok {
		t.Fatalf("there is no %s in the archive", b.base)
	}
	for _, edit := range b.edits {
		from := strings.ReplaceAll(edit[0], `\n`, "\n")
		if !strings.Contains(text, from) {
			t.Fatalf("%q is not in %s", from, b.base)
		}
		text = strings.Replace(text, from, edit[1], 1)
	}
	name := b.name + filepath.Ext(b.base)
	for path, text := range map[string]string{name: text} {
		writeFile(t, filepath.Join(dir, path), text)
	}
	for _, path := range b.beside {
		writeFile(t, filepath.Join(dir, path), files[path])
	}
	return name
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestBroken holds the table. UPDATE=1 writes what is said into it: read the difference as a user would.
func TestBroken(t *testing.T) {
	archives, err := filepath.Glob("testdata/broken*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("%d archives, %v", len(archives), err)
	}
	for _, path := range archives {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files := map[string]string{}
		for _, file := range archive.Files {
			files[file.Name] = string(file.Data)
		}
		for i, file := range archive.Files {
			if filepath.Ext(file.Name) != "" {
				continue
			}
			t.Run(file.Name, func(t *testing.T) {
				b := parseBroken(file.Name, files[file.Name])
				got := b.said(t, files)
				if os.Getenv("UPDATE") != "" {
					archive.Files[i].Data = []byte(b.directives + strings.Join(got, ""))
				} else if diff := cmp.Diff(b.want, got); diff != "" {
					t.Errorf("what is said (-want +got):\n%s", diff)
				}
			})
		}
		if os.Getenv("UPDATE") != "" {
			writeFile(t, path, string(txtar.Format(archive)))
		}
	}
}

// said is what Load says of the definition, in lines.
func (b broken) said(t *testing.T, files map[string]string) []string {
	dir := t.TempDir()
	t.Chdir(dir)
	_, err := Load(b.write(t, dir, files), Options{Tags: b.tags})
	if err == nil {
		return nil
	}
	return slices.Collect(strings.Lines(err.Error() + "\n"))
}
