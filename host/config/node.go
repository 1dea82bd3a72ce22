package config

import (
	"fmt"
	"strconv"
)

// documentNodeKind is the JSON type of a node.
type documentNodeKind uint8

const (
	objectNode documentNodeKind = iota + 1
	listNode
	textNode
	numberNode
	booleanNode
	nullNode
)

func (k documentNodeKind) String() string {
	return [...]string{"nothing", "an object", "a list", "a string", "a number", "a boolean", "null"}[k]
}

// documentNode is a value in a document with the location where it was written. JSON and YAML are parsed to nodes.
type documentNode struct {
	kind    documentNodeKind
	origin  Origin
	scalar  string // string; number as written; "true" or "false"
	members []objectMember
	items   []*documentNode
}

// objectMember is a key of an object with its value. An object may repeat keys; the checker rejects that.
type objectMember struct {
	key    string
	origin Origin
	value  *documentNode
}

// maxDepth limits the nesting of a document. The known keys need eight levels.
const maxDepth = 64

// toPlainValue returns the value with the types of encoding/json, but whole numbers as int64.
func (n *documentNode) toPlainValue() any {
	switch n.kind {
	case objectNode:
		m := make(map[string]any, len(n.members))
		for _, member := range n.members {
			m[member.key] = member.value.toPlainValue()
		}
		return m
	case listNode:
		l := make([]any, 0, len(n.items))
		for _, item := range n.items {
			l = append(l, item.toPlainValue())
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

// findMemberValue returns the value of the first member with a key; nil for none.
func (n *documentNode) findMemberValue(key string) *documentNode {
	for _, m := range n.members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// withLine returns the origin with a line. For a variable, which has no lines, it returns the origin unchanged.
func (o Origin) withLine(line int) Origin {
	if o.Source == FileSource {
		o.Line = line
	}
	return o
}

func newSyntaxError(origin Origin, format string, args ...any) *Error {
	return &Error{Origin: origin, Problem: fmt.Sprintf(format, args...)}
}
