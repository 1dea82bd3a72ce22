package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// RemoveEmpty deletes directories that have nothing in them, in the order given, and leaves all others alone.
// Directories that are each in the next are found by one way from the outermost, and the disk is waited for once.
func (w *Workspace) RemoveEmpty(paths ...string) error {
	for len(paths) > 0 {
		chain := 1
		for chain < len(paths) && filepath.Dir(paths[chain-1]) == paths[chain] {
			chain++
		}
		if err := w.removeChain(paths[:chain]); err != nil {
			return err
		}
		paths = paths[chain:]
	}
	return nil
}

// removeChain deletes directories each of which is in the next, from the first to the last that has nothing else in it.
func (w *Workspace) removeChain(paths []string) error {
	outermost := paths[len(paths)-1]
	t, err := w.target(guard.Delete, outermost)
	if err != nil {
		return gone(notItself(err, outermost))
	}
	defer t.close()
	in := []*os.Root{t.dir} // what each is in, from the outermost
	names := []string{t.name}
	defer func() {
		for _, dir := range in[1:] {
			_ = dir.Close()
		}
	}()
	for i := len(paths) - 2; i >= 0; i-- {
		last := len(in) - 1
		if info, err := in[last].Lstat(names[last]); err != nil || !info.IsDir() {
			break // what is left of the chain ends here, or leads elsewhere
		}
		dir, err := in[last].OpenRoot(names[last])
		if err != nil {
			break
		}
		in, names = append(in, dir), append(names, filepath.Base(paths[i]))
	}
	removed := false
	for i := len(in) - 1; i >= 0; i-- {
		info, err := in[i].Lstat(names[i])
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && info.IsDir() {
			err = in[i].Remove(names[i])
		} else if err == nil {
			break // something else, which is not empty
		}
		if errors.Is(err, fs.ErrExist) { // ENOTEMPTY is one
			break
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		removed = true
	}
	if !removed {
		return nil
	}
	return t.sync()
}
