//go:build !unix

package mcp

import "io"

// isReaderGone reports whether the other end of the pipe or socket is closed.
func isReaderGone(io.Writer) bool { return false }
