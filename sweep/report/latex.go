package report

func setLaTeX(t *Table, o Options) string { return "" }
