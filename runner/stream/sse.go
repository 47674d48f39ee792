package stream

import "bytes"

// LineLimit is the longest line of an event stream, the longest event and the longest whole answer, in bytes.
const LineLimit = 8 << 20

// framer cuts an event stream into events: lines end with LF, CRLF or CR, wherever reads are cut; an event is its data
// lines, joined, and ends at an empty line. It keeps bytes only of what a read left unfinished.
type framer struct {
	part    []byte // a line without its end
	data    []byte // the data lines of the open event so far
	skipLF  bool   // the last line ended with CR: an LF that follows belongs to it
	started bool   // the first line, which may carry a byte order mark, is over
	lines   int    // data lines in data
	dataAt  int64  // when the last of them was complete
	isError bool   // the open event is called error
	tooLong bool
}

func (f *framer) reset() {
	*f = framer{part: shrink(f.part), data: shrink(f.data)}
}

// shrink empties a buffer for its next use, and lets go of one that an unusual stream has made large.
func shrink(b []byte) []byte {
	const keep = 64 << 10
	if cap(b) > keep {
		return nil
	}
	return b[:0]
}

// frame cuts what arrived at one moment into lines. Nothing after [DONE] or an error is looked at.
func (d *Decoder) frame(at int64, b []byte) {
	f := &d.framer
	if f.skipLF && len(b) > 0 {
		f.skipLF = false
		if b[0] == '\n' {
			b = b[1:]
		}
	}
	for len(b) > 0 && !d.over() {
		end := lineEnd(b)
		if end < 0 {
			f.keep(b)
			return
		}
		line, cr := b[:end], b[end] == '\r'
		b = b[end+1:]
		if cr {
			f.skipLF = len(b) == 0
			if len(b) > 0 && b[0] == '\n' {
				b = b[1:]
			}
		}
		if len(f.part) > 0 {
			f.keep(line)
			line = f.part
		}
		d.line(at, line)
		f.part = f.part[:0]
	}
}

// lineEnd is the index of the first LF or CR, or -1.
func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

func (f *framer) keep(b []byte) {
	if len(f.part)+len(b) > LineLimit {
		f.tooLong = true
		return
	}
	f.part = append(f.part, b...)
}

// line takes one line without its end. It belongs to the caller.
func (d *Decoder) line(at int64, line []byte) {
	f := &d.framer
	if !f.started {
		f.started = true
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	if len(line) == 0 {
		d.eventEnd()
		return
	}
	if value, ok := field(line, "data"); ok {
		d.dataLine(at, value)
		return
	}
	if value, ok := field(line, "event"); ok {
		f.isError = string(bytes.TrimSpace(value)) == "error"
	}
}

// field is the value of a line whose field has this name, without the one space that may stand before it.
func field(line []byte, name string) ([]byte, bool) {
	n := len(name)
	if len(line) < n || string(line[:n]) != name {
		return nil, false
	}
	if len(line) == n {
		return nil, true
	}
	if line[n] != ':' {
		return nil, false
	}
	value := line[n+1:]
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	return value, true
}

// dataLine takes a data line. A line that is a chunk by itself is an event at once: its time is then not that of the
// empty line behind it, and servers that leave the empty line out are read all the same.
func (d *Decoder) dataLine(at int64, value []byte) {
	f := &d.framer
	if f.lines == 0 && d.chunk(at, value) {
		return
	}
	if len(f.data)+len(value) > LineLimit {
		f.tooLong = true
		return
	}
	if f.lines > 0 {
		f.data = append(f.data, '\n')
	}
	f.data = append(f.data, value...)
	f.lines++
	f.dataAt = at
}

// eventEnd takes the empty line, or the end of the stream.
func (d *Decoder) eventEnd() {
	f := &d.framer
	if f.lines > 0 || f.isError {
		d.payload(f.dataAt, f.data)
	}
	f.data, f.lines, f.isError = f.data[:0], 0, false
}
