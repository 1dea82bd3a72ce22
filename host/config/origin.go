package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Source is a layer of the configuration in which a value can be set.
type Source int

// Sources in increasing order of precedence.
const (
	DefaultSource  Source = iota // built in
	FileSource                   // configuration file
	VariableSource               // environment variable
	FlagSource                   // command-line flag
)

// String returns "default", "file", "variable" or "flag".
func (s Source) String() string { return [...]string{"default", "file", "variable", "flag"}[s] }

// Origin is the location where a value was set: a line of a file, a variable or a flag.
type Origin struct {
	Source Source

	// Name is the file's path, the variable or the flag; empty for defaults.
	Name string

	// Line is the line in the file, from 1; 0 if unknown.
	Line int
}

// String returns "default", "/path/config.json:12", "PICOCLAW_TOOLS_SET" or "--workspace".
func (o Origin) String() string {
	switch {
	case o.Source == DefaultSource:
		return "default"
	case o.Line > 0:
		return o.Name + ":" + strconv.Itoa(o.Line)
	default:
		return o.Name
	}
}

// Setting is the value of a key, with the location where it was set.
type Setting struct {
	// Key is the full name of the key as written; in [AgentConfig.Settings], its name in an agent's settings.
	Key string

	// Value is a string, bool, int64, []string, for rules []map[string]any or, for the free part of a plugin's
	// configuration, map[string]any.
	Value any

	Origin Origin

	// Common is the full name of the key for all agents. Own says that the agent overrides it. Only
	// [AgentConfig.Settings] sets them.
	Common string
	Own    bool
}

// Error is a mistake in the configuration. Its text has location, key and remedy.
type Error struct {
	// Origin is the location; zero if unknown.
	Origin Origin

	// Key is the full key as written, such as "agents.agents[1].tools.set"; may be empty.
	Key string

	// Problem describes the mistake; Cure is the remedy, which may be empty.
	Problem, Cure string

	err error
}

// Error returns "<place>: <key>: <problem>; <cure>".
func (e *Error) Error() string {
	var b strings.Builder
	if e.Origin != (Origin{}) {
		b.WriteString(e.Origin.String())
		b.WriteString(": ")
	}
	if e.Key != "" {
		b.WriteString(e.Key)
		b.WriteString(": ")
	}
	b.WriteString(e.Problem)
	if e.Cure != "" {
		b.WriteString("; ")
		b.WriteString(e.Cure)
	}
	return b.String()
}

// Unwrap returns the cause; may be nil.
func (e *Error) Unwrap() error { return e.err }

func newError(origin Origin, key, problem, cure string) *Error {
	return &Error{Origin: origin, Key: key, Problem: problem, Cure: cure}
}

// sortErrorsByLine sorts the mistakes in one file by line. A missing key is detected only at the end of its object.
func sortErrorsByLine(faults []*Error) {
	slices.SortStableFunc(faults, func(a, b *Error) int { return cmp.Compare(a.Origin.Line, b.Origin.Line) })
}

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
