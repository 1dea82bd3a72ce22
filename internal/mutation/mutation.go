// Package mutation describes a change to files that a process is about to make. Isolation reports it, and undo keeps
// the old contents. The package must not know how a change is detected or used.
package mutation

// FileMutation is a change to files that a process is about to make.
type FileMutation struct {
	Kind Kind
	// Path is the changed path. To is the second path of a rename or link. Both are absolute with resolved symlinks,
	// including the last one if the call follows it. The change is made to these paths even if another thread changes
	// the memory of the arguments.
	Path, To string
	// Thread is the thread that makes the change. Its next mutation follows when this one has succeeded or failed; a Failed
	// one follows at once if the change fails.
	Thread int
	// Dir says that the change creates a directory.
	Dir bool
	// Err is the reason that the arguments of an Unseen change could not be read.
	Err error
}

// Kind is the kind of a change to files.
type Kind int

// Kinds of changes.
const (
	Unseen    Kind = iota // a change whose arguments could not be read
	Write                 // a file is opened for writing, and created if missing
	Make                  // a directory, symlink, FIFO or socket is created
	Remove                // a file or an empty directory is deleted
	Rename                // Path is renamed to To, which is replaced
	Exchange              // Path and To are swapped
	Link                  // To becomes a hard link of Path; Path is empty for an unnamed file
	Attribute             // mode, owner, times or extended attributes are set
	Failed                // the thread's last change failed
)
