// Package pattern has regular expressions that are compiled when they are first used. The guard has many, a command needs few
// of them, and every program that decides on commands would pay for all when it starts.
package pattern

import (
	"regexp"
	"sync"
)

// Pattern is a regular expression. It may be used concurrently.
type Pattern struct{ compiled func() *regexp.Regexp }

// New returns the pattern of an expression, which has to be a valid one.
func New(expr string) *Pattern {
	return &Pattern{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })}
}

// Regexp returns the compiled expression.
func (p *Pattern) Regexp() *regexp.Regexp { return p.compiled() }
