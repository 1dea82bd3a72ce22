// Package output keeps what commands print: the head and the tail in memory, the whole in a bounded file, and what a
// poller has not fetched yet in a ring. It must not know what printed it.
package output
