//go:build !unix

package policy

// addLinkTargets returns the patterns unchanged: this system does not tell who can change a directory.
func addLinkTargets(patterns []string) []string { return patterns }

// linkTarget returns "".
func linkTarget(string) string { return "" }
