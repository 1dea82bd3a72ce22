//go:build !unix

package workspace

import "os"

// dirIdentity returns a string that identifies a directory independently of its path.
func dirIdentity(dir *os.File) (string, error) { return dir.Name(), nil }

// tryFileLock locks a file or directory, or returns filelock.ErrLocked at once. On file systems without locks it
// succeeds.
func tryFileLock(*os.File) error { return nil }

func releaseFileLock(*os.File) {}

// linkCount returns the number of hard links of a file.
func linkCount(os.FileInfo) uint64 { return 1 }

// inodeNumber returns "": this system has no inode numbers.
func inodeNumber(os.FileInfo) string { return "" }

func fileOwner(os.FileInfo) *OwnerIDs { return nil }

// duplicateDirHandle returns a second handle of an open directory. Unlike a handle of os.Root, it reads entries without
// a stat call for each.
func duplicateDirHandle(d *os.File) (*os.File, error) { return os.Open(d.Name()) }

// nonblockFlag makes opening a FIFO return at once.
const nonblockFlag = 0
