package cue

import (
	stderrors "errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/load"

	"github.com/inference-sweep/sweep/schema"
)

// loadErrors says what is wrong with a definition's text, its imports or the tags that are set: of each file the first
// mistake, since the rest often follows from it.
func (r *reader) loadErrors(err error) error {
	if none, ok := stderrors.AsType[*load.NoFilesError](err); ok && none != nil {
		return Errors{{File: r.name, Message: "no CUE file in it"}}
	}
	if several, ok := stderrors.AsType[*load.MultiplePackageError](err); ok {
		return Errors{{File: r.name, Message: "several packages in it: " + strings.Join(several.Packages, ", "), Hint: "name one file"}}
	}
	for _, e := range errors.Errors(err) {
		switch format, args := e.Msg(); format {
		case "no tag for %q":
			return Errors{{File: r.name, Message: "there is no tag " + fmt.Sprint(args[0]), Hint: r.knownTags(fmt.Sprint(args[0]))}}
		case "tag %q not used in any file":
			return Errors{{File: r.name, Message: fmt.Sprintf("-t %v sets nothing", args[0]), Hint: "write -t KEY=VALUE"}}
		}
	}
	return syntaxErrors(r.name, err)
}

// checkTags refuses a tag that is set twice.
func (r *reader) checkTags() error {
	seen := map[string]bool{}
	for _, tag := range r.options.Tags {
		key, _, _ := strings.Cut(tag, "=")
		if seen[key] {
			return Errors{{File: r.name, Message: "tag " + key + " is set twice"}}
		}
		seen[key] = true
	}
	return nil
}

// knownTags helps with a tag that the definition does not have.
func (r *reader) knownTags(asked string) string {
	plain, err := r.load(nil, false)
	if err != nil {
		return ""
	}
	known := outlineOf(plain.Files).tags
	if len(known) == 0 {
		return "it has none"
	}
	if hint := didYouMean(asked, known); hint != "" {
		return hint
	}
	return "it has " + strings.Join(known, ", ")
}

// syntaxErrors makes one problem a file of what a parser or loader says.
func syntaxErrors(name string, err error) error {
	var found Errors
	seen := map[string]bool{}
	for _, e := range errors.Errors(err) {
		p := loadMessage(Problem{File: name}, e.Error())
		if positions := errors.Positions(e); len(positions) > 0 {
			p = p.at(positions[0])
			if strings.HasSuffix(p.Message, "found 'EOF'") {
				p.Hint = unclosed(positions[0])
			}
		}
		if !seen[p.File] {
			seen[p.File] = true
			found = append(found, p)
		}
	}
	return found.err()
}

var (
	noPackage = regexp.MustCompile(`cannot find package "([^"]*)"`)
	inYAML    = regexp.MustCompile(`^[^ ]*\.ya?ml(?::(\d+))?: (.*)$`)
	inJSON    = regexp.MustCompile(`^invalid JSON for file "[^"]*": (.*)$`)
)

// loadMessage is what a loader says, in one line, without the name of the file.
func loadMessage(p Problem, text string) Problem {
	text, _, _ = strings.Cut(text, "\n")
	p.Message = strings.TrimSpace(text)
	if parts := noPackage.FindStringSubmatch(text); parts != nil {
		p.Message = "there is no package " + parts[1]
		if p.Hint = didYouMean(parts[1], []string{schema.ImportPath}); p.Hint == "" {
			p.Hint = "definitions are read without a network: put it under cue.mod/pkg"
		}
	}
	if parts := inYAML.FindStringSubmatch(p.Message); parts != nil {
		p.Message = parts[2]
		if line, err := strconv.Atoi(parts[1]); err == nil {
			p.Line, p.Col = line, 1
		}
	}
	if parts := inJSON.FindStringSubmatch(p.Message); parts != nil {
		p.Message = parts[1]
	}
	return p
}

// valueHint helps with a leaf that has no value: with the flag that gives it one, where it comes from a tag.
func (r *reader) valueHint(f fault) string {
	p, whole := r.written(f)
	if !whole {
		return ""
	}
	if r.refersToItself(f) {
		return "it is computed from itself"
	}
	key := p.tag
	if key == "" {
		key = r.outline.tagOf(p.value)
	}
	switch {
	case key == "":
		return ""
	case strings.EqualFold(key, "revision"), f.path[len(f.path)-1] == "revision":
		return "set it with -t " + key + "=COMMIT"
	}
	return "set it with -t " + key + "=VALUE"
}

// tagOf is the key of the first tag that x takes a value from, by name, or empty.
func (o *outline) tagOf(x ast.Node) (key string) {
	ast.Walk(x, func(n ast.Node) bool {
		if ident, ok := n.(*ast.Ident); ok && key == "" {
			for _, field := range o.fields[ident.Name] {
				key = tagKey(field)
			}
		}
		return key == ""
	}, nil)
	return key
}

// tagKey is the key of a field's @tag, or empty.
func tagKey(field *ast.Field) string {
	for _, attr := range field.Attrs {
		if name, body := attr.Split(); name == "tag" {
			key, _, _ := strings.Cut(body, ",")
			return strings.TrimSpace(key)
		}
	}
	return ""
}
