package takeback

import "time"

// Op is one operation.
type Op struct {
	ID      string    `json:"id"`
	Time    time.Time `json:"time"`
	Tool    string    `json:"tool"`
	Summary string    `json:"summary"`           // one line: what was done
	Steps   []Step    `json:"steps"`             // how to undo it, in this order
	Undoes  string    `json:"undoes,omitempty"`  // the operation that this one took back
	Missing string    `json:"missing,omitempty"` // why it can't be undone
	Lost    []string  `json:"lost,omitempty"`    // what undoing it does not bring back

	// Recorded says that what the operation changed stands in a list of its own, and not in Steps; see [Recorder].
	Recorded bool     `json:"recorded,omitempty"`
	Changes  *Changes `json:"changes,omitempty"` // in short; nil if the end of the operation was not seen
}

// Changes are what a recorded operation has changed.
type Changes struct {
	Made    int      `json:"made,omitempty"`
	Changed int      `json:"changed,omitempty"`
	Moved   int      `json:"moved,omitempty"`
	Deleted int      `json:"deleted,omitempty"`
	Names   []string `json:"names,omitempty"` // absolute paths of some of them
}

// start gives an operation its id.
func (o *Op) start(id string) {
	o.ID, o.Time = id, time.Now().UTC().Truncate(time.Millisecond)
}

// Action is how one thing is put back.
type Action string

// The actions.
const (
	Restore Action = "restore" // put back what was kept
	Remove  Action = "remove"  // delete what was made
	Move    Action = "move"    // move back what was moved
	Shrink  Action = "shrink"  // cut off what was added to the end
	Tidy    Action = "tidy"    // delete a directory that was made, if nothing else is in it
)

// Step undoes one part of an operation.
type Step struct {
	Action Action `json:"action"`
	Path   string `json:"path"`             // what is put back
	From   string `json:"from,omitempty"`   // where it is moved back from
	Blob   string `json:"blob,omitempty"`   // the members of the archive that are put back
	Size   int64  `json:"size,omitempty"`   // what it is cut to, in bytes
	Before string `json:"before,omitempty"` // the state before the operation: an etag, or empty where there was nothing
	Undone string `json:"undone,omitempty"` // the state that undoing leaves, where that is not Before
	After  string `json:"after,omitempty"`  // the state that the operation left, in the caller's terms

	Modified *time.Time `json:"modified,omitempty"` // when what is cut was changed last
}
