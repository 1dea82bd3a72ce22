package undo

import (
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Operation is one call of a tool, or one command, in the undo history.
type Operation struct {
	ID      string    `json:"id"`
	Time    time.Time `json:"time"`
	Tool    string    `json:"tool"`
	Summary string    `json:"summary"`           // one line: what was done
	Undoes  string    `json:"undoes,omitempty"`  // the operation that this one undid
	Partly  bool      `json:"partly,omitempty"`  // of an undo: it left conflicts
	Missing string    `json:"missing,omitempty"` // why it can't be undone
	Lost    []string  `json:"lost,omitempty"`    // what undo does not restore
	Changes *Changes  `json:"changes,omitempty"` // nil if the end of the operation was not recorded
}

// Changes are what an operation changed: numbers of paths.
type Changes struct {
	Made    int      `json:"made,omitempty"`
	Changed int      `json:"changed,omitempty"`
	Moved   int      `json:"moved,omitempty"`
	Deleted int      `json:"deleted,omitempty"`
	Names   []string `json:"names,omitempty"` // absolute paths of some of them
}

// changedNothing reports whether an operation left everything as it was, for example by moving a file and back. The
// history does not list it, but the times of change that it set are known by it.
func (op *Operation) changedNothing() bool {
	return op.Changes != nil && op.Changes.Total() == 0 && len(op.Lost) == 0 && op.Missing == "" && op.Undoes == ""
}

// Extent says how much of an operation is undone.
type Extent int

// The extents.
const (
	ExtentNone Extent = iota
	ExtentPart
	ExtentWhole
)

// Extents are how much of operations is undone, by their ids. Add is called for the operations, the newest first.
type Extents map[string]Extent

// Add takes in an operation, which may be an undo, and returns how much of it is undone.
func (e Extents) Add(op *Operation) Extent {
	extent := e[op.ID]
	if op.Undoes != "" && extent != ExtentWhole {
		does := ExtentWhole
		if op.Partly || extent == ExtentPart {
			does = ExtentPart
		}
		e[op.Undoes] = max(e[op.Undoes], does)
	}
	return extent
}

// Total returns the number of changed paths.
func (c *Changes) Total() int { return c.Made + c.Changed + c.Moved + c.Deleted }

// maxNames is how many changed paths Changes names.
const maxNames = 10

func (c *Changes) addPath(count *int, path string) {
	*count++
	if len(c.Names) < maxNames {
		c.Names = append(c.Names, path)
	}
}

// summaryText lists the numbers and some names relative to a directory: ": made 1, deleted 2 (a, b, c)".
func (c *Changes) summaryText(dir string) string {
	var parts []string
	for _, part := range []struct {
		verb string
		n    int
	}{{"made", c.Made}, {"changed", c.Changed}, {"moved", c.Moved}, {"deleted", c.Deleted}} {
		if part.n > 0 {
			parts = append(parts, part.verb+" "+strconv.Itoa(part.n))
		}
	}
	const shown = 3
	var names []string
	for _, name := range c.Names[:min(shown, len(c.Names))] {
		names = append(names, strings.TrimPrefix(name, dir+string(filepath.Separator)))
	}
	text := ": " + strings.Join(parts, ", ") + " (" + strings.Join(names, ", ")
	if c.Total() > len(names) {
		text += ", …"
	}
	return text + ")"
}

// record is all that is known of an operation.
type record struct {
	Operation

	Objects []*object `json:"objects,omitempty"`
	Entries []*entry  `json:"entries,omitempty"`
	Ended   int64     `json:"ended,omitempty"` // nanoseconds since 1970
	// Restored are objects that stand for former ones since: those that an undo put back, and those that are as before.
	// An undo has those of its operation too.
	Restored []restored `json:"restored,omitempty"`
}

// version is an object at one point in time.
type version struct {
	ID      Identity `json:"id"`
	Changed int64    `json:"changed"`
}

// restored says that Now is the same as Was.
type restored struct {
	Was version `json:"was"`
	Now version `json:"now"`
}
