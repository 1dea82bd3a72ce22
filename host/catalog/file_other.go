//go:build !unix

package catalog

import "os"

func runnable(os.FileInfo) bool { return true }

// changeable leaves it to the system's own permissions: a mode says nothing of them.
func changeable(os.FileInfo) bool { return false }

func fileID(os.FileInfo) string { return "" }
