package main

// mkfifo does nothing: a directory of Windows has no such files.
func mkfifo(string) error { return nil }
