package undo

import (
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/internal/protect"
)

// Operation is one tool call or command in the undo history.
type Operation struct {
	ID      string         `json:"id"`
	Time    time.Time      `json:"time"`
	Tool    string         `json:"tool"`
	Dir     string         `json:"dir,omitempty"`     // the workspace; empty in archives of earlier releases
	Summary string         `json:"summary"`           // one line that describes the call
	Undoes  string         `json:"undoes,omitempty"`  // the operation that this one undid
	Partly  bool           `json:"partly,omitempty"`  // of an undo: it left conflicts
	Early   bool           `json:"early,omitempty"`   // of an undo: the operation that it undid had not ended
	Missing string         `json:"missing,omitempty"` // reason that undo is impossible
	Lost    []string       `json:"lost,omitempty"`    // changes that undo does not restore
	Changes *ChangeSummary `json:"changes,omitempty"` // nil if the end of the operation was not recorded
}

// ChangeSummary counts the paths that an operation changed.
type ChangeSummary struct {
	Made    int      `json:"made,omitempty"`
	Changed int      `json:"changed,omitempty"`
	Moved   int      `json:"moved,omitempty"`
	Deleted int      `json:"deleted,omitempty"`
	Names   []string `json:"names,omitempty"` // absolute paths of some of them

	RunByTools []string `json:"run_by_tools,omitempty"` // absolute paths of some that the user's build tools or hooks run
}

// IsUnfinished reports whether the end of an operation was not recorded: it was killed, or still runs.
func (op *Operation) IsUnfinished() bool { return op.Changes == nil && op.Missing == "" }

// LeavesPartOf reports whether an undo left a part of the operation that it undid.
func (op *Operation) LeavesPartOf(undone *Operation) bool {
	return op.Partly || op.IsUnfinished() || op.Early && !undone.IsUnfinished()
}

// leftFilesUnchanged reports whether an operation left all files as they were, for example by moving a file and back.
// History hides such an operation, but its new change times are still needed.
func (op *Operation) leftFilesUnchanged() bool {
	return op.Changes != nil && op.Changes.Total() == 0 && len(op.Lost) == 0 && op.Missing == "" && op.Undoes == ""
}

// UndoStatus tells whether an operation is undone, partly undone or not undone.
type UndoStatus int

const (
	ExtentNone UndoStatus = iota
	ExtentPart
	extentUnlessEnded // ExtentWhole; ExtentPart if the operation ended later
	ExtentWhole
)

// UndoStatuses maps operation ids to the extent of their undo. Call Add for operations from newest to oldest.
type UndoStatuses map[string]UndoStatus

// Add returns the extent to which an operation is undone. If the operation is an undo itself, Add notes the extent for
// the operation that it undid.
func (e UndoStatuses) Add(op *Operation) UndoStatus {
	extent := e[op.ID]
	if extent == extentUnlessEnded {
		if extent = ExtentWhole; !op.IsUnfinished() {
			extent = ExtentPart
		}
	}
	if op.Undoes != "" && extent != ExtentWhole {
		does := ExtentWhole
		switch {
		case op.Partly || extent == ExtentPart || op.IsUnfinished():
			does = ExtentPart
		case op.Early:
			does = extentUnlessEnded
		}
		e[op.Undoes] = max(e[op.Undoes], does)
	}
	return extent
}

// Total returns the number of changed paths.
func (c *ChangeSummary) Total() int { return c.Made + c.Changed + c.Moved + c.Deleted }

// maxNames is the maximum length of Changes.Names.
const maxNames = 10

func (c *ChangeSummary) countPath(count *int, path string) {
	*count++
	if len(c.Names) < maxNames {
		c.Names = append(c.Names, path)
	}
	if len(c.RunByTools) < maxNames && protect.IsRunByTools(path) {
		c.RunByTools = append(c.RunByTools, path)
	}
}

// formatChanges lists counts and some names relative to a directory: ": made 1, deleted 2 (a, b, c)".
func (c *ChangeSummary) formatChanges(dir string) string {
	if c.Total() == 0 {
		return ""
	}
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

// operationRecord is the complete content of an archive except file contents.
type operationRecord struct {
	Operation

	Objects []*fileObject  `json:"objects,omitempty"`
	Entries []*entryChange `json:"entries,omitempty"`
	Ended   int64          `json:"ended,omitempty"` // nanoseconds since 1970
	// Restored lists objects that are equal to former objects: those that an undo recreated and those that returned to
	// their former state. The record of an undo includes the list of the operation that it undid.
	Restored []restoredObject `json:"restored,omitempty"`
}

// objectVersion identifies the state of an object by its change time.
type objectVersion struct {
	ID      FileIdentity `json:"id"`
	Changed int64        `json:"changed"`
}

// restoredObject is a pair of versions with the same contents and metadata: undo restored the version Was as the
// version Now.
type restoredObject struct {
	Was objectVersion `json:"was"`
	Now objectVersion `json:"now"`
}
