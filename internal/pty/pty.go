// Package pty makes pseudo-terminals. It must not know what runs on them.
package pty

// Size is the size of a terminal in characters.
type Size struct{ Rows, Cols uint16 }
