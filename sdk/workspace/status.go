package workspace

import (
	"io/fs"
	"time"

	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// FileStatus is the metadata of the file at a path.
type FileStatus struct {
	Path    string      // absolute and resolved
	Info    fs.FileInfo // of the file that a symlink points to
	Link    string      // target of a symlink
	Created time.Time   // zero if unknown
	Links   uint64      // number of hard links
}

// FileStatus returns the metadata of the file at a path. It follows symlinks.
func (w *Workspace) FileStatus(path string) (FileStatus, error) {
	var s FileStatus
	err := w.withAllowedTarget(guard.Read, path, func(at accessTarget) (err error) {
		s.Info, err = at.statTarget()
		if err != nil {
			return err
		}
		if at.path == "" {
			s.Link, _ = at.dir.Readlink(at.name) // an error means that it is no symlink
		}
		return nil
	})
	if err != nil {
		return FileStatus{}, err
	}
	abs, err := w.AbsPath(path)
	if err != nil {
		return FileStatus{}, err
	}
	if s.Path, err = paths.Resolve(abs); err != nil {
		return FileStatus{}, err
	}
	s.Links = linkCount(s.Info)
	s.Created = w.readCreationTime(path, s.Info)
	return s, nil
}
