package config

import (
	"cmp"
	"slices"
	"strings"
)

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
