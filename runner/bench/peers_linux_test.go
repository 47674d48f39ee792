package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"
)

// peerResult is what the program that runs other tools' clients prints.
type peerResult struct {
	TTFTMS []float64 `json:"ttft_ms"`
	GapMS  []float64 `json:"gap_ms"` // missing where the client does not say
	CPUS   float64   `json:"cpu_s"`
}

// comparePeers runs each other client once under the bursts, and the reader that only reads and this client in turn,
// round after round: theirs are the medians.
func comparePeers(ctx context.Context, w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "client\tstreams\tanswers\tmean TTFT added, ms\tsd of gaps, ms\tserver's own, ms\tprocessor, s\t\n")
	var silent []string
	for _, n := range []int{1, 100, 500, 1000} {
		if !wanted(burst(n).Name) {
			continue
		}
		runs, err := inTurn(ctx, burst(n).Name, burst(n).rounds(), func(client string) (figures, error) { return runPattern(client, burst(n), "") })
		if err != nil {
			return err
		}
		for _, client := range []string{"raw", "ours"} {
			of := func(part func(figures) float64) string {
				var all []float64
				for _, f := range runs[client] {
					all = append(all, part(f))
				}
				return short(median(all))
			}
			fmt.Fprintf(t, "%s\t%d\t%d\t%s\t%s\t%s\t%s\t\n", peerName(client), n, n, of(func(f figures) float64 { return f.TTFTAddedMS }),
				of(func(f figures) float64 { return f.GapSDMS }), of(func(f figures) float64 { return f.ServerGapSDMS }), of(func(f figures) float64 { return f.CPUSeconds }))
		}
		for client := range strings.SplitSeq(*clientsFlag, ",") {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			fmt.Fprintf(os.Stderr, "bench: %s, %d streams\n", client, n)
			line, err := runPeer(ctx, client, n)
			if err != nil {
				silent = append(silent, fmt.Sprintf("%s, %d streams: no figures: %v", client, n, err))
				continue
			}
			fmt.Fprintf(t, "%s\t%d\t%s\n", client, n, line)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, line := range silent {
		fmt.Fprintln(w, line)
	}
	return nil
}

func peerName(client string) string {
	if client == "ours" {
		return "sweep"
	}
	return "raw epoll"
}

// runPeer runs another client once, one request on each of n streams, and sets its row.
func runPeer(ctx context.Context, client string, n int) (string, error) {
	server, err := startServer(known, -1)
	if err != nil {
		return "", err
	}
	defer server.end()
	program, err := filepath.Abs(*peersFlag)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, program, "run", client, server.URL, digits(n), digits(n))
	if cmd.Dir, err = os.MkdirTemp("", "sweep-bench-peer-"); err != nil { // some leave logs where they run
		return "", err
	}
	defer os.RemoveAll(cmd.Dir)
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := err.(*exec.ExitError); ok {
			lines := strings.Split(strings.TrimSpace(string(exit.Stderr)), "\n")
			return "", fmt.Errorf("%s", lines[len(lines)-1])
		}
		return "", err
	}
	var p peerResult
	if err := json.Unmarshal(out, &p); err != nil {
		return "", err
	}
	exchanges, err := server.take()
	if err != nil {
		return "", err
	}
	if len(exchanges) == 0 {
		return "", errors.New("the server saw no request")
	}
	kept, gaps := keptByServer(exchanges)
	gapSD := math.NaN()
	if len(p.GapMS) > 1 {
		gapSD = deviation(p.GapMS)
	}
	return fmt.Sprintf("%d\t%s\t%s\t%s\t%s\t", len(p.TTFTMS), short(mean(p.TTFTMS)-mean(kept)), short(gapSD), short(deviation(gaps)), short(p.CPUS)), nil
}

// keptByServer are the times to the first event and the gaps that a server kept, in milliseconds.
func keptByServer(exchanges []Exchange) (ttfts, gaps []float64) {
	for _, x := range exchanges {
		ttfts = append(ttfts, float64(x.WriteNS[0]-x.RequestNS)/1e6)
		for i := 1; i < len(x.WriteNS); i++ {
			gaps = append(gaps, float64(x.WriteNS[i]-x.WriteNS[i-1])/1e6)
		}
	}
	return ttfts, gaps
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
