package engine

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/inference-sweep/sweep/sweep"
)

// Command renders what launches the cell's server: server.command as it stands where it is given, else from
// contract.model, contract.engine.args, contract.hardware.gpus, contract.precision, contract.prefixCache.enabled,
// server.port and server.servedModel. Equal cells give equal commands. The embedded engine's command names no port: its
// target has it choose one. An error begins with the path of the leaf that cannot be rendered.
func Command(c *sweep.Cell) ([]string, error) {
	name := c.Contract.Engine.Name
	if c.Target == "sim" && name != "sim" {
		return nil, fmt.Errorf("contract.engine.name: %q, but target \"sim\" is the embedded engine, named \"sim\"", name)
	}
	if len(c.Server.Command) > 0 {
		return slices.Clone(c.Server.Command), nil
	}
	d, ok := dialects[name]
	if !ok {
		return nil, fmt.Errorf("contract.engine.name: %q cannot be launched: give server.command, or a URL as target", name)
	}
	return d.render(c)
}

// dialect is how one engine spells its options.
type dialect struct {
	program []string // up to the model
	// model gives the options that name the model, with what is served of it.
	model func(c *sweep.Cell) []string
	// address gives the options for where to listen; nil where the target decides.
	address func(port int64) []string
	// always are options that make the server tell what is to be recorded; each can be set otherwise in engine.args.
	always []string
	// negates says that a false option is written as --no-NAME. Otherwise it is left out, which is what false means to
	// options that can only be switched on.
	negates bool
	// underscores says that options have _ between their words, not -.
	underscores bool
	// parallel names the sizes whose product is the number of GPUs, the first being the one to render; alternatives
	// stand together.
	parallel [][]string
	// noGPU are options for a server on the processor.
	noGPU []string

	dtypes, kvCaches precision
	// recipes are the names of quantisation methods that the engine takes as they are.
	recipes []string
	// cacheOn and cacheOff set the prefix cache; nil means that this is the default.
	cacheOn, cacheOff []string
	// file names the options for a file of settings, which can say what no option can.
	file []string
	// owned maps the options that other leaves decide to those leaves.
	owned map[string]string
}

// precision is how one leaf of contract.precision is spelt: the options for each of its values, an empty list where
// the engine takes it from the checkpoint. A value that is absent cannot be asked for.
type precision map[string][]string

func (d *dialect) render(c *sweep.Cell) ([]string, error) {
	if c.Contract.Model.Adapter != nil {
		return nil, fmt.Errorf("contract.model.adapter: %s has no option that pins an adapter's revision: give server.command", c.Contract.Engine.Name)
	}
	args := c.Contract.Engine.Args
	if err := d.checkOwned(args); err != nil {
		return nil, err
	}
	gpus, err := d.gpus(c)
	if err != nil {
		return nil, err
	}
	precise, err := d.precise(c)
	if err != nil {
		return nil, err
	}
	cache, err := d.cache(c)
	if err != nil {
		return nil, err
	}
	given, err := d.args(args)
	if err != nil {
		return nil, err
	}
	command := slices.Concat(d.program, d.model(c))
	if d.address != nil {
		command = append(command, d.address(c.Server.Port)...)
	}
	return slices.Concat(command, gpus, precise, cache, d.unset(args), given), nil
}

// key is the form in which option names are compared: engines take - for _ and the other way about.
func key(name string) string { return strings.ReplaceAll(strings.TrimLeft(name, "-"), "_", "-") }

// find looks an option up, however it is spelt.
func find(args map[string]any, names ...string) (name string, value any, ok bool) {
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if slices.Contains(names, key(name)) {
			return name, args[name], true
		}
	}
	return "", nil, false
}

// checkOwned refuses options that another leaf decides, and options given twice.
func (d *dialect) checkOwned(args map[string]any) error {
	seen := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		k := key(name)
		if leaf, owned := d.owned[strings.TrimPrefix(k, "no-")]; owned {
			return fmt.Errorf("contract.engine.args.%s: this comes from %s", name, leaf)
		}
		if earlier, twice := seen[k]; twice {
			return fmt.Errorf("contract.engine.args.%s: the same option as %s", name, earlier)
		}
		seen[k] = name
	}
	return nil
}

// gpus holds the parallel sizes in engine.args against hardware.gpus; where there are none, it renders the number.
func (d *dialect) gpus(c *sweep.Cell) ([]string, error) {
	want := c.Contract.Hardware.Gpus
	if want == 0 {
		return d.noGPU, nil
	}
	product, said := int64(1), []string(nil)
	for _, names := range d.parallel {
		name, value, ok := find(c.Contract.Engine.Args, names...)
		if !ok {
			continue
		}
		size, err := strconv.ParseInt(scalar(value), 10, 64)
		if err != nil || size < 1 {
			return nil, fmt.Errorf("contract.engine.args.%s: %v is not a number of GPUs", name, value)
		}
		product *= size
		said = append(said, name+" "+scalar(value))
	}
	switch {
	case len(d.parallel) == 0 || product == want:
		return nil, nil
	case said == nil:
		return []string{d.option(d.parallel[0][0]), strconv.FormatInt(want, 10)}, nil
	}
	return nil, fmt.Errorf("contract.hardware.gpus: %d, but contract.engine.args ask for %d (%s)", want, product, strings.Join(said, ", "))
}

// precise renders contract.precision as far as the engine has options with that meaning. How weights that are not of a
// plain type were quantised stands in the checkpoint; only a recipe that is a method of the engine's is passed on.
func (d *dialect) precise(c *sweep.Cell) ([]string, error) {
	p := c.Contract.Precision
	weights, ok := d.dtypes[p.Weights]
	if !ok && plain(p.Weights) && d.dtypes != nil {
		return nil, fmt.Errorf("contract.precision.weights: %s has no option for %q: give server.command", c.Contract.Engine.Name, p.Weights)
	}
	if len(weights) > 0 {
		if name, _, given := find(c.Contract.Engine.Args, key(weights[0])); given {
			return nil, fmt.Errorf("contract.engine.args.%s: this comes from contract.precision.weights", name)
		}
	}
	out := slices.Clone(weights)
	if slices.Contains(d.recipes, p.Recipe) {
		if name, _, given := find(c.Contract.Engine.Args, "quantization"); given {
			return nil, fmt.Errorf("contract.engine.args.%s: this comes from contract.precision.recipe", name)
		}
		out = append(out, d.option("quantization"), p.Recipe)
	}
	// auto is the model's own type: where that is what is asked for, nothing needs saying.
	if p.KvCache == "auto" || p.KvCache == "" || plain(p.Weights) && p.KvCache == p.Weights {
		return out, nil
	}
	kv, ok := d.kvCaches[p.KvCache]
	if !ok && !d.hasFile(c) {
		return nil, fmt.Errorf("contract.precision.kvCache: %s has no option for %q: give server.command", c.Contract.Engine.Name, p.KvCache)
	}
	return append(out, kv...), nil
}

// plain says that weights of this type are not quantised.
func plain(weights string) bool { return slices.Contains([]string{"fp32", "bf16", "fp16"}, weights) }

func (d *dialect) cache(c *sweep.Cell) ([]string, error) {
	if c.Contract.PrefixCache.Enabled {
		return d.cacheOn, nil
	}
	if d.cacheOff != nil || d.hasFile(c) {
		return d.cacheOff, nil
	}
	return nil, fmt.Errorf("contract.prefixCache.enabled: %s has no option that switches it off: name a file that does in contract.engine.args (%s), or give server.command",
		c.Contract.Engine.Name, strings.Join(d.file, " or "))
}

// hasFile says that the cell names a file of settings.
func (d *dialect) hasFile(c *sweep.Cell) bool {
	_, _, given := find(c.Contract.Engine.Args, d.file...)
	return given
}

// unset are those of the options given always that engine.args says nothing of.
func (d *dialect) unset(args map[string]any) []string {
	var out []string
	for _, option := range d.always {
		if _, _, given := find(args, key(option), "no-"+key(option)); !given {
			out = append(out, option)
		}
	}
	return out
}

// args renders engine.args in the order of their names.
func (d *dialect) args(args map[string]any) ([]string, error) {
	var out []string
	for _, name := range slices.SortedFunc(maps.Keys(args), func(a, b string) int {
		return cmp.Or(cmp.Compare(key(a), key(b)), cmp.Compare(a, b))
	}) {
		rendered, err := d.arg(name, args[name])
		if err != nil {
			return nil, fmt.Errorf("contract.engine.args.%s: %w", name, err)
		}
		out = append(out, rendered...)
	}
	return out, nil
}

func (d *dialect) arg(name string, value any) ([]string, error) {
	if strings.HasPrefix(name, "-") || name == "" {
		return nil, errors.New("options are written without their dashes")
	}
	option := "--" + name
	switch v := value.(type) {
	case bool:
		switch {
		case v:
			return []string{option}, nil
		case d.negates && strings.HasPrefix(name, "no-"):
			return []string{"--" + strings.TrimPrefix(name, "no-")}, nil
		case d.negates:
			return []string{"--no-" + name}, nil
		}
		return nil, nil
	case string:
		// A value that looks like an option has to stand in one word with its own.
		if strings.HasPrefix(v, "-") {
			return []string{option + "=" + v}, nil
		}
		return []string{option, v}, nil
	}
	text := scalar(value)
	if text == "" {
		return nil, fmt.Errorf("%T is neither text, number nor truth value", value)
	}
	if strings.HasPrefix(text, "-") {
		return []string{option + "=" + text}, nil
	}
	return []string{option, text}, nil
}

// option spells a name as the engine does.
func (d *dialect) option(name string) string {
	if d.underscores {
		name = strings.ReplaceAll(name, "-", "_")
	}
	return "--" + name
}

// scalar writes a value of engine.args: whole numbers without a point or an exponent, so that 16 and 16.0 are one
// command. It is empty for what is not a scalar.
func scalar(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		if v == float64(int64(v)) && v < 1e15 && v > -1e15 {
			return strconv.FormatInt(int64(v), 10)
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	case fmt.Stringer: // json.Number
		f, err := strconv.ParseFloat(v.String(), 64)
		if err != nil {
			return ""
		}
		if i, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return strconv.FormatInt(i, 10)
		}
		return scalar(f)
	}
	return ""
}
