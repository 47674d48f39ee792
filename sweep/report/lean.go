package report

import (
	"slices"
	"strings"
)

// lean is a table without its extra columns, and without the definitions that are about them alone.
func (t *Table) lean() *Table {
	kept := *t
	kept.Columns, kept.Rows = nil, slices.Clone(t.Rows)
	for i := range kept.Rows {
		kept.Rows[i].Values = nil
	}
	var without []string
	for j, c := range t.Columns {
		if c.Extra {
			without = append(without, oneLine(c))
			continue
		}
		kept.Columns = append(kept.Columns, c)
		for i, row := range t.Rows {
			kept.Rows[i].Values = append(kept.Rows[i].Values, row.Values[j])
		}
	}
	grouped := map[string]int{}
	for _, c := range kept.Columns {
		grouped[c.Group]++
	}
	for j, c := range kept.Columns {
		if c.Group != "" && grouped[c.Group] == 1 && len(kept.Columns) < len(t.Columns) {
			kept.Columns[j].Group, kept.Columns[j].Name = "", c.Group // its unit tells it apart
		}
	}
	kept.Without = strings.Join(without, ", ")
	kept.Legend.Definitions = slices.DeleteFunc(slices.Clone(t.Legend.Definitions), kept.unused)
	return &kept
}

// unused says that a definition is about columns that a lean table does not have.
func (t *Table) unused(e Entry) bool {
	has := func(name string) bool {
		return slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Name == name })
	}
	return (e == defDue || e == defDueAndRequests) && !has("due") || strings.HasPrefix(e.Text, defVerdict.Text) && !has("verdict")
}
