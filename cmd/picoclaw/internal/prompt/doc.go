// Package prompt reads lines that a person types, with history and completion on a terminal, and plainly from anything
// else.
//
// It must not know what the lines mean.
package prompt
