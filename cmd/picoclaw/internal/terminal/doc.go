// Package terminal shows results to a person: colour, tables and progress, as far as what is at the other end of a
// stream can show them. A file or a pipe gets plain text.
//
// It must not know what is shown.
package terminal
