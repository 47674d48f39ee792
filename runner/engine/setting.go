package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/inference-sweep/sweep/sweep"
)

// Attached says that the cell's server is one that is up already, at a URL.
func Attached(c *sweep.Cell) bool {
	return strings.HasPrefix(c.Target, "http://") || strings.HasPrefix(c.Target, "https://")
}

// Setting identifies the launch that a cell needs, as sha256:HEX: cells with equal settings can share one life of a
// server. For a launched server it is over target, command, environment and image; a secret counts by its name. At a URL
// nothing is rendered, and it is over the target and the leaves that a command would be rendered from, so that a cell
// which would need another launch than the baseline's can be told.
func Setting(c *sweep.Cell) (string, error) {
	parts := map[string]any{
		"target": c.Target,
		"env":    Env(c),
		"image":  c.Contract.Engine.Image,
	}
	if Attached(c) {
		k := c.Contract
		parts["leaves"] = []any{k.Model, k.Engine, k.Hardware.Gpus, k.Precision, k.PrefixCache.Enabled, c.Server.Command}
	} else {
		command, err := Command(c)
		if err != nil {
			return "", err
		}
		parts["command"] = command
	}
	// Maps are written in the order of their keys, so equal parts are equal bytes.
	text, err := json.Marshal(parts)
	if err != nil {
		return "", fmt.Errorf("setting of cell %s: %w", c.Name(), err)
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// Env is what is added to the environment of the cell's server: server.env, and what the engine needs to do as the
// contract says. A value is text, or a secret as {"fromEnv": NAME}.
func Env(c *sweep.Cell) map[string]any {
	env := map[string]any{}
	// vLLM has the endpoint that empties its prefix cache only in this mode.
	if cache := c.Contract.PrefixCache; c.Contract.Engine.Name == "vllm" && cache.Enabled && cache.By == "reset" {
		env["VLLM_SERVER_DEV_MODE"] = "1"
	}
	maps.Copy(env, c.Server.Env)
	return env
}
