package store

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/inference-sweep/sweep/sweep"
)

// column is one column of a row: its name, and the field that it is written from and scanned into.
type column struct {
	name  string
	field field
}

// field is a pointer to a Go value that knows how it looks in SQL, in both directions.
type field interface {
	driver.Valuer
	sql.Scanner
}

// The kinds of fields. A "maybe" kind is NULL for the value that means "does not exist".
type (
	integer   struct{ p *int64 }
	count     struct{ p *int }
	boolean   struct{ p *bool }
	maybeBool struct{ p **bool }    // nil
	maybeInt  struct{ p *int64 }    // sweep.None
	maybeID   struct{ p *int64 }    // 0
	block     struct{ p *int }      // 0
	real      struct{ p *float64 }  // NaN
	maybeReal struct{ p **float64 } // nil
	text      struct{ p *string }
	maybeText struct{ p *string }         // ""
	blob      struct{ p *[]byte }         // empty
	lent      struct{ p *[]byte }         // a blob that is valid until the next row is read
	stamp     struct{ p *time.Time }      // zero; wall clock in UTC, to the microsecond
	list      struct{ p *[]string }       // a JSON list, never NULL; an empty one comes back nil
	object    struct{ p *map[string]any } // a JSON object; an empty one comes back nil
	jsonValue struct{ p *any }            // JSON, the types kept
)

// stampFormat is RFC 3339 with a fixed width, so that texts sort as times do.
const stampFormat = "2006-01-02T15:04:05.000000Z"

func (f integer) Value() (driver.Value, error) { return *f.p, nil }
func (f count) Value() (driver.Value, error)   { return int64(*f.p), nil }
func (f text) Value() (driver.Value, error)    { return *f.p, nil }

func (f boolean) Value() (driver.Value, error) {
	if *f.p {
		return int64(1), nil
	}
	return int64(0), nil
}

func (f maybeBool) Value() (driver.Value, error) {
	if *f.p == nil {
		return nil, nil
	}
	return boolean{*f.p}.Value()
}

func (f maybeInt) Value() (driver.Value, error) {
	if *f.p == sweep.None {
		return nil, nil
	}
	return *f.p, nil
}

func (f maybeID) Value() (driver.Value, error) {
	if *f.p == 0 {
		return nil, nil
	}
	return *f.p, nil
}

func (f block) Value() (driver.Value, error) {
	if *f.p == 0 {
		return nil, nil
	}
	return int64(*f.p), nil
}

func (f real) Value() (driver.Value, error) {
	if math.IsNaN(*f.p) {
		return nil, nil
	}
	return *f.p, nil
}

func (f maybeReal) Value() (driver.Value, error) {
	if *f.p == nil || math.IsNaN(**f.p) {
		return nil, nil
	}
	return **f.p, nil
}

func (f maybeText) Value() (driver.Value, error) {
	if *f.p == "" {
		return nil, nil
	}
	return *f.p, nil
}

func (f blob) Value() (driver.Value, error) {
	if len(*f.p) == 0 {
		return nil, nil
	}
	return *f.p, nil
}

func (f stamp) Value() (driver.Value, error) {
	if f.p.IsZero() {
		return nil, nil
	}
	return f.p.UTC().Format(stampFormat), nil
}

func (f list) Value() (driver.Value, error) {
	if len(*f.p) == 0 {
		return "[]", nil
	}
	return compactJSON(*f.p)
}

func (f object) Value() (driver.Value, error) {
	if len(*f.p) == 0 {
		return "{}", nil
	}
	return compactJSON(typed(*f.p))
}

func (f jsonValue) Value() (driver.Value, error) { return compactJSON(typed(*f.p)) }

func (f integer) Scan(v any) error { return scanInt(v, f.p, 0) }
func (f maybeInt) Scan(v any) error {
	return scanInt(v, f.p, sweep.None)
}
func (f maybeID) Scan(v any) error { return scanInt(v, f.p, 0) }
func (f count) Scan(v any) error   { return scanCount(v, f.p) }
func (f block) Scan(v any) error   { return scanCount(v, f.p) }

func (f boolean) Scan(v any) error {
	var n int64
	err := scanInt(v, &n, 0)
	*f.p = n != 0
	return err
}

func (f maybeBool) Scan(v any) error {
	*f.p = nil
	if v == nil {
		return nil
	}
	*f.p = new(bool)
	return boolean{*f.p}.Scan(v)
}

func (f real) Scan(v any) error {
	var p *float64
	err := maybeReal{&p}.Scan(v)
	*f.p = math.NaN()
	if p != nil {
		*f.p = *p
	}
	return err
}

func (f maybeReal) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*f.p = nil
	case float64:
		*f.p = &v
	case int64:
		x := float64(v)
		*f.p = &x
	default:
		return mismatch(v, "a number")
	}
	return nil
}

func (f text) Scan(v any) error      { return scanText(v, f.p) }
func (f maybeText) Scan(v any) error { return scanText(v, f.p) }

func (f blob) Scan(v any) error {
	b, ok := v.([]byte)
	if !ok && v != nil {
		return mismatch(v, "a blob")
	}
	*f.p = append([]byte(nil), b...)
	return nil
}

func (f lent) Value() (driver.Value, error) { return blob(f).Value() }

func (f lent) Scan(v any) error {
	b, ok := v.([]byte)
	if !ok && v != nil {
		return mismatch(v, "a blob")
	}
	*f.p = b
	return nil
}

func (f stamp) Scan(v any) error {
	var s string
	if err := scanText(v, &s); err != nil || s == "" {
		*f.p = time.Time{}
		return err
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	*f.p = t
	return err
}

func (f list) Scan(v any) error {
	var s string
	if err := scanText(v, &s); err != nil {
		return err
	}
	*f.p = nil
	if s == "" || s == "[]" {
		return nil
	}
	return json.Unmarshal([]byte(s), f.p)
}

func (f object) Scan(v any) error {
	var value any
	if err := (jsonValue{&value}).Scan(v); err != nil {
		return err
	}
	*f.p = nil
	if m, ok := value.(map[string]any); ok && len(m) > 0 {
		*f.p = m
	}
	return nil
}

func (f jsonValue) Scan(v any) error {
	var s string
	if err := scanText(v, &s); err != nil {
		return err
	}
	value, err := parseTyped(s)
	*f.p = value
	return err
}

func scanInt(v any, p *int64, missing int64) error {
	switch v := v.(type) {
	case nil:
		*p = missing
	case int64:
		*p = v
	default:
		return mismatch(v, "an integer")
	}
	return nil
}

func scanCount(v any, p *int) error {
	var n int64
	err := scanInt(v, &n, 0)
	*p = int(n)
	return err
}

func scanText(v any, p *string) error {
	switch v := v.(type) {
	case nil:
		*p = ""
	case string:
		*p = v
	case []byte:
		*p = string(v)
	default:
		return mismatch(v, "text")
	}
	return nil
}

func mismatch(v any, want string) error { return fmt.Errorf("%T stored in place of %s", v, want) }
