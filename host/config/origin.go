package config

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Source is a layer that a value can come from.
type Source int

// The sources, each standing above the ones before it.
const (
	Default  Source = iota // built in
	File                   // the configuration file
	Variable               // an environment variable
	Flag                   // a flag of the command line
)

// String returns "default", "file", "variable" or "flag".
func (s Source) String() string { return [...]string{"default", "file", "variable", "flag"}[s] }

// Origin is the place that a value came from.
type Origin struct {
	Source Source

	// Name is the file's path, the variable's name or the flag; empty for [Default].
	Name string

	// Line is the line in the file, from 1; 0 when there is none to name.
	Line int
}

// String returns "default", "/path/config.json:12", "PICOCLAW_TOOLS_SET" or "--workspace".
func (o Origin) String() string {
	switch {
	case o.Source == Default:
		return "default"
	case o.Line > 0:
		return o.Name + ":" + strconv.Itoa(o.Line)
	default:
		return o.Name
	}
}

// Setting is the value of one key, and where it came from.
type Setting struct {
	// Key is the full name, such as "tools.exec.timeout_seconds" or "agents.agents[1].id".
	Key string

	// Value is a string, bool, int64, []string, for rules []map[string]any or, for the free part of a plugin's
	// configuration, map[string]any.
	Value any

	Origin Origin

	// Common is the full name that the key has for all agents, and Own says that an agent's own value replaces what is set
	// by that. Both are only given by [Agent.Settings].
	Common string
	Own    bool
}

// Error is one thing that is wrong with the configuration. Its text names the place, the key and the cure.
type Error struct {
	// Origin is the place; its zero value is a place that can't be named.
	Origin Origin

	// Key is the full key as it was written, such as "agents.agents[1].tools.set"; empty when no key is at fault.
	Key string

	// Problem says what is wrong; Cure, which may be empty, what to do about it.
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

// Unwrap returns the error that caused this one, such as that of reading the file; nil when there is none.
func (e *Error) Unwrap() error { return e.err }

func fault(origin Origin, key, problem, cure string) *Error {
	return &Error{Origin: origin, Key: key, Problem: problem, Cure: cure}
}

// sortFaults sorts the faults of one file by their lines: what is missing in an object is known only at its end.
func sortFaults(faults []*Error) {
	slices.SortStableFunc(faults, func(a, b *Error) int { return cmp.Compare(a.Origin.Line, b.Origin.Line) })
}
