package store

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"strings"
)

// queryer is what rows are read through: the readers' pool, or the writer's connection where a transaction reads what
// it has written itself.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// background is for every statement: none of them is to be cut short, and a context that can end would make the driver
// watch it.
var background = context.Background()

func names(columns []column) []string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = c.name
	}
	return list
}

// values are the fields of columns as arguments, in order.
func values(columns []column) []any {
	list := make([]any, len(columns))
	for i, c := range columns {
		list[i] = c.field
	}
	return list
}

func insertSQL(table string, columns []column) string {
	marks := strings.TrimSuffix(strings.Repeat("?,", len(columns)), ",")
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", table, strings.Join(names(columns), ", "), marks)
}

// insertOne stores a row and returns its rowid.
func insertOne(c *sql.Conn, table string, columns []column) (int64, error) {
	result, err := c.ExecContext(background, insertSQL(table, columns), values(columns)...)
	if err != nil {
		return 0, fmt.Errorf("insert into %s: %w", table, err)
	}
	return result.LastInsertId()
}

// insertAll stores rows of one type; key holds the columns that all of them share.
func insertAll[T any](c *sql.Conn, table string, key []column, rows []T, columns func(*T) []column) error {
	if len(rows) == 0 {
		return nil
	}
	insert, err := c.PrepareContext(background, insertSQL(table, append(key[:len(key):len(key)], columns(&rows[0])...)))
	if err != nil {
		return fmt.Errorf("insert into %s: %w", table, err)
	}
	defer insert.Close()
	for i := range rows {
		all := append(key[:len(key):len(key)], columns(&rows[i])...)
		if _, err := insert.ExecContext(background, values(all)...); err != nil {
			return fmt.Errorf("insert into %s: %w", table, err)
		}
	}
	return nil
}

// updateOne sets the columns of the rows that where picks.
func updateOne(c *sql.Conn, table string, columns []column, where string, args ...any) error {
	query := fmt.Sprintf("UPDATE %s SET %s = ? WHERE %s", table, strings.Join(names(columns), " = ?, "), where)
	result, err := c.ExecContext(background, query, append(values(columns), args...)...)
	if err != nil {
		return fmt.Errorf("update %s: %w", table, err)
	}
	if n, err := result.RowsAffected(); err == nil && n == 0 {
		return fmt.Errorf("update %s: there is no row where %s of %v", table, where, args)
	}
	return nil
}

// stream reads rows one by one, each into a fresh value. rest is what follows FROM table.
func stream[T any](q queryer, table string, columns func(*T) []column, rest string, args ...any) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		var row *T
		next := func() []any {
			row = new(T)
			return values(columns(row))
		}
		for err := range scan(q, table, names(columns(new(T))), next, rest, args...) {
			if err != nil {
				row = nil
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// scan reads rows one by one into what next gives. It yields nil after each row, and an error once and last.
func scan(q queryer, table string, columns []string, next func() []any, rest string, args ...any) iter.Seq[error] {
	return func(yield func(error) bool) {
		rows, err := q.QueryContext(background, fmt.Sprintf("SELECT %s FROM %s %s", strings.Join(columns, ", "), table, rest), args...)
		if err != nil {
			yield(fmt.Errorf("read %s: %w", table, err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			if err := rows.Scan(next()...); err != nil {
				yield(fmt.Errorf("read %s: %w", table, err))
				return
			}
			if !yield(nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(fmt.Errorf("read %s: %w", table, err))
		}
	}
}

// selectAll reads rows into a slice.
func selectAll[T any](q queryer, table string, columns func(*T) []column, rest string, args ...any) ([]T, error) {
	var all []T
	for row, err := range stream(q, table, columns, rest, args...) {
		if err != nil {
			return nil, err
		}
		all = append(all, *row)
	}
	return all, nil
}
