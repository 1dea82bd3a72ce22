// Package lazyregexp compiles regular expressions on first use, so that programs which never use one start faster.
//
// It must not know any expression.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that compiles expr at its first call and returns the same expression at every call. The
// function may be called concurrently; it panics if expr is malformed, as [regexp.MustCompile] does.
func New(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
