//go:build !unix

package workspace

import "os"

// identity tells directories apart.
func identity(dir *os.File) (string, error) { return dir.Name(), nil }

// tryLock does nothing where directories can't be locked: changes take turns within a process only.
func tryLock(*os.File) error { return nil }

func releaseLock(*os.File) {}

// links returns how many names a file has, as far as is known.
func links(os.FileInfo) uint64 { return 1 }

// inode tells nothing where files have no such number.
func inode(os.FileInfo) string { return "" }

// ownerOf knows nobody where owners are no numbers.
func ownerOf(os.FileInfo) *Owner { return nil }

// entries returns a handle that reads the directory's entries.
func entries(d *os.File) (*os.File, error) { return os.Open(d.Name()) }

// nonblock is of no use where files can't be FIFOs.
const nonblock = 0
