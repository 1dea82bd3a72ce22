// Package paths says where paths lead and what lies within what: one answer for all who decide on paths or show them.
// It decides nothing, and what it has found may be another thing a moment later.
package paths
