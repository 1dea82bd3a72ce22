//go:build !race

package guard

// share is the share of the pairs of a line and a wrapping that is tried: all.
const share = 1
