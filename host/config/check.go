package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/internal/suggest"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// documentChecker checks the values of a document against the table of keys, converts them, and records their origins.
// After a fault it continues without the wrong value, to report all faults at once.
type documentChecker struct {
	userHome string
	settings map[string]Setting
	faults   []*Error // in order of detection
}

func newDocumentChecker(environ environment) *documentChecker {
	return &documentChecker{userHome: environ.userHomeDir(), settings: map[string]Setting{}}
}

func (c *documentChecker) addFault(err *Error) { c.faults = append(c.faults, err) }

// checkDocument checks a whole document, sorts the faults by line, and returns the converted values without the list of
// agents: it is replaced, never merged, so koanf need not copy it.
func (c *documentChecker) checkDocument(n *documentNode) map[string]any {
	checked, _ := c.checkValue(n, keySchema().root, "")
	values, _ := checked.(map[string]any) // nil if not an object, which is a recorded fault
	if agents, ok := values["agents"].(map[string]any); ok {
		delete(agents, "agents")
	}
	sortErrorsByLine(c.faults)
	return values
}

// checkValue checks the value n at path against the entry e, and returns the converted value; false if the value is
// wrong.
func (c *documentChecker) checkValue(n *documentNode, e *keyNode, path string) (any, bool) {
	switch e.keyType() {
	case "", MapType:
		return c.checkObject(n, e, path)
	case ObjectsType:
		return c.checkObjectList(n, e, path)
	case RulesType:
		return c.checkExecRules(n, path)
	}
	v, err := c.checkLeaf(n, e.key, path)
	if err != nil {
		c.addFault(err)
		return nil, false
	}
	c.settings[path] = Setting{Key: path, Value: v, Origin: n.origin}
	return v, true
}

func (c *documentChecker) checkObject(n *documentNode, e *keyNode, path string) (any, bool) {
	if n.kind != objectNode {
		c.addFault(wrongKindError(n, path, "an object"))
		return nil, false
	}
	out := make(map[string]any, len(n.members))
	seen := make(map[string]objectMember, len(n.members))
	for _, m := range n.members {
		full := joinKeyName(path, m.key)
		child, err := findMemberKeyNode(m, e, path)
		if err != nil {
			c.addFault(err)
			continue
		}
		name := child.name
		if e.keyType() == MapType {
			name = m.key
		}
		if first, twice := seen[name]; twice {
			problem := fmt.Sprintf("the key occurs twice, first at %s", first.origin)
			if first.key != m.key {
				problem = fmt.Sprintf("means the same as %s at %s", joinKeyName(path, first.key), first.origin)
			}
			c.addFault(newError(m.origin, full, problem, "remove one of them"))
			continue
		}
		seen[name] = m
		if v, ok := c.checkValue(m.value, child, full); ok {
			out[name] = v
		}
	}
	for _, child := range e.children {
		if _, ok := seen[child.name]; !ok && child.key != nil && child.key.Required {
			c.addFault(newError(n.origin, joinKeyName(path, child.name), "is missing", ""))
		}
	}
	return out, true
}

// findMemberKeyNode returns the key entry of a member of the object e, or an error for an unknown key.
func findMemberKeyNode(m objectMember, e *keyNode, path string) (*keyNode, *Error) {
	full := joinKeyName(path, m.key)
	if e.keyType() == MapType {
		if _, err := cmp.Or(e.key.Format, IDFormat).normalizeString(m.key, ""); err != nil {
			return nil, newError(m.origin, full, err.Error(), "")
		}
		return e.children[0], nil
	}
	if child := e.findChild(m.key); child != nil && child.name[0] != '[' {
		return child, nil
	}
	if strings.Contains(m.key, ".") {
		return nil, newError(m.origin, full, "unknown key: a name with dots is written as one object in the other",
			unknownKeyHint(full, path, e))
	}
	return nil, newError(m.origin, full, "unknown key", unknownKeyHint(full, path, e))
}

func (c *documentChecker) checkObjectList(n *documentNode, e *keyNode, path string) (any, bool) {
	if n.kind != listNode {
		c.addFault(wrongKindError(n, path, "a list of objects"))
		return nil, false
	}
	out := make([]any, 0, len(n.items))
	element := e.children[0]
	whole := true
	for i, item := range n.items {
		v, ok := c.checkValue(item, element, path+"["+strconv.Itoa(i)+"]")
		whole = whole && ok
		out = append(out, v)
	}
	for _, child := range element.children {
		if child.key != nil && child.key.Unique {
			c.checkUniqueField(out, child.name, path)
		}
	}
	if whole {
		c.settings[path] = Setting{Key: path, Value: out, Origin: n.origin}
	}
	return out, whole
}

// checkUniqueField reports objects in a list that have equal values of the key name.
func (c *documentChecker) checkUniqueField(values []any, name, path string) {
	first := make(map[any]int, len(values))
	for i, v := range values {
		element, ok := v.(map[string]any)
		if !ok || element[name] == nil {
			continue
		}
		value := element[name]
		if j, twice := first[value]; twice {
			key := joinKeyName(path+"["+strconv.Itoa(i)+"]", name)
			c.addFault(newError(c.settings[key].Origin, key, fmt.Sprintf("%q is already the %s of %s[%d]", value, name, path, j), ""))
			continue
		}
		first[value] = i
	}
}

// checkLeaf checks and converts a value that has no known keys below it.
func (c *documentChecker) checkLeaf(n *documentNode, key *KeySpec, path string) (any, *Error) {
	switch key.Type {
	case BoolType:
		if n.kind != booleanNode {
			return nil, wrongKindError(n, path, "true or false")
		}
		return n.scalar == "true", nil
	case IntType:
		return checkInteger(n, key, path)
	case NumberType:
		f, err := strconv.ParseFloat(n.scalar, 64)
		if n.kind != numberNode || err != nil || f < 0 || math.IsInf(f, 0) {
			return nil, wrongKindError(n, path, "a number that is not below 0")
		}
		if key.Max != 0 && f > float64(key.Max) {
			return nil, newError(n.origin, path, fmt.Sprintf("%s is not between 0 and %d", n.scalar, key.Max), "")
		}
		return f, nil
	case SizeType:
		if n.kind != textNode && n.kind != numberNode {
			return nil, wrongKindError(n, path, `a size such as "50MB"`)
		}
		return checkSize(n, key, path)
	case StringsType:
		return c.checkStringList(n, key, path)
	case IntsType:
		return checkList(c, n, path, "a list of whole numbers", func(n *documentNode, path string) (int64, *Error) {
			i, err := checkInteger(n, key, path)
			number, _ := i.(int64)
			return number, err
		})
	case ListsType:
		return c.checkListMap(n, key, path)
	case TextsType:
		return c.checkStringMap(n, path)
	case FreeType:
		if err := checkFreeObject(n, path, "an object"); err != nil {
			return nil, err
		}
		return n.toPlainValue(), nil
	default:
		return c.checkString(n, key, path)
	}
}

func (c *documentChecker) checkStringMap(n *documentNode, path string) (any, *Error) {
	if err := checkFreeObject(n, path, "an object of strings"); err != nil {
		return nil, err
	}
	out := map[string]any{}
	for _, m := range n.members {
		if m.value.kind != textNode {
			return nil, wrongKindError(m.value, joinKeyName(path, m.key), "a string")
		}
		out[m.key] = m.value.scalar
	}
	return out, nil
}

func checkInteger(n *documentNode, key *KeySpec, path string) (any, *Error) {
	i, err := strconv.ParseInt(n.scalar, 10, 64)
	tooLarge := errors.Is(err, strconv.ErrRange)
	switch {
	case n.kind != numberNode || err != nil && !tooLarge:
		return nil, wrongKindError(n, path, "a whole number")
	case (key.Min != 0 || key.Max != 0) && (tooLarge || i < key.Min || i > key.Max):
		return nil, newError(n.origin, path, fmt.Sprintf("%s is not between %d and %d", n.scalar, key.Min, key.Max), "")
	case tooLarge:
		return nil, newError(n.origin, path, n.scalar+" does not fit in 64 bits", "")
	}
	return i, nil
}

func checkSize(n *documentNode, key *KeySpec, path string) (any, *Error) {
	bytes, err := ParseSize(n.scalar)
	if err != nil {
		return nil, newError(n.origin, path, err.Error(), "")
	}
	if key.Max != 0 && (bytes < key.Min || bytes > key.Max) {
		return nil, newError(n.origin, path, fmt.Sprintf("%s is %d bytes, which is not between %d and %d", n.scalar, bytes,
			key.Min, key.Max), "")
	}
	return n.scalar, nil
}

func (c *documentChecker) checkStringList(n *documentNode, key *KeySpec, path string) (any, *Error) {
	return checkList(c, n, path, "a list of strings", func(n *documentNode, path string) (string, *Error) {
		s, err := c.checkString(n, key, path)
		text, _ := s.(string)
		return text, err
	})
}

func checkList[T any](c *documentChecker, n *documentNode, path, kind string, check func(*documentNode, string) (T, *Error)) (any, *Error) {
	if n.kind != listNode {
		return nil, wrongKindError(n, path, kind)
	}
	out := make([]T, 0, len(n.items))
	for i, item := range n.items {
		element, err := check(item, path+"["+strconv.Itoa(i)+"]")
		if err != nil {
			c.addFault(err)
			continue
		}
		out = append(out, element)
	}
	return out, nil
}

func (c *documentChecker) checkString(n *documentNode, key *KeySpec, path string) (any, *Error) {
	if n.kind != textNode {
		return nil, wrongKindError(n, path, "a string")
	}
	s, err := key.Format.normalizeString(n.scalar, c.userHome)
	if err != nil {
		return nil, newError(n.origin, path, err.Error(), "")
	}
	if key.Values != nil && !slices.Contains(key.Values, s) {
		return nil, newError(n.origin, path, fmt.Sprintf("%q is not known; the nearest is %q", n.scalar, suggest.Nearest(s,
			key.Values)),
			"known are "+strings.Join(key.Values, ", "))
	}
	return s, nil
}

// checkFreeObject checks that a value is an object, with arbitrary keys of which none is repeated.
func checkFreeObject(n *documentNode, path, want string) *Error {
	if n.kind != objectNode {
		return wrongKindError(n, path, want)
	}
	return checkDuplicateKeys(n, path)
}

// checkDuplicateKeys rejects repeated keys in an object with arbitrary keys.
func checkDuplicateKeys(n *documentNode, path string) *Error {
	seen := make(map[string]Origin, len(n.members))
	for _, m := range n.members {
		full := joinKeyName(path, m.key)
		if first, twice := seen[m.key]; twice {
			return newError(m.origin, full, fmt.Sprintf("the key occurs twice, first at %s", first), "remove one of them")
		}
		seen[m.key] = m.origin
		if err := checkDuplicateKeys(m.value, full); err != nil {
			return err
		}
	}
	for i, item := range n.items {
		if err := checkDuplicateKeys(item, path+"["+strconv.Itoa(i)+"]"); err != nil {
			return err
		}
	}
	return nil
}

func wrongKindError(n *documentNode, path, want string) *Error {
	got, cure := n.kind.String(), ""
	switch n.kind {
	case textNode:
		got = fmt.Sprintf("the string %q", n.scalar)
	case numberNode, booleanNode:
		got += " (" + n.scalar + ")"
	case nullNode:
		cure = "remove the key to have its default"
	}
	return newError(n.origin, path, fmt.Sprintf("must be %s, not %s", want, got), cure)
}

func (c *documentChecker) checkListMap(n *documentNode, key *KeySpec, path string) (any, *Error) {
	if err := checkFreeObject(n, path, "an object with a list for each name"); err != nil {
		return nil, err
	}
	out := map[string]any{}
	for _, m := range n.members {
		list, err := c.checkStringList(m.value, key, path+"."+m.key)
		if err != nil {
			return nil, err
		}
		out[m.key] = list
	}
	return out, nil
}

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
