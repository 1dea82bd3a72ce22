package workspace

import (
	"io/fs"
	"time"

	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// Status is what is known of something without reading it.
type Status struct {
	Path    string      // absolute, symbolic links resolved
	Info    fs.FileInfo // of what the path leads to
	Link    string      // where the path itself points to if it is a symbolic link
	Created time.Time   // zero where the file system does not know
	Links   uint64      // how many names the file has
}

// Status describes what is at a path.
func (w *Workspace) Status(path string) (Status, error) {
	var s Status
	err := w.use(guard.Read, path, func(at place) (err error) {
		s.Info, err = at.stat()
		if err != nil {
			return err
		}
		if at.path == "" {
			s.Link, _ = at.dir.Readlink(at.name) // an error means that it is none
		}
		return nil
	})
	if err != nil {
		return Status{}, err
	}
	abs, err := w.Abs(path)
	if err != nil {
		return Status{}, err
	}
	if s.Path, err = paths.Resolve(abs); err != nil {
		return Status{}, err
	}
	s.Links = links(s.Info)
	s.Created = w.created(path, s.Info)
	return s, nil
}
