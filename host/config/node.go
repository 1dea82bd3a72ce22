package config

import (
	"fmt"
	"strconv"
)

// kind is what a node of a parsed document is.
type kind uint8

const (
	object kind = iota + 1
	list
	text
	number
	boolean
	null
)

func (k kind) String() string {
	return [...]string{"nothing", "an object", "a list", "a string", "a number", "a boolean", "null"}[k]
}

// node is a value in a parsed document. Both formats are parsed to it, so that everything after the parser is the
// same for both, and every value knows where it was written.
type node struct {
	kind    kind
	origin  Origin
	scalar  string // the string itself; a number as it was written; "true" or "false"
	members []member
	items   []*node
}

// member is a key of an object with its value. A document may hold a key twice: that is for the check to refuse.
type member struct {
	key    string
	origin Origin
	value  *node
}

// maxDepth bounds how deeply a document may be nested, and so how deep anything that walks it recurses. The keys of
// the configuration need eight.
const maxDepth = 64

// plain returns the node as the values that encoding/json would give, whole numbers as int64.
func (n *node) plain() any {
	switch n.kind {
	case object:
		m := make(map[string]any, len(n.members))
		for _, member := range n.members {
			m[member.key] = member.value.plain()
		}
		return m
	case list:
		l := make([]any, 0, len(n.items))
		for _, item := range n.items {
			l = append(l, item.plain())
		}
		return l
	case text:
		return n.scalar
	case boolean:
		return n.scalar == "true"
	case number:
		if i, err := strconv.ParseInt(n.scalar, 10, 64); err == nil {
			return i
		}
		f, err := strconv.ParseFloat(n.scalar, 64)
		if err != nil {
			return n.scalar // out of a float's range: the digits are all that can be kept
		}
		return f
	default:
		return nil
	}
}

// member returns the value of the first member of that key; nil when n has none.
func (n *node) member(key string) *node {
	for _, m := range n.members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// at returns the origin with the line in it. What is in a variable has no lines.
func (o Origin) at(line int) Origin {
	if o.Source == File {
		o.Line = line
	}
	return o
}

// syntaxError is what a parser returns.
func syntaxError(origin Origin, format string, args ...any) *Error {
	return &Error{Origin: origin, Problem: fmt.Sprintf(format, args...)}
}
