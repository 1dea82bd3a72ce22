package config

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/internal/suggest"
)

// checker walks a document beside the tree of known keys. It checks and converts in one go, and notes every value
// with its origin. It goes on after a fault, without the value that is at fault, so that one look finds all of them.
type checker struct {
	userHome string
	settings map[string]Setting
	faults   []*Error // in the order that they were met
}

// fault notes what is wrong.
func (c *checker) fault(err *Error) { c.faults = append(c.faults, err) }

// value checks n, which stands at path, against e and returns what koanf is given for it; false when it is at fault.
func (c *checker) value(n *node, e *entry, path string) (any, bool) {
	switch e.typ() {
	case "", Map:
		return c.object(n, e, path)
	case Objects:
		return c.objects(n, e, path)
	}
	if e.typ() == Rules {
		return c.rules(n, path)
	}
	v, err := c.leaf(n, e.key, path)
	if err != nil {
		c.fault(err)
		return nil, false
	}
	c.settings[path] = Setting{Key: path, Value: v, Origin: n.origin}
	return v, true
}

func (c *checker) object(n *node, e *entry, path string) (any, bool) {
	if n.kind != object {
		c.fault(wrongKind(n, path, "an object"))
		return nil, false
	}
	out := make(map[string]any, len(n.members))
	seen := make(map[string]member, len(n.members))
	for _, m := range n.members {
		full := joinName(path, m.key)
		child, err := known(m, e, path)
		if err != nil {
			c.fault(err)
			continue
		}
		name := child.name
		if e.typ() == Map {
			name = m.key
		}
		if first, twice := seen[name]; twice {
			problem := fmt.Sprintf("the key is here twice, first at %s", first.origin)
			if first.key != m.key {
				problem = fmt.Sprintf("means the same as %s at %s", joinName(path, first.key), first.origin)
			}
			c.fault(fault(m.origin, full, problem, "remove one of them"))
			continue
		}
		seen[name] = m
		if v, ok := c.value(m.value, child, full); ok {
			out[name] = v
		}
	}
	for _, child := range e.children {
		if _, ok := seen[child.name]; !ok && child.key != nil && child.key.Required {
			c.fault(fault(n.origin, joinName(path, child.name), "is missing", ""))
		}
	}
	return out, true
}

// known finds the entry of a member of the object e.
func known(m member, e *entry, path string) (*entry, *Error) {
	full := joinName(path, m.key)
	if e.typ() == Map {
		if _, err := cmp.Or(e.key.Format, ID).apply(m.key, ""); err != nil {
			return nil, fault(m.origin, full, err.Error(), "")
		}
		return e.children[0], nil
	}
	if child := e.child(m.key); child != nil && child.name[0] != '[' {
		return child, nil
	}
	if strings.Contains(m.key, ".") {
		return nil, fault(m.origin, full, "unknown key: a name with dots is written as one object in the other",
			unknownKey(full, path, e))
	}
	return nil, fault(m.origin, full, "unknown key", unknownKey(full, path, e))
}

func (c *checker) objects(n *node, e *entry, path string) (any, bool) {
	if n.kind != list {
		c.fault(wrongKind(n, path, "a list of objects"))
		return nil, false
	}
	out := make([]any, 0, len(n.items))
	element := e.children[0]
	whole := true
	for i, item := range n.items {
		v, ok := c.value(item, element, path+"["+strconv.Itoa(i)+"]")
		whole = whole && ok
		out = append(out, v)
	}
	for _, child := range element.children {
		if child.key != nil && child.key.Unique {
			c.unique(out, child.name, path)
		}
	}
	if whole {
		c.settings[path] = Setting{Key: path, Value: out, Origin: n.origin}
	}
	return out, whole
}

// unique checks that no two objects of the list hold the same value under name. One that is at fault already has none.
func (c *checker) unique(values []any, name, path string) {
	first := make(map[any]int, len(values))
	for i, v := range values {
		element, ok := v.(map[string]any)
		if !ok || element[name] == nil {
			continue
		}
		value := element[name]
		if j, twice := first[value]; twice {
			key := joinName(path+"["+strconv.Itoa(i)+"]", name)
			c.fault(fault(c.settings[key].Origin, key, fmt.Sprintf("%q is already the %s of %s[%d]", value, name, path, j), ""))
			continue
		}
		first[value] = i
	}
}

// leaf checks and converts a value without known keys below it.
func (c *checker) leaf(n *node, key *Key, path string) (any, *Error) {
	switch key.Type {
	case Bool:
		if n.kind != boolean {
			return nil, wrongKind(n, path, "true or false")
		}
		return n.scalar == "true", nil
	case Int:
		return integer(n, key, path)
	case Number:
		f, err := strconv.ParseFloat(n.scalar, 64)
		if n.kind != number || err != nil || f < 0 || math.IsInf(f, 0) {
			return nil, wrongKind(n, path, "a number that is not below 0")
		}
		return f, nil
	case Size:
		if n.kind != text && n.kind != number {
			return nil, wrongKind(n, path, `a size such as "50MB"`)
		}
		return size(n, key, path)
	case Strings:
		return c.strings(n, key, path)
	case Lists:
		return c.lists(n, key, path)
	case Texts:
		return c.texts(n, path)
	case Free:
		if n.kind != object {
			return nil, wrongKind(n, path, "an object")
		}
		if err := freeDuplicates(n, path); err != nil {
			return nil, err
		}
		return n.plain(), nil
	default:
		return c.string(n, key, path)
	}
}

// texts checks an object of strings.
func (c *checker) texts(n *node, path string) (any, *Error) {
	if n.kind != object {
		return nil, wrongKind(n, path, "an object of strings")
	}
	if err := freeDuplicates(n, path); err != nil {
		return nil, err
	}
	out := map[string]any{}
	for _, m := range n.members {
		if m.value.kind != text {
			return nil, wrongKind(m.value, joinName(path, m.key), "a string")
		}
		out[m.key] = m.value.scalar
	}
	return out, nil
}

func integer(n *node, key *Key, path string) (any, *Error) {
	i, err := strconv.ParseInt(n.scalar, 10, 64)
	if n.kind != number || err != nil {
		return nil, wrongKind(n, path, "a whole number")
	}
	if (key.Min != 0 || key.Max != 0) && (i < key.Min || i > key.Max) {
		return nil, fault(n.origin, path, fmt.Sprintf("%d is not between %d and %d", i, key.Min, key.Max), "")
	}
	return i, nil
}

func size(n *node, key *Key, path string) (any, *Error) {
	bytes, err := ParseSize(n.scalar)
	if err != nil {
		return nil, fault(n.origin, path, err.Error(), "")
	}
	if key.Max != 0 && (bytes < key.Min || bytes > key.Max) {
		return nil, fault(n.origin, path, fmt.Sprintf("%s is %d bytes, which is not between %d and %d", n.scalar, bytes,
			key.Min, key.Max), "")
	}
	return n.scalar, nil
}

func (c *checker) strings(n *node, key *Key, path string) (any, *Error) {
	if n.kind != list {
		return nil, wrongKind(n, path, "a list of strings")
	}
	out := make([]string, 0, len(n.items))
	for i, item := range n.items {
		s, err := c.string(item, key, path+"["+strconv.Itoa(i)+"]")
		if err != nil {
			c.fault(err)
			continue
		}
		out = append(out, s.(string))
	}
	return out, nil
}

func (c *checker) string(n *node, key *Key, path string) (any, *Error) {
	if n.kind != text {
		return nil, wrongKind(n, path, "a string")
	}
	s, err := key.Format.apply(n.scalar, c.userHome)
	if err != nil {
		return nil, fault(n.origin, path, err.Error(), "")
	}
	if key.Values != nil && !slices.Contains(key.Values, s) {
		return nil, fault(n.origin, path, fmt.Sprintf("%q is not known; the nearest is %q", n.scalar, suggest.Nearest(s,
			key.Values)),
			"known are "+strings.Join(key.Values, ", "))
	}
	return s, nil
}

// freeDuplicates refuses keys that are there twice in what is not checked otherwise.
func freeDuplicates(n *node, path string) *Error {
	seen := make(map[string]Origin, len(n.members))
	for _, m := range n.members {
		full := joinName(path, m.key)
		if first, twice := seen[m.key]; twice {
			return fault(m.origin, full, fmt.Sprintf("the key is here twice, first at %s", first), "remove one of them")
		}
		seen[m.key] = m.origin
		if err := freeDuplicates(m.value, full); err != nil {
			return err
		}
	}
	for i, item := range n.items {
		if err := freeDuplicates(item, path+"["+strconv.Itoa(i)+"]"); err != nil {
			return err
		}
	}
	return nil
}

func wrongKind(n *node, path, want string) *Error {
	got, cure := n.kind.String(), ""
	switch n.kind {
	case text:
		got = fmt.Sprintf("the string %q", n.scalar)
	case number, boolean:
		got += " (" + n.scalar + ")"
	case null:
		cure = "remove the key to have its default"
	}
	return fault(n.origin, path, fmt.Sprintf("must be %s, not %s", want, got), cure)
}

// lists checks an object of lists of strings.
func (c *checker) lists(n *node, key *Key, path string) (any, *Error) {
	if n.kind != object {
		return nil, wrongKind(n, path, "an object with a list for each name")
	}
	if err := freeDuplicates(n, path); err != nil {
		return nil, err
	}
	out := map[string]any{}
	for _, m := range n.members {
		list, err := c.strings(m.value, key, path+"."+m.key)
		if err != nil {
			return nil, err
		}
		out[m.key] = list
	}
	return out, nil
}
