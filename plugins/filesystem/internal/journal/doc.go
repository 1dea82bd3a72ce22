// Package journal keeps what changes to files destroy, so that they can be taken back.
//
// A journal is a directory of tar archives. Each operation has a folder of its own in one of them, named by its id: its
// first member, op.json, says what was done and how to undo it, and the others are what was there before. Nothing in it
// needs this program to be read: `tar xf` gives the bytes back. A process adds small operations to one archive, with a
// single write each, and gives a large one an archive of its own. Several processes may use one journal.
//
// The journal is bounded in size and age. It is written before the change that it is about, and not forced onto the
// disk: it survives a killed process, and a machine that loses power may lose its last entries, but no change.
//
// The package reads and writes the journal's own directory only. What to keep comes from its caller and goes back to
// its caller; it must not know of workspaces, policies or tools.
package journal
