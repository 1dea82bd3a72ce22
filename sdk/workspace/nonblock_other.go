//go:build !unix

package workspace

// nonblock is of no use where files can't be FIFOs.
const nonblock = 0
