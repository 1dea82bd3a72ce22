package config

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// checkExecRules checks a list of command rules: each rule first, then its examples.
func (c *documentChecker) checkExecRules(n *documentNode, path string) (any, bool) {
	if n.kind != listNode {
		c.addFault(wrongKindError(n, path, "a list of rules"))
		return nil, false
	}
	out := make([]map[string]any, 0, len(n.items))
	var parsed []guard.Rule
	for i, item := range n.items {
		rule, err := parseExecRule(item, path+"["+strconv.Itoa(i)+"]")
		if err != nil {
			c.addFault(err)
			continue
		}
		out = append(out, item.toPlainValue().(map[string]any))
		parsed = append(parsed, rule)
	}
	if len(parsed) < len(n.items) {
		return nil, false // examples may depend on faulty rules
	}
	if err := guard.CheckRuleExamples(parsed); err != nil {
		problem, cure := splitRemedy(err.Error())
		c.addFault(&Error{Origin: n.origin, Key: path, Problem: problem, Cure: cure, err: err})
		return nil, false
	}
	c.settings[path] = Setting{Key: path, Value: out, Origin: n.origin}
	return out, true
}

func parseExecRule(n *documentNode, path string) (guard.Rule, *Error) {
	if err := checkFreeObject(n, path, "an object"); err != nil {
		return guard.Rule{}, err
	}
	parsed, err := ParseExecRules([]map[string]any{n.toPlainValue().(map[string]any)}, n.origin)
	if err != nil {
		if inner := errors.Unwrap(err); inner != nil {
			err = inner // the key has the position
		}
		problem, cure := splitRemedy(err.Error())
		if id := n.findMemberValue("id"); id != nil && id.kind == textNode && id.scalar != "" {
			problem = "rule " + id.scalar + ": " + problem
		}
		return guard.Rule{}, &Error{Origin: n.origin, Key: path, Problem: problem, Cure: cure, err: err}
	}
	return parsed[0], nil
}

// splitRemedy splits an error text of the guard at the last semicolon into problem and remedy.
func splitRemedy(text string) (problem, cure string) {
	if at := strings.LastIndex(text, "; "); at >= 0 {
		return text[:at], text[at+2:]
	}
	return text, ""
}

// ParseExecRules converts the rules of [Exec] for the guard. A decision names the file or variable of its rule.
func ParseExecRules(rules []map[string]any, origin Origin) ([]guard.Rule, error) {
	if len(rules) == 0 {
		return nil, nil
	}
	encoded, err := json.Marshal(rules)
	if err != nil {
		return nil, err
	}
	name := origin.Name
	if origin.Source == FileSource {
		name = filepath.Base(name)
	}
	return guard.ParseExecRules(name, encoded)
}
