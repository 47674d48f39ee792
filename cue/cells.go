package cue

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/token"

	"github.com/inference-sweep/sweep/schema"
	"github.com/inference-sweep/sweep/sweep"
)

// definitions decodes the sweeps that are asked for and checks their cells.
func (r *reader) definitions(instance *build.Instance) ([]*sweep.Definition, error) {
	texts, err := r.texts(instance)
	if err != nil {
		return nil, fmt.Errorf("reading the sources: %w", err)
	}
	var found Errors
	var all []*sweep.Definition
	for _, name := range r.sweeps {
		d, err := r.definition(name)
		if unheld, ok := errors.AsType[Errors](err); ok {
			found = append(found, unheld...)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("sweep %s: %w", name, err)
		}
		d.Sources = texts
		c := &cellCheck{reader: r, definition: d, traces: map[string][]float64{}}
		c.all()
		found = append(found, c.problems()...)
		if len(c.traces) > 0 {
			d.Traces = c.traces
		}
		all = append(all, d)
	}
	if err := found.err(); err != nil {
		return nil, err
	}
	return all, nil
}

// definition decodes one sweep.
func (r *reader) definition(name string) (*sweep.Definition, error) {
	v := r.root.LookupPath(cue.MakePath(cue.Str(name)))
	d := &sweep.Definition{Name: name, Dir: r.dir, Tags: r.options.Tags, Position: r.positions(name, v)}
	var head schema.Sweep
	for path, into := range map[string]any{
		"title": &d.Title, "blocks": &head.Blocks, "seed": &d.Seed, "aa": &d.AA, "judge": &d.Judge,
	} {
		if err := r.decode(v, path, into); err != nil {
			return nil, err
		}
	}
	d.Blocks = int(head.Blocks)
	if err := each(v, "factors", func(name string, text []byte) error {
		f := sweep.Factor{Name: name}
		d.Factors = append(d.Factors, f)
		return json.Unmarshal(text, &d.Factors[len(d.Factors)-1].Factor)
	}); err != nil {
		return nil, err
	}
	if err := each(v, "grids", func(name string, text []byte) error {
		d.Grids = append(d.Grids, sweep.Grid{Name: name})
		return json.Unmarshal(text, &d.Grids[len(d.Grids)-1].Grid)
	}); err != nil {
		return nil, err
	}
	return d, r.decode(v, "plan.cells", &d.Cells)
}

// decode reads the JSON of a value under v, a sweep, if it is there.
func (r *reader) decode(v cue.Value, path string, into any) error {
	at := v.LookupPath(cue.ParsePath(path))
	if !at.Exists() {
		return nil
	}
	text, err := at.MarshalJSON()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		name, _ := v.Label()
		if unheld := r.unheld(append([]string{name}, strings.Split(path, ".")...), at, err); unheld != nil {
			return unheld
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// each goes through the fields of a value under v in the order in which they are written.
func each(v cue.Value, path string, read func(name string, text []byte) error) error {
	at := v.LookupPath(cue.ParsePath(path))
	if !at.Exists() {
		return nil
	}
	fields, err := at.Fields()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for fields.Next() {
		name := fields.Selector().Unquoted()
		text, err := fields.Value().MarshalJSON()
		if err == nil {
			err = read(name, text)
		}
		if err != nil {
			return fmt.Errorf("%s.%s: %w", path, name, err)
		}
	}
	return nil
}

// positions is the definition's Position: a table of where its paths are written, so that the evaluated value can go.
// Paths start at the sweep (factors.rate, grids.g) or at the cell (contract.load.open.rate).
func (r *reader) positions(name string, v cue.Value) func(string) string {
	written := map[string]string{}
	note := func(path string, pos token.Pos) {
		if _, ok := written[path]; !ok && pos.IsValid() {
			written[path] = fmt.Sprintf("%s:%d:%d", relative(pos.Filename()), pos.Line(), pos.Column())
		}
	}
	for path, p := range r.outline.places {
		rest, ok := strings.CutPrefix(path, name+".")
		if !ok {
			continue
		}
		pos := p.label
		if !pos.IsValid() {
			pos = p.pos()
		}
		if leaf, ok := strings.CutPrefix(rest, "#cell."); ok {
			note(leaf, pos)
		} else {
			note(rest, pos)
		}
	}
	r.notePoints(v, note)
	return func(path string) string {
		path = strings.NewReplacer("[", ".", "]", "").Replace(strings.TrimPrefix(path, name+"."))
		for at := path; ; {
			if position := written[at]; position != "" {
				return position
			}
			end := strings.LastIndexByte(at, '.')
			if end < 0 {
				return ""
			}
			at = at[:end]
		}
	}
}

// notePoints adds the baselines and levels that are computed.
func (r *reader) notePoints(v cue.Value, note func(string, token.Pos)) {
	fields, err := v.LookupPath(cue.ParsePath("factors")).Fields()
	for err == nil && fields.Next() {
		path := "factors." + fields.Selector().Unquoted()
		if pos := fields.Value().LookupPath(cue.ParsePath("baseline")).Pos(); !r.isSchema(pos) {
			note(path+".baseline", pos)
		}
		levels, err := fields.Value().LookupPath(cue.ParsePath("levels")).List()
		for i := 0; err == nil && levels.Next(); i++ {
			if pos := levels.Value().Pos(); !r.isSchema(pos) {
				note(path+".levels."+strconv.Itoa(i), pos)
			}
		}
	}
}
