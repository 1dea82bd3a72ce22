//go:build race

package guard

// raced reports whether the race detector is on, which makes each decision some ten times slower.
const raced = true
