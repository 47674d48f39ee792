package report

// Wrap breaks a text into lines of at most width columns, at its spaces; the lines after the first begin with hang. Its own
// line breaks stay.
func Wrap(text string, width int, hang string) string { return wrapped(text, width, hang) }
