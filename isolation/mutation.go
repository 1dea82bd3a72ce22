package isolation

// Mutation is a change to files that a child is about to make.
type Mutation struct {
	Kind MutationKind
	// Path is what is changed, and To the second name of a rename or a link: absolute, with the symbolic links on the
	// way followed, and the last one too if the call does that. Both are what the child had asked for when it was looked
	// at; a thread beside it may have changed its mind since.
	Path, To string
	// Err is why an Unseen change could not be looked at.
	Err error
}

// MutationKind says what kind of change it is.
type MutationKind int

// The kinds of changes.
const (
	Unseen   MutationKind = iota // some change that could not be looked at
	Write                        // a file is opened for writing, and made if there is none
	Make                         // a directory, a link, a FIFO or a socket is made
	Remove                       // a file or an empty directory is deleted
	Rename                       // Path gets the name To, and what had it is gone
	Exchange                     // Path and To change places
	Link                         // the file at Path gets a second name, To
	Attribute                    // mode, owner, times or extended attributes are set
)
