//go:build !unix

package mcp

import "io"

// isReaderGone reports whether the reader of a pipe or socket has closed it.
func isReaderGone(io.Writer) bool { return false }
