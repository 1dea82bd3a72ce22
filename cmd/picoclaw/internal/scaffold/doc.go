// Package scaffold writes the beginning of a plugin: a Go module that builds, passes its own tests and says what to do
// next. It must not know how plugins are installed or run.
package scaffold
