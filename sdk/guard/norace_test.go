//go:build !race

package guard

// raced reports whether the race detector is on.
const raced = false
