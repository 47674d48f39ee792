package store

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/inference-sweep/sweep/schema"
	"github.com/inference-sweep/sweep/sweep"
)

// cellRow is a cell of a plan as a row: what the view cell shows, and the bars of its SLO.
type cellRow struct {
	cell, aliasOf, factor, level, reference string
	baseline, hasSLO                        bool
	moved                                   int
	at, digest, target, contract, server    string
	load                                    string
	ttftNS, tpotNS, e2eNS                   int64 // or None
}

func cellColumns(r *cellRow) []column {
	return []column{
		{"cell", text{&r.cell}},
		{"alias_of", maybeText{&r.aliasOf}},
		{"factor", maybeText{&r.factor}},
		{"level", maybeText{&r.level}},
		{"baseline", boolean{&r.baseline}},
		{"reference", maybeText{&r.reference}},
		{"moved", count{&r.moved}},
		{"at", text{&r.at}},
		{"digest", text{&r.digest}},
		{"target", text{&r.target}},
		{"contract", text{&r.contract}},
		{"server", text{&r.server}},
		{"load", text{&r.load}},
		{"has_slo", boolean{&r.hasSLO}},
		{"slo_ttft_ns", maybeInt{&r.ttftNS}},
		{"slo_tpot_ns", maybeInt{&r.tpotNS}},
		{"slo_e2e_ns", maybeInt{&r.e2eNS}},
	}
}

func insertPlan(c *sql.Conn, name, body string, plan *sweep.Plan) (int64, error) {
	id, err := insertOne(c, "raw_plan", []column{{"sweep", text{&name}}, {"body", text{&body}}})
	if err != nil {
		return 0, err
	}
	rows := make([]cellRow, len(plan.Cells))
	for i := range plan.Cells {
		if rows[i], err = newCellRow(&plan.Cells[i]); err != nil {
			return 0, fmt.Errorf("cell %s: %w", plan.Cells[i].Name(), err)
		}
	}
	key := []column{{"plan", integer{&id}}, {"sweep", text{&name}}}
	return id, insertAll(c, "raw_cell", key, rows, cellColumns)
}

// newCellRow takes the JSON columns from the cell's own text, so that they read as the definition exports them.
func newCellRow(c *sweep.PlanCell) (cellRow, error) {
	var raw struct {
		Level    json.RawMessage `json:"level"`
		At       json.RawMessage `json:"at"`
		Contract json.RawMessage `json:"contract"`
		Server   json.RawMessage `json:"server"`
	}
	if err := json.Unmarshal(c.Cell.Raw, &raw); err != nil {
		return cellRow{}, err
	}
	row := cellRow{
		cell: c.Name(), aliasOf: c.AliasOf, factor: c.Cell.FactorOf(), baseline: c.Name() == sweep.Baseline,
		moved: len(c.Moved), digest: c.Digest, target: c.Cell.Target, load: c.Cell.LoadKind(),
		ttftNS: sweep.None, tpotNS: sweep.None, e2eNS: sweep.None,
	}
	if !row.baseline {
		row.reference = sweep.Baseline
	}
	for _, f := range []struct {
		to   *string
		from json.RawMessage
	}{{&row.at, raw.At}, {&row.contract, raw.Contract}, {&row.server, raw.Server}, {&row.level, raw.Level}} {
		s, err := compactRaw(f.from)
		if err != nil {
			return cellRow{}, err
		}
		*f.to = s
	}
	if row.level == "{}" || row.level == "null" {
		row.level = ""
	}
	return row, row.setBars(c.Cell.Contract.SLO)
}

// compactRaw drops the white space of JSON text; what is absent becomes an empty object.
func compactRaw(raw json.RawMessage) (string, error) {
	if len(raw) == 0 {
		return "{}", nil
	}
	return compactJSON(raw)
}

func (r *cellRow) setBars(slo *schema.SLO) error {
	if slo == nil {
		return nil
	}
	r.hasSLO = true
	for _, bar := range []struct {
		to   *int64
		name string
		text schema.Duration
	}{{&r.ttftNS, "ttft", slo.Ttft}, {&r.tpotNS, "tpot", slo.Tpot}, {&r.e2eNS, "e2e", slo.E2e}} {
		if bar.text == "" {
			continue
		}
		d, err := time.ParseDuration(string(bar.text))
		if err != nil {
			return fmt.Errorf("contract.slo.%s: %w", bar.name, err)
		}
		*bar.to = d.Nanoseconds()
	}
	return nil
}
