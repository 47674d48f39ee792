package report

import (
	"encoding/json"
	"io"

	"github.com/inference-sweep/sweep/sweep"
)

// WriteBeside writes what lies beside a table in a file: the full contracts of its sweep, and the provenance.
func WriteBeside(w io.Writer, in Input) error {
	type cell struct {
		Cell    string   `json:"cell"`
		Digest  string   `json:"digest"`
		Command []string `json:"command"`
		// SLO is the one in force, where that is not the contract's own.
		SLO   string          `json:"slo,omitempty"`
		Whole json.RawMessage `json:"resolved"`
	}
	object := struct {
		Sweep      string            `json:"sweep"`
		Command    string            `json:"command"`
		SLO        string            `json:"slo,omitempty"`
		Analysis   int               `json:"analysis_version"`
		Cells      []cell            `json:"cells"`
		Provenance map[string]string `json:"provenance"`
		Sources    []sweep.Source    `json:"sources"`
	}{Sweep: in.Plan.Name, Command: in.Command, SLO: in.SLO, Analysis: in.complete().Derived.AnalysisVersion,
		Provenance: in.Provenance, Sources: append([]sweep.Source{}, in.Plan.Sources...)}
	for i := range in.Plan.Cells {
		c := &in.Plan.Cells[i]
		if in.Cells == nil || in.Cells(c.Name()) {
			one := cell{Cell: c.Name(), Digest: c.Digest, Command: append([]string{}, c.Command...), Whole: json.RawMessage(c.Cell.Raw)}
			if in.SLO != "" {
				one.SLO = barsText(&c.Cell)
			}
			object.Cells = append(object.Cells, one)
		}
	}
	return indented(w, object)
}
