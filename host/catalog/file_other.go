//go:build !unix

package catalog

import "os"

func runnable(os.FileInfo) bool { return true }

func fileID(os.FileInfo) string { return "" }
