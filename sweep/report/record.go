package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Record is everything that is known of a sweep, a cell or a trial: what `sweep show` prints.
type Record struct {
	Title    string    `json:"title"`
	Sections []Section `json:"sections"`
}

// Section is a part of a record: terms with what is said of each, or text as it was written. Where there is a Value,
// JSON has that, in full, in place of what people read.
type Section struct {
	Title    string  `json:"title"`
	Entries  []Entry `json:"entries,omitempty"`
	Verbatim string  `json:"verbatim,omitempty"`
	Value    any     `json:"value,omitempty"`
}

// tab is what a tab becomes in texts that are shown as they were written.
const tab = "    "

// WriteRecord prints a record as aligned sections (format table), or as JSON.
func WriteRecord(w io.Writer, r Record, format string, o Options) error {
	if o.Width <= 0 {
		o.Width = defaultWidth
	}
	switch format {
	case "table":
		_, err := io.WriteString(w, recordText(r, o.Width))
		return err
	case "json":
		r.Sections = slices.Clone(r.Sections)
		for i, s := range r.Sections {
			if s.Value != nil {
				r.Sections[i] = Section{Title: s.Title, Value: s.Value}
			}
		}
		return indented(w, r)
	}
	return fmt.Errorf("format %q: a record is shown as table or json", format)
}

func recordText(r Record, width int) string {
	var out strings.Builder
	out.WriteString(wrapped(r.Title, width, "") + "\n")
	for _, s := range r.Sections {
		out.WriteString("\n" + s.Title + "\n")
		for line := range strings.Lines(printable(strings.ReplaceAll(s.Verbatim, "\t", tab))) {
			out.WriteString(strings.TrimRight(indent+line, "\n ") + "\n")
		}
		term := 0
		for _, e := range s.Entries {
			if n := len([]rune(e.Term)); n <= termWidth {
				term = max(term, n)
			}
		}
		for _, e := range s.Entries {
			out.WriteString(listed(e, term, width, indent))
		}
	}
	return out.String()
}

// with adds a section that says something.
func (r *Record) with(title string, entries []Entry) {
	entries = slices.DeleteFunc(entries, func(e Entry) bool { return e.Text == "" })
	if len(entries) > 0 {
		r.Sections = append(r.Sections, Section{Title: title, Entries: entries})
	}
}

// structured gives the section that was added last its value.
func (r *Record) structured(title string, value any) {
	if last := len(r.Sections) - 1; last >= 0 && r.Sections[last].Title == title {
		r.Sections[last].Value = value
	}
}

func (r *Record) verbatim(title, text string) {
	if text != "" {
		r.Sections = append(r.Sections, Section{Title: title, Verbatim: text})
	}
}
