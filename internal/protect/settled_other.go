//go:build !linux

package protect

import "os"

const nonblock = 0

// CheckNoWriterOrLink returns nil.
func CheckNoWriterOrLink(*os.File) error { return nil } // this system reports no writers

func inodeAndChangeTime(string) (inode uint64, changed int64) { return 0, 0 } // the cache stays empty

// CanDetectWriters reports whether the file system of a path can tell that a file is open for writing.
func CanDetectWriters(string) bool { return false }
