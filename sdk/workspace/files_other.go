//go:build !unix

package workspace

import "os"

// dirIdentity returns the path with which a directory was opened.
func dirIdentity(dir *os.File) (string, error) { return dir.Name(), nil }

// tryFileLock always succeeds on this system, without locking.
func tryFileLock(*os.File) error { return nil }

func releaseFileLock(*os.File) {}

// linkCount always returns 1 on this system.
func linkCount(os.FileInfo) uint64 { return 1 }

// inodeNumber returns "": this system has no inode numbers.
func inodeNumber(os.FileInfo) string { return "" }

func fileOwner(os.FileInfo) *OwnerIDs { return nil }

// duplicateDirHandle returns a second handle of an open directory. Unlike a handle of os.Root, it reads entries without
// a stat call for each.
func duplicateDirHandle(d *os.File) (*os.File, error) { return os.Open(d.Name()) }

// nonblockFlag makes opening a FIFO return at once.
const nonblockFlag = 0
