// Package mutation says what change to files a process is about to make: what isolation notices and takeback keeps
// before-images for. It must not know how a change is noticed, or what becomes of it.
package mutation

// Mutation is a change to files that a process is about to make.
type Mutation struct {
	Kind Kind
	// Path is what is changed, and To the second name of a rename or a link: absolute, with the symbolic links on the
	// way followed, and the last one too if the call does that. Both are what the process had asked for when it was
	// looked at; a thread beside it may have changed its mind since.
	Path, To string
	// Thread is who makes it. Its next change comes when this one is made, or has failed.
	Thread int
	// Dir says that what is made is a directory.
	Dir bool
	// Err is why an Unseen change could not be looked at.
	Err error
}

// Kind says what kind of change it is.
type Kind int

// The kinds of changes.
const (
	Unseen    Kind = iota // some change that could not be looked at
	Write                 // a file is opened for writing, and made if there is none
	Make                  // a directory, a link, a FIFO or a socket is made
	Remove                // a file or an empty directory is deleted
	Rename                // Path gets the name To, and what had it is gone
	Exchange              // Path and To change places
	Link                  // the file at Path gets a second name, To; Path is empty for a file without a name
	Attribute             // mode, owner, times or extended attributes are set
)
