package takeback

import (
	"path/filepath"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// Conflict is why an operation is not taken back: something is not any more as it has left it.
type Conflict struct {
	Path    string
	Problem string
}

func (e *Conflict) Error() string { return e.Path + " " + e.Problem }

// Conflict finds what is not any more as the operation has left it; nil for nothing.
func (l *List) Conflict(w *workspace.Workspace) *Conflict {
	if l.Op.Changes == nil {
		return &Conflict{l.Op.Summary, "was killed, or still runs: its end was not seen"}
	}
	places, ours := map[string]string{}, map[string]bool{}
	for _, e := range l.Entries {
		switch e.Kind {
		case Moved:
			places[e.Path], ours[e.Now] = e.Now, true
		case Made:
			ours[e.Path] = true
		}
	}
	d := dirs{files: w, exact: true}
	defer d.forget()
	for _, e := range l.Entries {
		at := e.Path
		if e.Kind == Moved {
			at = e.Now
		} else if e.Kind != Made {
			at = place(places, e.Path)
		}
		now := absent
		info := d.stat(at)
		if info != nil {
			now = stateOf(info)
		}
		if lasting(now) != lasting(e.After) {
			return &Conflict{at, "has changed since"}
		}
		if e.Kind == Made && info != nil && info.IsDir() {
			if extra := others(&d, at, ours); extra != "" {
				return &Conflict{extra, "was made since, where a directory is to be deleted"}
			}
		}
	}
	return nil
}

// lasting is the part of a state that is the same again once a later operation was taken back: a file that was put back
// is another inode, changed at another time.
func lasting(state string) string {
	fields := strings.Fields(state)
	if len(fields) == 5 && fields[0] != "dir" {
		fields = fields[:3]
	}
	return strings.Join(fields, " ")
}

// others finds something in a directory that was made which the operation did not put there.
func others(d *dirs, path string, ours map[string]bool) string {
	root, _ := d.open(filepath.Join(path, "x"))
	if root == nil {
		return ""
	}
	dir, err := root.Open(".")
	if err != nil {
		return ""
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if at := filepath.Join(path, name); !ours[at] {
			return at
		}
	}
	return ""
}

// Refused returns the first path of an operation that a policy does not open to be changed; "" for none.
func (l *List) Refused(allowed func(path string) bool) string {
	for _, e := range l.Entries {
		for _, path := range []string{e.Path, e.Now} {
			if path != "" && !allowed(path) {
				return path
			}
		}
	}
	return ""
}
