//go:build !amd64

package main

// archCalls is empty: portableCalls has all calls of this architecture.
func archCalls() []randomCall { return nil }
