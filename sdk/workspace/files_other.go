//go:build !unix

package workspace

import "os"

// dirIdentity identifies a directory, independent of its path.
func dirIdentity(dir *os.File) (string, error) { return dir.Name(), nil }

// tryLock locks a file or directory, or returns filelock.ErrLocked. It succeeds on file systems without locks.
func tryLock(*os.File) error { return nil }

// releaseLock undoes tryLock.
func releaseLock(*os.File) {}

// linkCount returns the number of hard links of a file.
func linkCount(os.FileInfo) uint64 { return 1 }

// inodeNumber returns the number that distinguishes a file from later ones with its name.
func inodeNumber(os.FileInfo) string { return "" }

// ownerOf returns the owner of a file.
func ownerOf(os.FileInfo) *Owner { return nil }

// entriesHandle returns a second handle of the directory that reads entries without a stat call for each.
func entriesHandle(d *os.File) (*os.File, error) { return os.Open(d.Name()) }

// nonblockFlag makes opening a FIFO return at once. It has no effect on files and directories.
const nonblockFlag = 0
