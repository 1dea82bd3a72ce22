package store

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

func hash(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

// Verify compares every file of an installed plugin with what the lock says. The errors are what differs.
func (s *Store) Verify(id string, pin *Pin) []error {
	dir := s.Dir(id, pin.Version)
	found, data, err := hashAll(dir)
	if err != nil {
		return []error{fmt.Errorf("plugin %s: %w", id, err)}
	}
	var problems []error
	for _, name := range slices.Sorted(mapKeys(pin.Files, found)) {
		if found[name] != pin.Files[name] {
			problems = append(problems, changed(id, name))
		}
	}
	if data != pin.Data {
		problems = append(problems, changed(id, DataDir))
	}
	err = filepath.WalkDir(dir, func(at string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		return onlyOurs(at, info)
	})
	if err := errors.Join(s.Guarded(), err); err != nil {
		problems = append(problems, err)
	}
	return problems
}

// VerifyProgram compares the program of an installed plugin with what the lock says: a look that is cheap enough for a
// list, where [Store.Verify] looks at everything.
func (s *Store) VerifyProgram(id string, pin *Pin) error {
	if pin.Program != "" {
		return nil
	}
	found, err := hashFile(filepath.Join(s.Dir(id, pin.Version), filepath.FromSlash(pin.Binary)))
	if err != nil {
		return fmt.Errorf("plugin %s: %w; install it again", id, err)
	}
	if found != pin.Files[pin.Binary] {
		return changed(id, pin.Binary)
	}
	return nil
}

// mapKeys returns the keys of both maps, each once.
func mapKeys(a, b map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for name := range a {
			if !yield(name) {
				return
			}
		}
		for name := range b {
			if _, twice := a[name]; !twice && !yield(name) {
				return
			}
		}
	}
}

// CopyVerified copies a plugin's files to a directory that is the caller's own, and hashes them on the way: what is
// there in the end is what the lock speaks of, whatever becomes of the store meanwhile. files is the lock's.
func CopyVerified(id, from, to string, files map[string]string) error {
	root, err := os.OpenRoot(from)
	if err != nil {
		return fmt.Errorf("plugin %s: %w; install it again", id, err)
	}
	defer func() { _ = root.Close() }()
	for name, want := range files {
		if err := copyVerified(root, filepath.FromSlash(name), to, want); err != nil {
			if errors.Is(err, errDiffers) {
				return changed(id, name)
			}
			return fmt.Errorf("plugin %s: %w; install it again", id, err)
		}
	}
	return nil
}

var errDiffers = errors.New("it differs")

func copyVerified(root *os.Root, name, to, want string) error {
	in, err := root.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errDiffers
	}
	target := filepath.Join(to, name)
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	out, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm()&0o500|0o400)
	if err != nil {
		return err
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, h), in)
	if err := errors.Join(err, out.Close()); err != nil {
		return err
	}
	if hex.EncodeToString(h.Sum(nil)) != want {
		return errDiffers
	}
	return nil
}

// ReadFile returns what is in a file of an installed plugin, if it is what the lock says.
func (s *Store) ReadFile(id string, pin *Pin, name string) ([]byte, error) {
	data, err := readBounded(filepath.Join(s.Dir(id, pin.Version), filepath.FromSlash(name)), maxManifestBytes)
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w; install it again", id, err)
	}
	if hash(data) != pin.Files[name] {
		return nil, changed(id, name)
	}
	return data, nil
}
