//go:build !linux

package isolation

// closeInherited does nothing: here a child gets only what it is handed
// (Windows), or isolation is not offered.
func closeInherited() error { return nil }
