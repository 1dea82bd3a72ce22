//go:build !unix

package catalog

import "os"

func isExecutable(os.FileInfo) bool { return true }

// isWorldWritable returns false: modes are meaningless on this system.
func isWorldWritable(os.FileInfo) bool { return false }

// fileID distinguishes files of equal size and time.
func fileID(os.FileInfo) string { return "" }
