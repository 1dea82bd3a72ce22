//go:build !linux

package protect

import "os"

const nonblock = 0

func checkSettled(*os.File) error { return nil } // nothing tells of changes there

func inodeAndChangeTime(string) (inode uint64, changed int64) { return 0, 0 } // nothing is remembered

// CanDetectWriters reports whether the file system of a path tells if a file is open for writing.
func CanDetectWriters(string) bool { return false }
