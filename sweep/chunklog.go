package sweep

import (
	"encoding/binary"
	"errors"
	"iter"
)

// ChunkKind says what an output event carried.
type ChunkKind uint8

// The kinds of output events.
const (
	ChunkText ChunkKind = iota
	ChunkReasoning
	ChunkTool
	ChunkIDs   // token ids whose text is still empty
	ChunkUsage // only the usage count grew
	chunkKinds
)

var chunkKindNames = [chunkKinds]string{"text", "reasoning", "tool", "ids", "usage"}

func (k ChunkKind) String() string {
	if k < chunkKinds {
		return chunkKindNames[k]
	}
	return "unknown"
}

// Chunk is one output event: AtNS counts from sent, Tokens is None where the event did not say.
type Chunk struct {
	AtNS   int64
	Tokens int64
	Kind   ChunkKind
}

// AppendChunk appends one output event to a chunk log and returns the extended log; prevNS is the time of the event
// before it (0 for the first). It allocates only when dst has to grow.
//
// A log is a sequence of pairs of unsigned varints (encoding/binary): nanoseconds since the event before, or since
// sent for the first; then (tokens + 1) << 3 | kind, with 0 in place of tokens + 1 where the tokens are unknown.
func AppendChunk(dst []byte, prevNS int64, c Chunk) []byte {
	delta := max(c.AtNS-prevNS, 0)
	tokens := uint64(0)
	if c.Tokens != None && c.Tokens >= 0 {
		tokens = uint64(c.Tokens) + 1
	}
	dst = binary.AppendUvarint(dst, uint64(delta))
	return binary.AppendUvarint(dst, tokens<<3|uint64(c.Kind))
}

var errChunkLog = errors.New("chunk log ends inside an event")

// Chunks reads a chunk log in order. It yields an error, once and last, where the log is damaged.
func Chunks(log []byte) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		at := int64(0)
		for len(log) > 0 {
			delta, n := binary.Uvarint(log)
			if n <= 0 {
				yield(Chunk{}, errChunkLog)
				return
			}
			word, m := binary.Uvarint(log[n:])
			if m <= 0 {
				yield(Chunk{}, errChunkLog)
				return
			}
			log = log[n+m:]
			at += int64(delta)
			c := Chunk{AtNS: at, Tokens: None, Kind: ChunkKind(word & 7)}
			if t := word >> 3; t > 0 {
				c.Tokens = int64(t - 1)
			}
			if !yield(c, nil) {
				return
			}
		}
	}
}
