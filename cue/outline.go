package cue

import (
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// An outline says where each path of a definition is written, whether or not it evaluates. It follows names (#lesson &
// {…}) within the package, and stops where a value is computed.
type outline struct {
	// top lists the regular fields of the file's root, in order, with what is written there.
	top    []string
	fields map[string][]*ast.Field
	places map[string]place
	// literals are where a value stands as such, sweeps where the schema's #Sweep is named.
	literals, sweeps map[token.Position]bool
	// tags are the keys of @tag attributes, sorted.
	tags []string
	// embedded is where the schema's #Sweep stands without a name of its own.
	embedded token.Pos
	steps    int
}

// A place is a field's label and its value, and the key of its @tag; a list's element has no label.
type place struct {
	label token.Pos
	value ast.Expr
	tag   string
}

// maxPlaces bounds an outline where names lead to each other over and over.
const maxPlaces = 50_000

func outlineOf(files []*ast.File) *outline {
	o := &outline{
		fields: map[string][]*ast.Field{}, places: map[string]place{},
		literals: map[token.Position]bool{}, sweeps: map[token.Position]bool{},
	}
	for _, file := range files {
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.Field:
				o.addTop(d)
			case *ast.EmbedDecl:
				if o.isSweepValue(d.Expr, map[string]bool{}) {
					o.embedded = d.Pos()
				}
			}
		}
		ast.Walk(file, o.note, nil)
	}
	for name, fields := range o.fields {
		for _, field := range fields {
			o.add(name, placeOf(field))
		}
	}
	slices.Sort(o.tags)
	return o
}

func placeOf(field *ast.Field) place { return place{field.Label.Pos(), field.Value, tagKey(field)} }

func (o *outline) addTop(field *ast.Field) {
	name, _, err := ast.LabelName(field.Label)
	if err != nil {
		return
	}
	if len(o.fields[name]) == 0 && field.Constraint == token.ILLEGAL && !strings.HasPrefix(name, "_") && !strings.HasPrefix(name, "#") {
		o.top = append(o.top, name)
	}
	o.fields[name] = append(o.fields[name], field)
}

// note remembers literals and mentions of #Sweep.
func (o *outline) note(n ast.Node) bool {
	switch x := n.(type) {
	case *ast.BasicLit:
		o.literals[x.Pos().Position()] = true
	case *ast.UnaryExpr:
		if _, ok := x.X.(*ast.BasicLit); ok {
			o.literals[x.Pos().Position()] = true
		}
	case *ast.Field:
		if key := tagKey(x); key != "" && !slices.Contains(o.tags, key) {
			o.tags = append(o.tags, key)
		}
	case *ast.SelectorExpr:
		if isSweep(x) {
			o.sweeps[x.Pos().Position()] = true
		}
	}
	return true
}

func isSweep(x *ast.SelectorExpr) bool {
	label, ok := x.Sel.(*ast.Ident)
	return ok && label.Name == "#Sweep"
}

// add places path and all that is written under it. What is written first is kept.
func (o *outline) add(path string, p place) {
	if o.steps++; o.steps > maxPlaces {
		return
	}
	if _, ok := o.places[path]; !ok {
		o.places[path] = p
	}
	switch x := p.value.(type) {
	case *ast.BinaryExpr:
		o.add(path, place{p.label, x.X, p.tag})
		o.add(path, place{p.label, x.Y, p.tag})
	case *ast.ParenExpr:
		o.add(path, place{p.label, x.X, p.tag})
	case *ast.Ident:
		for _, field := range o.fields[x.Name] {
			o.add(path, place{p.label, field.Value, tagKey(field)})
		}
	case *ast.StructLit:
		o.addStruct(path, x)
	case *ast.ListLit:
		for i, element := range x.Elts {
			o.add(path+"."+strconv.Itoa(i), place{element.Pos(), element, ""})
		}
	}
}

func (o *outline) addStruct(path string, x *ast.StructLit) {
	for _, element := range x.Elts {
		switch d := element.(type) {
		case *ast.Field:
			if name, _, err := ast.LabelName(d.Label); err == nil {
				o.add(path+"."+name, placeOf(d))
			}
		case *ast.EmbedDecl:
			o.add(path, place{d.Pos(), d.Expr, ""})
		}
	}
}

// namesSweep says whether what is written under a name of the root unifies with the schema's #Sweep.
func (o *outline) namesSweep(name string, seen map[string]bool) bool {
	if seen[name] {
		return false
	}
	seen[name] = true
	for _, field := range o.fields[name] {
		if o.isSweepValue(field.Value, seen) {
			return true
		}
	}
	return false
}

func (o *outline) isSweepValue(x ast.Expr, seen map[string]bool) bool {
	switch x := x.(type) {
	case *ast.SelectorExpr:
		return isSweep(x)
	case *ast.BinaryExpr:
		return o.isSweepValue(x.X, seen) || o.isSweepValue(x.Y, seen)
	case *ast.ParenExpr:
		return o.isSweepValue(x.X, seen)
	case *ast.Ident:
		return o.namesSweep(x.Name, seen)
	case *ast.StructLit:
		for _, element := range x.Elts {
			if embedded, ok := element.(*ast.EmbedDecl); ok && o.isSweepValue(embedded.Expr, seen) {
				return true
			}
		}
	}
	return false
}

// find is where the longest part of the path that is written is written, and whether that is all of it.
func (o *outline) find(path []string) (p place, whole bool) {
	for n := len(path); n > 0; n-- {
		if p, ok := o.places[strings.Join(path[:n], ".")]; ok {
			return p, n == len(path)
		}
	}
	return place{}, false
}

// findLeaf is find for a path from the cell of a sweep, which is written in #cell or, in a data file, beside factors.
func (o *outline) findLeaf(sweep string, path []string) (p place, whole bool) {
	for n := len(path); n >= 0; n-- {
		for _, root := range []string{sweep + ".#cell", sweep} {
			at := strings.Join(append([]string{root}, path[:n]...), ".")
			if p, ok := o.places[at]; ok {
				return p, n == len(path)
			}
		}
	}
	return place{}, false
}

// pos is where the place's value begins, or its label where that is not known.
func (p place) pos() token.Pos {
	if p.value != nil && p.value.Pos().IsValid() {
		return p.value.Pos()
	}
	return p.label
}
