//go:build !unix

package mcp

import "io"

// unread can't be told here.
func unread(io.Writer) bool { return false }
