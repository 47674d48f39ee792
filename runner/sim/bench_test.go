package sim

import (
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkEvents is how many events a second leave the server over loopback, read by raw sockets in the same process.
func BenchmarkEvents(b *testing.B) {
	for _, streams := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("streams=%d", streams), func(b *testing.B) {
			cfg := quick()
			cfg.StepBase, cfg.Jitter = time.Microsecond, 0
			_, addr := onTCP(b, cfg)
			tokens := max(2, b.N/streams)
			raw := rawPost("/v1/completions", fmt.Sprintf(`{"prompt":"x","max_tokens":%d,"ignore_eos":true,"stream":true}`,
				min(tokens, cfg.MaxModelLen/2)), "Connection: close")
			b.ResetTimer()
			var all sync.WaitGroup
			var bytes atomic.Int64
			for range streams {
				all.Go(func() {
					for left := tokens; left > 0; left -= cfg.MaxModelLen / 2 {
						conn, err := net.Dial("tcp", addr)
						if err != nil {
							b.Error(err)
							return
						}
						_, _ = conn.Write([]byte(raw))
						n, _ := io.Copy(io.Discard, conn)
						conn.Close()
						bytes.Add(n)
					}
				})
			}
			all.Wait()
			if least := int64(200 * tokens * streams); bytes.Load() < least {
				b.Errorf("%d bytes came, %d events have more than %d", bytes.Load(), tokens*streams, least)
			}
			b.ReportMetric(float64(tokens*streams)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkEvent is the cost of one event's bytes.
func BenchmarkEvent(b *testing.B) {
	s, err := New(Default())
	if err != nil {
		b.Fatal(err)
	}
	q := sequenceOf(s, fresh(8), 1000)
	f := s.form(&asked{}, q, false, "")
	buf := make([]byte, 0, 1024)
	b.ReportAllocs()
	for i := range b.N {
		buf = f.event(buf[:0], i%999, i%999+1)
	}
}

// BenchmarkStep is the scheduler's own cost of a step with a full batch.
func BenchmarkStep(b *testing.B) {
	cfg := exact()
	cfg.NumGPUBlocks = 1 << 17
	s, err := New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	d := newScheduler(cfg)
	now := time.Now()
	for range cfg.MaxNumSeqs {
		d.submit(sequenceOf(s, fresh(8), 1), now)
	}
	for _, q := range d.waiting {
		q.target = 1 << 40
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		d.begin(now)
		d.end(now)
		if len(d.running) > 0 && d.running[0].computed > 4000 {
			b.StopTimer()
			for len(d.running) > 0 {
				d.preemptLast()
			}
			for _, q := range d.waiting {
				q.produced.Store(0)
				q.hashes = q.hashes[:0]
			}
			b.StartTimer()
		}
	}
}
