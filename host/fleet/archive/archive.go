// Package archive makes one stream of what is in a directory, and a directory of such a stream: files, directories and
// symbolic links, with their modes and times.
//
// The same directory is always the same stream, so one digest tells whether two copies are alike, and whether a copy
// has changed since. What can't be in it (sockets, devices, pipes) is refused by name. Whatever a stream says, nothing
// is written outside the directory, nor over what is there. The package must not know whose directory it is, nor where
// the stream goes.
package archive

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// Limits bound a stream.
type Limits struct {
	Bytes   int64 // of all files together
	Entries int
}

// DefaultLimits are those of a fleet's workspaces.
func DefaultLimits() Limits { return Limits{Bytes: 8 << 30, Entries: 1 << 20} }

// take counts an entry of a size.
func (l *Limits) take(size int64) error {
	l.Bytes -= size
	l.Entries--
	if size < 0 || l.Bytes < 0 || l.Entries < 0 {
		d := DefaultLimits()
		return fmt.Errorf("it is too large to be moved: at most %d files and %d GiB are", d.Entries, d.Bytes>>30)
	}
	return nil
}

// Pack writes what is in a directory.
func Pack(ctx context.Context, dir string, w io.Writer, limits Limits) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	out := tar.NewWriter(w)
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error { // in the order of names
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || name == "." {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return packOne(root, name, info, out, &limits)
	})
	return errors.Join(err, out.Close())
}

func packOne(root *os.Root, name string, info fs.FileInfo, out *tar.Writer, limits *Limits) error {
	h := &tar.Header{Name: name, Mode: int64(info.Mode().Perm()), ModTime: info.ModTime(), Format: tar.FormatPAX}
	switch info.Mode().Type() {
	case 0:
		h.Typeflag, h.Size = tar.TypeReg, info.Size()
	case fs.ModeDir:
		h.Typeflag, h.Name = tar.TypeDir, name+"/"
	case fs.ModeSymlink:
		to, err := root.Readlink(name)
		if err != nil {
			return err
		}
		h.Typeflag, h.Linkname, h.Mode, h.ModTime = tar.TypeSymlink, to, 0o777, time.Time{}
	default:
		return fmt.Errorf("%s is no file, directory or link (%s) and can't be moved; remove it first", name,
			info.Mode().Type())
	}
	if err := limits.take(h.Size); err != nil {
		return err
	}
	if err := out.WriteHeader(h); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if h.Typeflag != tar.TypeReg {
		return nil
	}
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if now, err := f.Stat(); err != nil || !os.SameFile(info, now) {
		return errors.Join(err, fmt.Errorf("%s has become another file meanwhile", name))
	}
	if _, err := io.CopyN(out, f, h.Size); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Unpack makes of a stream what is in a directory, which has to be empty. On an error something may be there.
func Unpack(ctx context.Context, dir string, r io.Reader, limits Limits) error {
	if empty, err := Empty(dir); err != nil || !empty {
		return errors.Join(err, fmt.Errorf("%s is not empty", dir))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	var dirs []*tar.Header // they have their modes and times at the end: files come into them until then
	in := tar.NewReader(r)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = limits.take(h.Size)
		}
		if err == nil {
			err = unpackOne(root, h, in)
		}
		if err != nil {
			return err
		}
		if h.Typeflag == tar.TypeDir {
			dirs = append(dirs, h)
		}
	}
	if _, err := io.Copy(io.Discard, r); err != nil { // what fills up the last block
		return err
	}
	for i := len(dirs) - 1; i >= 0; i-- {
		if err := settle(root, dirs[i]); err != nil {
			return err
		}
	}
	return flush(dir)
}

func unpackOne(root *os.Root, h *tar.Header, in io.Reader) error {
	name := strings.TrimSuffix(h.Name, "/")
	if !filepath.IsLocal(name) || name == "." || path.Clean(name) != name ||
		h.Typeflag == tar.TypeDir && !fs.ValidPath(name) {
		return fmt.Errorf("the archive has a file with the name %q", h.Name)
	}
	switch h.Typeflag {
	case tar.TypeDir:
		return root.Mkdir(name, 0o700)
	case tar.TypeSymlink:
		return root.Symlink(h.Linkname, name)
	case tar.TypeReg:
		f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, in)
		if err = errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return settle(root, h)
	}
	return fmt.Errorf("the archive has %q, which is no file, directory or link", h.Name)
}

// settle gives a file or directory its mode and time.
func settle(root *os.Root, h *tar.Header) error {
	name := strings.TrimSuffix(h.Name, "/")
	return errors.Join(root.Chmod(name, fs.FileMode(h.Mode).Perm()), root.Chtimes(name, h.ModTime, h.ModTime))
}

// Empty reports whether nothing is in a directory.
func Empty(dir string) (bool, error) {
	f, err := os.Open(dir)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	_, err = f.Readdirnames(1)
	if errors.Is(err, io.EOF) {
		return true, nil
	}
	return false, err
}

// Clear removes what is in a directory, and leaves the directory itself: processes may have it.
func Clear(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	// A directory that nobody may write in is kept from losing what is in it.
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && name != "." {
			if info, statErr := d.Info(); statErr == nil && info.Mode().Perm()&0o700 != 0o700 {
				return root.Chmod(name, 0o700)
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	all, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	for _, one := range all {
		err = errors.Join(err, root.RemoveAll(one.Name()))
	}
	return errors.Join(err, flush(dir))
}
