package config

import (
	"fmt"
	"strconv"
)

// nodeKind is the kind of a node.
type nodeKind uint8

const (
	objectNode nodeKind = iota + 1
	listNode
	textNode
	numberNode
	booleanNode
	nullNode
)

func (k nodeKind) String() string {
	return [...]string{"nothing", "an object", "a list", "a string", "a number", "a boolean", "null"}[k]
}

// node is a value in a document. Both formats are parsed to nodes, which know where they were written.
type node struct {
	kind    nodeKind
	origin  Origin
	scalar  string // string; number as written; "true" or "false"
	members []member
	items   []*node
}

// member is a key of an object with its value. Keys may repeat; the check rejects that.
type member struct {
	key    string
	origin Origin
	value  *node
}

// maxDepth limits the nesting of a document. The known keys need eight levels.
const maxDepth = 64

// plainValue returns the value as encoding/json does, with whole numbers as int64.
func (n *node) plainValue() any {
	switch n.kind {
	case objectNode:
		m := make(map[string]any, len(n.members))
		for _, member := range n.members {
			m[member.key] = member.value.plainValue()
		}
		return m
	case listNode:
		l := make([]any, 0, len(n.items))
		for _, item := range n.items {
			l = append(l, item.plainValue())
		}
		return l
	case textNode:
		return n.scalar
	case booleanNode:
		return n.scalar == "true"
	case numberNode:
		if i, err := strconv.ParseInt(n.scalar, 10, 64); err == nil {
			return i
		}
		f, err := strconv.ParseFloat(n.scalar, 64)
		if err != nil {
			return n.scalar // out of range: keep the digits
		}
		return f
	default:
		return nil
	}
}

// findValue returns the value of the first member with a key; nil for none.
func (n *node) findValue(key string) *node {
	for _, m := range n.members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// withLine returns the origin with a line. Variables have no lines.
func (o Origin) withLine(line int) Origin {
	if o.Source == FileSource {
		o.Line = line
	}
	return o
}

// syntaxError returns a parser's error.
func syntaxError(origin Origin, format string, args ...any) *Error {
	return &Error{Origin: origin, Problem: fmt.Sprintf(format, args...)}
}
