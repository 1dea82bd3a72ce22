// Package console plays what pages and recordings show as typed into a terminal: it finds the commands and the output
// that is shown for them, runs the commands by bash in a home of their own, and compares. It must not know what the
// commands are for.
package console
