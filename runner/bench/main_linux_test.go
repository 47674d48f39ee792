package bench

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"testing"
)

var (
	compareFlag = flag.Bool("compare", false, "compare this client with a reader that only reads, instead of testing")
	roundsFlag  = flag.Int("rounds", 5, "how often each pattern is run with each client, a burst three times as often")
	onlyFlag    = flag.String("only", "", "the `PATTERNS` to compare, separated by commas; all by default")
	peersFlag   = flag.String("peers", "", "a `PROGRAM` that runs other tools' clients: PROGRAM run CLIENT URL STREAMS REQUESTS")
	clientsFlag = flag.String("clients", "vllm-bench-serve,aiperf,guidellm,genai-bench,inference-perf", "the other tools' `CLIENTS`, separated by commas")
	profileFlag = flag.String("profile", "", "write a processor profile of this client's last run of each pattern into this `FOLDER`")
)

// This binary is also the null server and each client of a comparison, every one in a process of its own.
func TestMain(m *testing.M) {
	if text := os.Getenv(roleVariable); text != "" {
		if err := play(text); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	if !*compareFlag {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := compareAll(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
