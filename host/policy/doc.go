// Package policy resolves the configuration, once for each agent, into one immutable value: what the agent may do.
//
// The three walls are built from that one value. The guard and the workspace take [Policy.Guard]; the kernel's wall
// takes [Policy.KernelPaths], which opens at least what the guard allows and as little more as a mount can express.
// A child session has a policy made by [Policy.Narrow], and nothing makes a wider one.
//
// The kernel knows directories and no patterns, so a whitelist pattern that ends in (/|$) is what is proposed for a
// directory: all walls then open the same. Where a whitelist opens more than the instance root may show, KernelPaths
// names the root as hidden.
//
// The package resolves the workspace (and creates it where that is its owner's plain wish), and does no other I/O.
// It must not know how plugins are started, what tools there are, or who asks.
package policy
