package report

import "github.com/inference-sweep/sweep/sweep"

// Table is what a report says, before it is set in any format.
type Table struct {
	// Kind is one of Kinds, or "plan".
	Kind string
	// Sweep is the name of what is shown.
	Sweep string
	// Title says in one line what is shown of which sweep.
	Title   string
	Columns []Column
	Rows    []Row
	Legend  Legend
	// Without names the columns that a lean table lacks.
	Without string
	// View holds the same figures as the public view has them: what CSV and JSON print.
	View View
	// Command and Provenance say how it was made.
	Command    string
	Provenance map[string]string
}

// Column is one column of a printed table.
type Column struct {
	// Group, Name and Unit make the header: "warm-up", "TTFT p50", "ms". Columns of one group stay together.
	Group, Name, Unit string
	// Number says that the entries are figures: aligned by their decimal point.
	Number bool
	// Key columns say what a row is about; they are repeated where a table is folded.
	Key bool
	// Wrap says that the entries are prose, which may be broken over lines.
	Wrap bool
	// Extra columns are left out where a page has no room for all: in LaTeX.
	Extra bool
}

// Row is one line of a printed table.
type Row struct {
	// Section heads a group of rows; it is printed where it differs from the row before.
	Section string
	Values  []Value
	// Marks are positions in Legend.Marks, printed as letters beside the row's name.
	Marks []int
	// Reference are the marks of the cell that the row's is compared with, and that it does not carry itself.
	Reference []int
	// Verdict is valid, suspect or invalid.
	Verdict string
}

// Legend is what a reader needs who has never seen the tool: it ends every printed table.
type Legend struct {
	// Totals add up a plan.
	Totals []Entry
	// Contract is what all rows share, and what varies between them.
	Contract []Entry
	// Definitions say what the columns mean.
	Definitions []Entry
	// Marks are the flags of the rows, in words.
	Marks []Mark
	// Missing says why an entry is a dash.
	Missing []Entry
	// LeftOut names the blocks that no figure uses, and why.
	LeftOut []Entry
	// Source says what the table was made by.
	Source []Entry
}

// Entry is a term and what is said of it.
type Entry struct {
	Term string `json:"term"`
	Text string `json:"text"`
}

// Mark is one flag code in the legend.
type Mark struct {
	// Letter stands beside the rows that carry the flag; where it is empty, Term says what does, or is the code itself
	// where the rows name it.
	Letter   string
	Term     string
	Code     string
	Severity sweep.Severity
	// Meaning is the flag in words, Details its numbers: Term names the cells.
	Meaning string
	Details []Entry
}

// View is a table as the public views have it: columns by their exact names, values in full precision.
type View struct {
	Columns []string
	// Rows hold string, int64, float64, []string, or nil for NULL.
	Rows [][]any
}
