//go:build race

package guard

// share is the share of the pairs of a line and a wrapping that is tried. The race detector makes each decision some
// ten times slower, and whether a decision is right has nothing to do with it: all pairs are tried without it. With it,
// each line is still tried in some wrappings, and each wrapping with some lines of every kind, by several goroutines at
// once.
const share = 8
