package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/inference-sweep/sweep/runner/sim"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const simExample = `  sweep sim --port 8000 --max-num-seqs 16
  curl -N localhost:8000/v1/completions -d '{"model":"sim/small","prompt":[1,2,3],"max_tokens":5,"stream":true}'
  sweep run experiments/load.cue -t target=http://127.0.0.1:8000`

func (a *app) simVerb() *cobra.Command {
	var o simOptions
	cmd := &cobra.Command{
		Use: "sim", Short: "serve the embedded engine on a port",
		Long: `sim serves the embedded engine: a seeded model of an LLM server with continuous batching, behind the OpenAI-compatible
wire. It is what target "sim" launches, and any other client can be pointed at it. It is a model of no real hardware.`,
		Example: simExample, Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.port < 0 || o.port > 65535 {
				return usage(fmt.Sprintf("--port %d is no port", o.port), "a port is 1 to 65535; 0 takes a free one")
			}
			ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			if o.withParent {
				ctx = endsWith(ctx, a.stdin)
			}
			return a.serveSim(ctx, o.resolved(), net.JoinHostPort(o.host, strconv.Itoa(o.port)))
		},
	}
	cmd.Flags().SortFlags = false
	o.flags(cmd.Flags())
	return cmd
}

// simOptions are the flags of the verb sim.
type simOptions struct {
	config     sim.Config
	host       string
	port       int
	withParent bool
	off        negations
}

// resolved is the configuration that the flags ask for.
func (o *simOptions) resolved() sim.Config {
	for _, apply := range o.off {
		apply()
	}
	return o.config
}

// flags spells the engine's options as vLLM does where it has them.
func (o *simOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.host, "host", "127.0.0.1", "the `ADDRESS` to listen on")
	f.IntVar(&o.port, "port", 8000, "the port to listen on; 0 takes a free one")
	f.BoolVar(&o.withParent, "with-parent", false, "end when standard input does: a program that starts sim and holds that open takes it along, however it ends itself")
	o.config = sim.Default()
	c, off := &o.config, &o.off
	f.StringVar(&c.Model, "model", c.Model, "the model's id")
	f.StringVar(&c.ServedModelName, "served-model-name", c.ServedModelName, "the name that requests ask for (default: the id)")
	f.StringVar(&c.Revision, "revision", c.Revision, "the model's commit")
	f.IntVar(&c.MaxNumSeqs, "max-num-seqs", c.MaxNumSeqs, "sequences that run at once: the batch limit")
	f.IntVar(&c.MaxNumBatchedTokens, "max-num-batched-tokens", c.MaxNumBatchedTokens, "tokens that one step computes")
	f.IntVar(&c.MaxModelLen, "max-model-len", c.MaxModelLen, "context length, in tokens")
	f.IntVar(&c.BlockSize, "block-size", c.BlockSize, "tokens in a block of the key-value cache")
	f.IntVar(&c.NumGPUBlocks, "num-gpu-blocks-override", c.NumGPUBlocks, "blocks of the key-value cache")
	off.pair(f, &c.EnablePrefixCaching, "enable-prefix-caching", "keep blocks for later prompts that begin alike")
	off.pair(f, &c.EnableChunkedPrefill, "enable-chunked-prefill", "split prompts over steps")
	off.pair(f, &c.EnablePromptTokensDetails, "enable-prompt-tokens-details", "show a prompt's cached tokens in its usage")
	off.pair(f, &c.EnableForceIncludeUsage, "enable-force-include-usage", "put a usage on every event")
	off.pair(f, &c.EnablePerRequestMetrics, "enable-per-request-metrics", "add the server's own times to the usage")
	off.pair(f, &c.EnableRequestIDHeaders, "enable-request-id-headers", "return X-Request-Id as a header")
	f.IntVar(&c.StreamInterval, "stream-interval", c.StreamInterval, "tokens in one streamed event")
	f.IntVar(&c.MaxNumQueuedReqs, "max-num-queued-reqs", c.MaxNumQueuedReqs, "refuse with 503 beyond so many waiting; 0 refuses none")
	f.StringVar(&c.APIKey, "api-key", c.APIKey, "a bearer token that requests have to carry")
	f.DurationVar(&c.FrontEnd, "front-end", c.FrontEnd, "what a request spends before the scheduler sees it")
	f.DurationVar(&c.StepBase, "step-base", c.StepBase, "a step's fixed part")
	f.DurationVar(&c.StepPerSeq, "step-per-seq", c.StepPerSeq, "added for each sequence that decodes")
	f.DurationVar(&c.StepPerPromptToken, "step-per-prompt-token", c.StepPerPromptToken, "added for each prompt token computed")
	f.DurationVar(&c.Startup, "startup", c.Startup, "from the start until requests are accepted")
	f.DurationVar(&c.CompilePenalty, "compile-penalty", c.CompilePenalty, "added where a prompt of a new shape is first computed")
	f.Float64Var(&c.Jitter, "jitter", c.Jitter, "relative standard deviation of a step's time")
	f.Int64Var(&c.Seed, "seed", c.Seed, "decides jitter and answers")
}

// negations are switches that have a twin --no-NAME.
type negations []func()

func (n *negations) pair(f *pflag.FlagSet, value *bool, name, what string) {
	f.BoolVar(value, name, *value, what+" (or --no-"+name+")")
	no := f.Bool("no-"+name, false, "the opposite of --"+name)
	f.Lookup("no-" + name).Hidden = true
	*n = append(*n, func() {
		if *no {
			*value = false
		}
	})
}

// endsWith is a context that ends at the end of a stream, which a parent holds open as long as it lives.
func endsWith(ctx context.Context, stream io.Reader) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		io.Copy(io.Discard, stream)
		cancel()
	}()
	return ctx
}

func (a *app) serveSim(ctx context.Context, config sim.Config, address string) error {
	server, err := sim.New(config)
	if err != nil {
		return usage(err.Error(), "sweep sim --help lists the options")
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return &hintError{err, "--port 0 takes a free one"}
	}
	fmt.Fprintf(a.stdout, "listening on http://%s\n", listener.Addr())
	return server.Serve(ctx, listener)
}
