//go:build !unix

package main

import "io"

// unread can't be told here.
func unread(io.Writer) bool { return false }
