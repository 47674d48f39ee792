package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/inference-sweep/sweep/sweep"
)

// PlanInfo is what a plan alone does not know.
type PlanInfo struct {
	// ExpectedS is how long a whole run will take, in seconds; ExpectedBytes what it will add to the database.
	ExpectedS     float64
	ExpectedBytes int64
	// Detectable is, by metric, the smallest difference that the blocks can tell from none, as a share.
	Detectable map[string]float64
	// Spread says where the spread behind Detectable comes from; empty where it is assumed.
	Spread string
	// Until is the time by which a run is to end, and Unfit the trials that it would leave over.
	Until string
	Unfit []sweep.Trial
	// Options are those of Write, for the formats that are set.
	Options Options
}

// PlanAndInfo is one plan of several.
type PlanAndInfo struct {
	Plan *sweep.Plan
	Info PlanInfo
}

// planJSON is the object of "sweep plan --format json". Parts of a cell are as the definition resolves them.
type planJSON struct {
	Sweep         string             `json:"sweep"`
	Seed          int64              `json:"seed"`
	Blocks        int                `json:"blocks"`
	Cells         []planCellJSON     `json:"cells"`
	Trials        int                `json:"trials"`
	Launches      int                `json:"launches"`
	ExpectedS     float64            `json:"expected_s"`
	ExpectedBytes int64              `json:"expected_bytes"`
	Detectable    map[string]float64 `json:"detectable"`
}

type planCellJSON struct {
	Cell     string          `json:"cell"`
	AliasOf  *string         `json:"alias_of"`
	Factor   json.RawMessage `json:"factor"`
	Level    json.RawMessage `json:"level"`
	At       json.RawMessage `json:"at"`
	Target   json.RawMessage `json:"target"`
	Contract json.RawMessage `json:"contract"`
	Server   json.RawMessage `json:"server"`
	Measure  json.RawMessage `json:"measure"`
	Warmup   json.RawMessage `json:"warmup"`
	Moved    []sweep.Move    `json:"moved"`
	Requests int             `json:"requests"`
	Flags    []string        `json:"flags"`
	Digest   string          `json:"digest"`
	Command  []string        `json:"command"`
}

func writePlanJSON(w io.Writer, plans []PlanAndInfo, array bool) error {
	objects := make([]planJSON, len(plans))
	for i, p := range plans {
		object, err := newPlanJSON(p.Plan, p.Info)
		if err != nil {
			return err
		}
		objects[i] = object
	}
	if array {
		return indented(w, objects)
	}
	return indented(w, objects[0])
}

func indented(w io.Writer, x any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(x)
}

func newPlanJSON(p *sweep.Plan, info PlanInfo) (planJSON, error) {
	object := planJSON{
		Sweep: p.Name, Seed: p.Seed, Blocks: p.Blocks, Cells: make([]planCellJSON, len(p.Cells)),
		Trials: len(p.Trials), Launches: p.Launches,
		ExpectedS: info.ExpectedS, ExpectedBytes: info.ExpectedBytes, Detectable: info.Detectable,
	}
	if object.Detectable == nil {
		object.Detectable = map[string]float64{}
	}
	for i := range p.Cells {
		cell, err := newPlanCellJSON(&p.Cells[i])
		if err != nil {
			return planJSON{}, err
		}
		object.Cells[i] = cell
	}
	return object, nil
}

// newPlanCellJSON takes the cell's parts as CUE exports them, so that both say the same.
func newPlanCellJSON(c *sweep.PlanCell) (planCellJSON, error) {
	text := []byte(c.Cell.Raw)
	if len(text) == 0 {
		var err error
		if text, err = json.Marshal(c.Cell.Cell); err != nil {
			return planCellJSON{}, fmt.Errorf("cell %s: %w", c.Name(), err)
		}
	}
	var cell planCellJSON
	if err := json.Unmarshal(text, &cell); err != nil {
		return planCellJSON{}, fmt.Errorf("cell %s: %w", c.Name(), err)
	}
	null := json.RawMessage("null")
	for _, part := range []*json.RawMessage{&cell.Factor, &cell.Level, &cell.At, &cell.Target, &cell.Contract, &cell.Server,
		&cell.Measure, &cell.Warmup} {
		if len(bytes.TrimSpace(*part)) == 0 {
			*part = null
		}
	}
	cell.AliasOf, cell.Moved, cell.Flags = nil, []sweep.Move{}, []string{}
	if c.AliasOf != "" {
		cell.AliasOf = &c.AliasOf
	}
	cell.Moved = append(cell.Moved, c.Moved...)
	for _, f := range c.Flags {
		cell.Flags = append(cell.Flags, f.Code)
	}
	cell.Requests, cell.Digest, cell.Command = c.Requests, c.Digest, append([]string{}, c.Command...)
	return cell, nil
}
