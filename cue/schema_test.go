package cue

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"strings"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"github.com/google/go-cmp/cmp"

	"github.com/inference-sweep/sweep/schema"
)

// TestDefaults derives the table of defaults from the schema itself.
func TestDefaults(t *testing.T) {
	s, err := open("../experiments/batch.cue")
	if err != nil {
		t.Fatal(err)
	}
	instance, err := s.load(nil, true)
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{source: s}
	r.evaluate(instance)
	got := map[string]any{}
	defaultsUnder(t, r.schema, r.schema.LookupPath(cue.ParsePath("#Cell")), "", got)
	if diff := cmp.Diff(got, schema.Defaults()); diff != "" {
		t.Errorf("defaults (-schema +table):\n%s", diff)
	}
	one, two := schema.Defaults(), schema.Defaults()
	delete(one, "tail")
	if maps.Equal(one, two) {
		t.Error("a caller's change to the table shows in another's")
	}
}

// guarded are the fields whose check at the use keeps their defaults from showing there: they are read at the definition.
var guarded = map[string]string{
	"contract.prompt.length": "#Lengths", "contract.output.length": "#Lengths", "contract.prefixCache": "#PrefixCache",
	"contract.load": "#Load", "contract.load.open": "#Open", "contract.slo": "#SLO", "measure": "#Measure", "warmup": "#Warmup",
}

// defaultsUnder collects the defaults of v's leaves, those of optional fields too.
func defaultsUnder(t *testing.T, root, v cue.Value, path string, into map[string]any) {
	fields, err := v.Fields(cue.Optional(true))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for fields.Next() {
		field, at := fields.Value(), strings.TrimPrefix(path+"."+fields.Selector().Unquoted(), ".")
		value, ok := field.Default()
		switch kind := field.IncompleteKind(); {
		case guarded[at] != "":
			defaultsUnder(t, root, root.LookupPath(cue.ParsePath(guarded[at])), at, into)
		case kind == cue.BottomKind:
			t.Errorf("%s: %v", at, field.Err())
		case kind == cue.StructKind:
			defaultsUnder(t, root, field, at, into)
		case ok && kind != cue.ListKind:
			var plain any
			text, err := value.MarshalJSON()
			if err == nil {
				err = json.Unmarshal(text, &plain)
			}
			if err != nil {
				t.Fatalf("%s: %v", at, err)
			}
			into[at] = plain
		}
	}
}

// TestGeneratedTypes: the Go types are those of the CUE files. go generate ./schema makes them.
func TestGeneratedTypes(t *testing.T) {
	want, err := os.ReadFile("../schema/cue_types_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	if got := cueCommand(t, "..", "exp", "gengotypes", "-o", "-", "./schema"); !bytes.Equal(got, want) {
		t.Errorf("schema/cue_types_gen.go is old (-file +generated):\n%s", cmp.Diff(string(want), string(got)))
	}
}

// TestPlainCue: the cue command takes the schema and the experiments as they are.
func TestPlainCue(t *testing.T) {
	cueCommand(t, "..", "vet", "-c", "./schema", "./experiments")
	cueCommand(t, "..", "vet", "-c", "./experiments/lesson", "-t", "revision=0123456")
	cueCommand(t, "..", "vet", "-c", "-d", "#Sweep", "./schema", "experiments/plain.yaml")
	if old := cueCommand(t, "..", "fmt", "--check", "./schema", "./experiments", "./experiments/lesson"); len(old) > 0 {
		t.Errorf("cue fmt would change %s", old)
	}
}

// TestLightSchema: without its expansion the schema still compiles, and knows every name but plan.
func TestLightSchema(t *testing.T) {
	s, err := open("../experiments/batch.cue")
	if err != nil {
		t.Fatal(err)
	}
	instance, err := s.load(nil, false)
	if err != nil {
		t.Fatal(err)
	}
	v := cuecontext.New().BuildInstance(instance)
	if err := v.Validate(cue.Concrete(true), cue.All()); err != nil {
		t.Error(err)
	}
	if v.LookupPath(cue.ParsePath("batch.plan")).Exists() {
		t.Error("there is a plan")
	}
}
