package sweep

import "encoding/json"

// The embedded engine's own times, in seconds, and its limit on sequences: what it does unless its options say otherwise.
const (
	simFrontEndS    = 0.040
	simStepS        = 0.003
	simPerSequenceS = 0.0001
	simPerPromptS   = 0.00001 // for each prompt token
	simSequences    = 256
)

// simClosedRatePerS guesses how many requests a second the embedded engine with these options answers to clients that each
// wait for their answer, for prompts and answers of so many tokens. A request spends its time in the front end, and then one step a token; a step takes longer the more sequences
// run in it and the more prompts are admitted to it, and how many those are depends on how long a step takes.
func simClosedRatePerS(args map[string]any, prompt, output, clients, thinkS float64) float64 {
	frontS, stepS := argS(args, "front-end", simFrontEndS), argS(args, "step-base", simStepS)
	perSequenceS, perPromptS := argS(args, "step-per-seq", simPerSequenceS), argS(args, "step-per-prompt-token", simPerPromptS)
	tokens := max(output, 1)
	promptS := perPromptS * prompt
	room := min(clients, argNumber(args, "max-num-seqs", simSequences))
	running, servedS := room, 0.0
	for range 50 { // it settles in a few; halving each move keeps it from swinging
		servedS = tokens*(stepS+perSequenceS*running) + promptS*running
		running = (running + min(room, clients*servedS/(frontS+servedS+thinkS))) / 2
	}
	return running / servedS
}

// argNumber is an engine's option that is a number above 0, or what it is without one.
func argNumber(args map[string]any, name string, without float64) float64 {
	var x float64
	switch v := args[name].(type) {
	case float64:
		x = v
	case int:
		x = float64(v)
	case int64:
		x = float64(v)
	case json.Number:
		x, _ = v.Float64()
	}
	if x > 0 {
		return x
	}
	return without
}

// argS is an engine's option that is a duration, in seconds, or what it is without one.
func argS(args map[string]any, name string, withoutS float64) float64 {
	text, _ := args[name].(string)
	if d := Duration(text); text != "" && d >= 0 {
		return d.Seconds()
	}
	return withoutS
}
