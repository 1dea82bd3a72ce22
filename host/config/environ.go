package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/knadh/koanf/providers/env/v2"
	"github.com/picoclaw/picoclaw/internal/suggest"
)

// variables reads the PICOCLAW_* variables as a layer. expose is the file's list of isolation.expose_paths, which a
// variable adds to; nil when there is none.
type variables struct {
	checker *checker
	expose  *node
}

// own returns the sorted variables whose names say that they are picoclaw's, without those that are no keys.
func (e environment) own() []string {
	var own []string
	for _, variable := range e {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, variablePrefix) && !slices.Contains(notKeys, name) {
			own = append(own, variable)
		}
	}
	slices.Sort(own)
	return own
}

// provider returns koanf's provider over these variables. What is wrong with one is noted by the checker, in the order
// of the names.
func (v *variables) provider(own []string) *env.Env {
	return env.Provider(".", env.Opt{
		Prefix:        variablePrefix,
		EnvironFunc:   func() []string { return own },
		TransformFunc: v.transform,
	})
}

// transform turns one variable into a key and its value; an empty key, which koanf passes over, for what is not
// merged.
func (v *variables) transform(name, value string) (string, any) {
	path, checked, ok := v.setting(name, value)
	if !ok || path == agentsKey {
		return "", nil
	}
	return path, checked
}

func (v *variables) setting(name, value string) (path string, checked any, ok bool) {
	origin := Origin{Source: Variable, Name: name}
	e, path := variableEntry(name)
	if e == nil {
		v.checker.fault(&Error{Origin: origin, Problem: "sets no known key",
			Cure: "the nearest known variable is " + nearestVariable(name)})
		return "", nil, false
	}
	n, err := variableNode(e.key.Type, value, origin)
	if err != nil {
		err.Key = path
		v.checker.fault(err)
		return "", nil, false
	}
	if path == exposePathsKey && v.expose != nil && n.kind == list {
		n.items = append(slices.Clone(v.expose.items), n.items...)
	}
	if path == agentsKey {
		v.checker.forget()
	}
	checked, ok = v.checker.value(n, e, path)
	return path, checked, ok
}

// variableNode reads a value by the type of its key: lists are JSON or separated by commas, objects are JSON.
func variableNode(t Type, value string, origin Origin) (*node, *Error) {
	n := &node{kind: text, origin: origin, scalar: value}
	switch t {
	case Bool:
		if value == "true" || value == "false" {
			n.kind = boolean
		}
	case Number:
		if _, err := strconv.ParseFloat(value, 64); err == nil {
			n.kind = number
		}
	case Int:
		if strings.Trim(value, "0123456789") == "" && value != "" {
			n.kind = number
		}
	case Strings:
		if strings.HasPrefix(strings.TrimSpace(value), "[") {
			return parseJSON([]byte(value), origin)
		}
		n.kind = list
		for part := range strings.SplitSeq(value, ",") {
			if part = strings.TrimSpace(part); part != "" {
				n.items = append(n.items, &node{kind: text, origin: origin, scalar: part})
			}
		}
	case Objects, Free, Lists, Texts, Rules:
		return parseJSON([]byte(value), origin)
	}
	return n, nil
}

// variableEntry returns the entry that a variable sets, and the full name of its key; nil when it sets none.
func variableEntry(name string) (*entry, string) {
	var found *Key
	id := ""
	for i := range schema().rows {
		row := &schema().rows[i]
		variable := row.Variable()
		before, after, plugin := strings.Cut(variable, "<id>")
		switch {
		case variable == "":
		case !plugin && variable == name:
			found = row
		case plugin && len(name) > len(before)+len(after) && strings.HasPrefix(name, before) && strings.HasSuffix(name,
			after):
			// The key with the longest name behind the id is meant: _GRANTS_EXEC before _EXEC.
			candidate := strings.ToLower(name[len(before) : len(name)-len(after)])
			if isID(candidate) && (found == nil || len(candidate) < len(id)) {
				found, id = row, candidate
			}
		}
	}
	if found == nil {
		return nil, ""
	}
	e := schema().root
	for _, part := range splitName(found.Name) {
		e = e.child(part)
	}
	return e, strings.ReplaceAll(found.Name, "<id>", id)
}

// nearestVariable returns the known variable that an unknown one was most likely meant to be, with the plugin's id that
// it names in it. Of a name that others begin with, it is one of these.
func nearestVariable(name string) string {
	names := slices.Clone(notKeys)
	for _, row := range schema().rows {
		variable := row.Variable()
		if variable == "" {
			continue
		}
		names = append(names, variable)
		if before, after, plugin := strings.Cut(variable, "<id>"); plugin {
			for _, id := range possibleIDs(name, before) {
				names = append(names, before+id+after)
			}
		}
	}
	longer := slices.Clone(names)
	longer = slices.DeleteFunc(longer, func(known string) bool { return !strings.HasPrefix(known, name+"_") })
	if len(longer) > 0 && name+"_" != variablePrefix {
		names = longer
	}
	return suggest.Nearest(name, names)
}

// possibleIDs returns what could be the plugin's id in a variable's name, which goes on after it or not.
func possibleIDs(name, before string) []string {
	rest, below := strings.CutPrefix(name, before)
	if !below {
		return nil
	}
	var ids []string
	parts := strings.Split(rest, "_")
	for n := range max(1, len(parts)-1) {
		if id := strings.Join(parts[:n+1], "_"); isID(strings.ToLower(id)) {
			ids = append(ids, id)
		}
	}
	return ids
}
