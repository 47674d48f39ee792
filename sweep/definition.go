package sweep

import (
	"encoding/json"
	"fmt"

	"github.com/inference-sweep/sweep/schema"
)

// Definition is one sweep of a file: checked against the schema and expanded. Package cue makes it.
type Definition struct {
	Name   string       `json:"name"`
	Title  string       `json:"title,omitempty"`
	Blocks int          `json:"blocks"`
	Seed   int64        `json:"seed"`
	AA     bool         `json:"aa,omitempty"`
	Judge  schema.Judge `json:"judge"`
	// Factors and Grids are in the order in which they are written.
	Factors []Factor `json:"factors"`
	Grids   []Grid   `json:"grids,omitempty"`
	// Cells is the list of plan.cells, in its order; the first is the baseline.
	Cells []Cell `json:"-"`

	// Dir is the folder that recorded lengths and arrivals are relative to.
	Dir string `json:"dir,omitempty"`
	// Sources are the files that the definition was read from, and Tags what was set with -t.
	Sources []Source `json:"sources,omitempty"`
	Tags    []string `json:"tags,omitempty"`
	// Traces holds the recorded lengths and arrivals that cells name, by their path as written.
	Traces map[string][]float64 `json:"traces,omitempty"`

	// Position says where a path of the definition was written, as file:line:col, or "" where that is not known.
	Position func(path string) string `json:"-"`
}

// Source is one file of a definition, as it was read.
type Source struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// Factor is a factor with its name.
type Factor struct {
	Name string `json:"name"`
	schema.Factor
}

// Grid is a grid with its name.
type Grid struct {
	Name string `json:"name"`
	schema.Grid
}

// Baseline is the name of the cell that every one-factor cell is compared with.
const Baseline = "baseline"

// TwinName is what the second run of the baseline in each block (aa: true) is called, here and in every view.
const TwinName = "baseline#2"

// Cell is one measurement as the definition resolves it: the typed view, and beside it the JSON it was decoded from,
// which is what is compared leaf by leaf.
type Cell struct {
	schema.Cell
	// Raw is the cell as CUE exports it.
	Raw json.RawMessage
}

// UnmarshalJSON decodes a cell and keeps the text.
func (c *Cell) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, &c.Cell); err != nil {
		return fmt.Errorf("cell: %w", err)
	}
	c.Raw = append(json.RawMessage(nil), text...)
	return nil
}

// MarshalJSON writes the text that the cell was decoded from.
func (c Cell) MarshalJSON() ([]byte, error) { return c.Raw, nil }

// FactorOf is the name of the cell's factor or grid, or "" for the baseline.
func (c *Cell) FactorOf() string {
	if c.Factor == nil {
		return ""
	}
	return *c.Factor
}

// Kinds of load.
const (
	LoadOpen   = "open"
	LoadClosed = "closed"
	LoadBurst  = "burst"
)

// LoadKind is how the cell's requests arrive: open, closed or burst.
func (c *Cell) LoadKind() string {
	switch l := c.Contract.Load; {
	case l.Open != nil:
		return LoadOpen
	case l.Closed != nil:
		return LoadClosed
	}
	return LoadBurst
}
