package store

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Views lists the public views by name.
var Views = []string{
	"cell", "point", "trial", "request", "latency", "settling", "goodput", "variance", "comparison", "launch", "answer", "capacity",
	"quality", "flag", "observation", "sample", "provenance", "sitting", "exclusion",
}

// View reads a public view whole: its columns, and its rows one by one, each a fresh slice of nil, int64, float64,
// string or []byte. An empty sweepName means every sweep; a view without a sweep of its own (observation, sample) is
// read by the sweep of its trial. It yields an error, once and last, where reading fails.
func (db *DB) View(name, sweepName string) ([]string, iter.Seq2[[]any, error], error) {
	if !slices.Contains(Views, name) {
		return nil, nil, fmt.Errorf("there is no view %s; there are %s", name, strings.Join(Views, ", "))
	}
	query, args := "SELECT * FROM "+name, []any(nil)
	if sweepName != "" {
		args = []any{sweepName}
		query += " WHERE sweep = ?"
		if name == "observation" || name == "sample" {
			query = "SELECT * FROM " + name + " WHERE trial IN (SELECT trial FROM raw_trial WHERE sweep = ?)"
		}
	}
	columns, err := db.viewColumns(name)
	if err != nil {
		return nil, nil, err
	}
	return columns, db.viewRows(name, query, args, len(columns)), nil
}

func (db *DB) viewColumns(name string) ([]string, error) {
	rows, err := db.readers.QueryContext(background, "SELECT * FROM "+name+" LIMIT 0")
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	defer rows.Close()
	return rows.Columns()
}

func (db *DB) viewRows(name, query string, args []any, width int) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		rows, err := db.readers.QueryContext(background, query, args...)
		if err != nil {
			yield(nil, fmt.Errorf("read %s: %w", name, err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			row, to := make([]any, width), make([]any, width)
			for i := range row {
				to[i] = &row[i]
			}
			if err := rows.Scan(to...); err != nil {
				yield(nil, fmt.Errorf("read %s: %w", name, err))
				return
			}
			if !yield(row, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(nil, fmt.Errorf("read %s: %w", name, err))
		}
	}
}
