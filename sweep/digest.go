package sweep

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/inference-sweep/sweep/schema"
)

// ProtocolVersion counts the changes to how a trial is measured that make its figures another measurement. It is part
// of every digest.
const ProtocolVersion = 1

// Digest identifies a measurement: SHA-256 over the canonical JSON of the leaves that count, those equal to the
// schema's default left out, so that a new optional leaf does not orphan old results. Recorded lengths and arrivals
// count by their numbers, not by the name of their file; a URL by the server that it names, with or without /v1.
func Digest(leaves Leaves, traces map[string][]float64) string {
	defaults, kept := schema.Defaults(), map[string]string{}
	for path, value := range leaves {
		if fallback, ok := defaults[path]; ok && canonical(fallback) == canonical(value) {
			continue
		}
		kept[path] = canonical(value)
		if url, ok := value.(string); ok && path == "target" && isURL(url) {
			kept[path] = canonical(strings.TrimSuffix(strings.TrimRight(url, "/"), "/v1"))
		}
		if name, ok := value.(string); ok && strings.HasSuffix(path, ".trace") {
			kept[path] = "trace " + fmt.Sprint(traces[name])
		}
	}
	// encoding/json writes maps with their keys sorted, which makes the text canonical.
	text, err := json.Marshal(struct {
		Protocol int               `json:"protocol"`
		Leaves   map[string]string `json:"leaves"`
	}{ProtocolVersion, kept})
	if err != nil {
		panic(err) // strings and integers always marshal
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}
