package cue

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// named says where the contract names what a field of the request body would override.
var named = map[string]string{
	"model": "contract.model", "prompt": "contract.prompt", "messages": "contract.prompt",
	"max_tokens": "contract.output.length", "max_completion_tokens": "contract.output.length", "n_predict": "contract.output.length",
	"temperature": "contract.sampling.temperature", "top_p": "contract.sampling.topP", "top_k": "contract.sampling.topK",
	"min_p": "contract.sampling.minP", "seed": "contract.sampling.seed", "stop": "contract.sampling.stop",
	"ignore_eos": "contract.sampling.ignoreEOS", "min_tokens": "contract.sampling.ignoreEOS",
	"cache_prompt": "contract.prefixCache.enabled",
}

// reserved says why a header, in small letters, is not a definition's to set, and what to write.
var reserved = map[string][2]string{
	"x-request-id":      {"every request carries its own", "leave it out"},
	"authorization":     {"a key is named, never written", `write server: key: fromEnv: "API_KEY"`},
	"host":              {"it is the target's", "leave it out"},
	"content-type":      {"it is that of the body", "leave it out"},
	"content-length":    {"it is that of the body", "leave it out"},
	"transfer-encoding": {"it is that of the body", "leave it out"},
	"accept":            {"contract.streaming says it", "leave it out"},
	"accept-encoding":   {"answers are timed as they are sent, not compressed", "leave it out"},
	"connection":        {"connections are the runner's", "leave it out"},
	"keep-alive":        {"connections are the runner's", "leave it out"},
	"proxy-connection":  {"connections are the runner's", "leave it out"},
	"upgrade":           {"connections are the runner's", "leave it out"},
	"te":                {"connections are the runner's", "leave it out"},
	"trailer":           {"connections are the runner's", "leave it out"},
	"expect":            {"a body is sent at once", "leave it out"},
}

// request refuses fields and headers that would change what is measured behind the contract's back, and what no server
// could read.
func (c *cellCheck) request() {
	if c.cell.Contract.Request == nil {
		return
	}
	for _, field := range slices.Sorted(maps.Keys(c.cell.Contract.Request.Extra)) {
		c.field(field)
	}
	seen := map[string]string{}
	c.headerNames()
	for _, name := range slices.Sorted(maps.Keys(c.cell.Contract.Request.Headers)) {
		c.header(name, c.cell.Contract.Request.Headers[name])
		if other := seen[strings.ToLower(name)]; other != "" {
			c.report("contract.request.headers."+name, "is "+other+" in another spelling", "leave one out")
		}
		seen[strings.ToLower(name)] = name
	}
}

func (c *cellCheck) field(name string) {
	path := "contract.request.extra." + name
	switch {
	case strings.ContainsFunc(name, unprintable):
		c.report("contract.request.extra", strconv.QuoteToASCII(name)+" is no field's name", "write it without control characters")
	case name == "stream":
		c.report(path, "is not this place's to set", "write contract.streaming")
	case name == "stream_options" || name == "return_token_ids":
		c.report(path, "is not this place's to set: tokens are asked for wherever the engine counts them", "leave it out")
	case name == "n" || name == "best_of":
		c.report(path, "is not to be set: a request has one answer", "leave it out")
	case named[name] != "":
		c.report(path, "has a name in the contract", "write "+named[name])
	}
}

// aToken is what a header's name can be (RFC 9110, section 5.6.2).
var aToken = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// headerNames refuses what is no header's name. Such a name cannot stand in a path.
func (c *cellCheck) headerNames() {
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(c.cell.Contract.Request.Headers)) {
		if !aToken.MatchString(name) {
			wrong = append(wrong, strconv.QuoteToASCII(name))
		}
	}
	if len(wrong) > 0 {
		c.report("contract.request.headers", "no header can be called "+strings.Join(wrong, " or "), "a name has letters, digits and dashes")
	}
}

// header never prints a value: one may be a secret that was written by mistake.
func (c *cellCheck) header(name string, value any) {
	path := "contract.request.headers." + name
	if !aToken.MatchString(name) {
		return
	}
	// A scheme other than the bearer's has no other place; as a secret it is recorded nowhere.
	_, plain := value.(string)
	schemed := strings.EqualFold(name, "authorization") && !plain && c.cell.Server.Key == nil
	if why, ok := reserved[strings.ToLower(name)]; ok && !schemed {
		c.report(path, "is not this place's to set: "+why[0], why[1])
		return
	}
	control := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
	if text, ok := value.(string); ok && strings.ContainsFunc(text, control) {
		c.report(path, fmt.Sprintf("the value has a line break or another control character (%d bytes)", len(text)), "a header is one line")
	}
}
