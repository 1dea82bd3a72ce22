// Package lazyregexp compiles regular expressions on first use, so that programs which never use one start faster.
//
// It must not know any expression.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that compiles expr on its first call and then always returns the same expression. The function
// is safe for concurrent use. It panics if expr is malformed, like [regexp.MustCompile].
func New(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
