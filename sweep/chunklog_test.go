package sweep_test

import (
	"slices"
	"testing"

	"github.com/inference-sweep/sweep/sweep"
)

func readLog(log []byte) (chunks []sweep.Chunk, err error) {
	for c, e := range sweep.Chunks(log) {
		if e != nil {
			return chunks, e
		}
		chunks = append(chunks, c)
	}
	return chunks, nil
}

func TestChunkLogRoundTrip(t *testing.T) {
	want := []sweep.Chunk{
		{AtNS: 100_000_000, Tokens: 1, Kind: sweep.ChunkText}, {AtNS: 100_000_000, Tokens: sweep.None, Kind: sweep.ChunkReasoning},
		{AtNS: 120_000_001, Tokens: 0, Kind: sweep.ChunkTool}, {AtNS: 120_000_002, Tokens: 1 << 40, Kind: sweep.ChunkUsage},
	}
	var log []byte
	prev := int64(0)
	for _, c := range want {
		log = sweep.AppendChunk(log, prev, c)
		prev = c.AtNS
	}
	got, err := readLog(log)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	if _, err := readLog(log[:len(log)-1]); err == nil {
		t.Error("half an event is taken")
	}
	room := make([]byte, 0, 64)
	if n := testing.AllocsPerRun(100, func() { sweep.AppendChunk(room, 5, want[0]) }); n != 0 {
		t.Errorf("%v allocations an event", n)
	}
}

func FuzzChunks(f *testing.F) {
	f.Add([]byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, log []byte) {
		chunks, err := readLog(log)
		if err != nil {
			return
		}
		var again []byte
		prev := int64(0)
		for _, c := range chunks {
			if c.AtNS < prev {
				return // a time beyond 64 bits wrapped: no writer makes one
			}
			again = sweep.AppendChunk(again, prev, c)
			prev = c.AtNS
		}
		if back, err := readLog(again); err != nil || !slices.Equal(back, chunks) {
			t.Errorf("%v, %v, want %v", back, err, chunks)
		}
	})
}
