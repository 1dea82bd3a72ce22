// Package journal keeps what changes to files destroy, so that they can be taken back.
//
// Every operation is one file: a tar archive whose first member, op.json, says what was done and how to undo it, and
// whose other members are what was there before. Its name sorts by time. Nothing in it needs this program to be read:
// `tar xf` gives the bytes back. Several processes may use one journal.
//
// The journal is bounded in size and age. It is written before the change that it is about, and not forced onto the
// disk: it survives a killed process, and a machine that loses power may lose its last entries, but no change.
//
// The package reads and writes the journal's own directory only. What to keep comes from its caller and goes back to
// its caller; it must not know of workspaces, policies or tools.
package journal
