package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/internal/suggest"
)

// environmentLayer is the configuration layer of the PICOCLAW_* variables. expose is the file's isolation.expose_paths,
// which a variable extends; it may be nil.
type environmentLayer struct {
	checker *documentChecker
	expose  *documentNode
}

// keyVariables returns the PICOCLAW_* variables that set keys, sorted.
func (e environment) keyVariables() []string {
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

// convertVariable converts a variable to a key and its value. It returns an empty key, which koanf skips, for a value
// that must not be merged.
func (v *environmentLayer) convertVariable(name, value string) (string, any) {
	path, checked, ok := v.checkVariable(name, value)
	if !ok || path == agentsKey {
		return "", nil
	}
	return path, checked
}

func (v *environmentLayer) checkVariable(name, value string) (path string, checked any, ok bool) {
	origin := Origin{Source: VariableSource, Name: name}
	e, path := findVariableKeyNode(name)
	if e == nil {
		v.checker.addFault(&Error{Origin: origin, Problem: "sets no known key",
			Cure: "the nearest known variable is " + nearestVariable(name)})
		return "", nil, false
	}
	n, err := parseVariableValue(e.key.Type, value, origin)
	if err != nil {
		err.Key = path
		v.checker.addFault(err)
		return "", nil, false
	}
	if path == exposePathsKey && v.expose != nil && n.kind == listNode {
		n.items = append(slices.Clone(v.expose.items), n.items...)
	}
	if path == agentsKey {
		v.checker.dropRecordedAgents()
	}
	checked, ok = v.checker.checkValue(n, e, path)
	return path, checked, ok
}

// parseVariableValue parses a value by its key's type: lists are JSON or comma-separated, objects are JSON.
func parseVariableValue(t KeyType, value string, origin Origin) (*documentNode, *Error) {
	n := &documentNode{kind: textNode, origin: origin, scalar: value}
	switch t {
	case BoolType:
		if value == "true" || value == "false" {
			n.kind = booleanNode
		}
	case NumberType, IntType:
		if _, err := strconv.ParseFloat(value, 64); err == nil {
			n.kind = numberNode
		}
	case StringsType, IntsType:
		if strings.HasPrefix(strings.TrimSpace(value), "[") {
			return parseJSON([]byte(value), origin)
		}
		n.kind = listNode
		for part := range strings.SplitSeq(value, ",") {
			if part = strings.TrimSpace(part); part != "" {
				item := &documentNode{kind: textNode, origin: origin, scalar: part}
				if _, err := strconv.ParseFloat(part, 64); t == IntsType && err == nil {
					item.kind = numberNode
				}
				n.items = append(n.items, item)
			}
		}
	case ObjectsType, FreeType, ListsType, TextsType, RulesType:
		return parseJSON([]byte(value), origin)
	}
	return n, nil
}

// findVariableKeyNode returns the key entry that a variable sets, and the key's full name; nil for other variables.
func findVariableKeyNode(name string) (*keyNode, string) {
	var found *KeySpec
	id := ""
	for i := range keySchema().rows {
		row := &keySchema().rows[i]
		variable := row.VariableName()
		before, after, plugin := strings.Cut(variable, "<id>")
		switch {
		case variable == "":
		case !plugin && variable == name:
			found = row
		case plugin && len(name) > len(before)+len(after) && strings.HasPrefix(name, before) && strings.HasSuffix(name,
			after):
			// The longest key after the id wins: _GRANTS_EXEC before _EXEC.
			candidate := strings.ToLower(name[len(before) : len(name)-len(after)])
			if IsValidID(candidate) && (found == nil || len(candidate) < len(id)) {
				found, id = row, candidate
			}
		}
	}
	if found == nil {
		return nil, ""
	}
	e := keySchema().root
	for _, part := range splitKeyName(found.Name) {
		e = e.findChild(part)
	}
	return e, strings.ReplaceAll(found.Name, "<id>", id)
}

// nearestVariable returns the known variable that is most similar to name. In a plugin's variable it keeps the plugin
// id of name. If name is a prefix of known variables, the result is one of them.
func nearestVariable(name string) string {
	names := slices.Clone(notKeys)
	for _, row := range keySchema().rows {
		variable := row.VariableName()
		if variable == "" {
			continue
		}
		names = append(names, variable)
		if before, after, plugin := strings.Cut(variable, "<id>"); plugin {
			for _, id := range possiblePluginIDs(name, before) {
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

// possiblePluginIDs returns the plugin ids that may follow the prefix before in a variable's name. An id may contain
// underscores, so there can be several.
func possiblePluginIDs(name, before string) []string {
	rest, below := strings.CutPrefix(name, before)
	if !below {
		return nil
	}
	var ids []string
	parts := strings.Split(rest, "_")
	for n := range max(1, len(parts)-1) {
		if id := strings.Join(parts[:n+1], "_"); IsValidID(strings.ToLower(id)) {
			ids = append(ids, id)
		}
	}
	return ids
}
