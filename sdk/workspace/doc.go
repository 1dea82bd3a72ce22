// Package workspace is what a plugin does its file I/O through: the second of picoclaw's three walls.
//
// Everything is opened below an os.Root for a directory that the policy allows, or, for a single whitelisted path
// outside, exactly at the path that was decided on with no symbolic link followed. A path is never checked as a string
// and then used as one, so a file that is swapped for a symbolic link between check and use still can't lead out.
//
// It opens regular files only, without blocking: a FIFO, a device or a socket is an error at once. Writes are old or
// new, never partial, and on disk when they have returned.
//
// Changes in one directory take turns by a lock on the directory, not on the file: a file's inode is another one after
// each change. Every process can take that lock, none leaves one behind, and nothing is added to the workspace for it.
//
// A hard link in the workspace is a file of the workspace. Reading it can't be told from reading any file; writing
// replaces it, so that the other name keeps what it had.
//
// The package decides from the policy by itself and does not ask the guard, so that each holds when the other fails.
// It must not know of tools, hosts or the wire.
package workspace
