package config

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// rules checks a list of rules for commands, each by itself and then by the examples that it gives.
func (c *checker) rules(n *node, path string) (any, bool) {
	if n.kind != list {
		c.fault(wrongKind(n, path, "a list of rules"))
		return nil, false
	}
	out := make([]map[string]any, 0, len(n.items))
	var parsed []guard.Rule
	for i, item := range n.items {
		rule, err := readRule(item, path+"["+strconv.Itoa(i)+"]")
		if err != nil {
			c.fault(err)
			continue
		}
		out = append(out, item.plain().(map[string]any))
		parsed = append(parsed, rule)
	}
	if len(parsed) < len(n.items) {
		return nil, false // an example may be about the rules that are at fault
	}
	if err := guard.CheckRules(parsed); err != nil {
		problem, cure := cutCure(err.Error())
		c.fault(&Error{Origin: n.origin, Key: path, Problem: problem, Cure: cure, err: err})
		return nil, false
	}
	c.settings[path] = Setting{Key: path, Value: out, Origin: n.origin}
	return out, true
}

// readRule reads one rule.
func readRule(n *node, path string) (guard.Rule, *Error) {
	if n.kind != object {
		return guard.Rule{}, wrongKind(n, path, "an object")
	}
	if err := freeDuplicates(n, path); err != nil {
		return guard.Rule{}, err
	}
	parsed, err := ParseRules([]map[string]any{n.plain().(map[string]any)}, n.origin)
	if err != nil {
		if inner := errors.Unwrap(err); inner != nil {
			err = inner // the place and the number are said by the key
		}
		problem, cure := cutCure(err.Error())
		if id := n.member("id"); id != nil && id.kind == text && id.scalar != "" {
			problem = "rule " + id.scalar + ": " + problem
		}
		return guard.Rule{}, &Error{Origin: n.origin, Key: path, Problem: problem, Cure: cure, err: err}
	}
	return parsed[0], nil
}

// cutCure takes apart what the guard says: the cure is behind the last semicolon.
func cutCure(text string) (problem, cure string) {
	if at := strings.LastIndex(text, "; "); at >= 0 {
		return text[:at], text[at+2:]
	}
	return text, ""
}

// ParseRules reads rules for commands as [Exec] has them. Decisions by them name what they were read from: the base
// name of the file, or the variable.
func ParseRules(rules []map[string]any, origin Origin) ([]guard.Rule, error) {
	if len(rules) == 0 {
		return nil, nil
	}
	encoded, err := json.Marshal(rules)
	if err != nil {
		return nil, err
	}
	name := origin.Name
	if origin.Source == File {
		name = filepath.Base(name)
	}
	return guard.ParseRules(name, encoded)
}
