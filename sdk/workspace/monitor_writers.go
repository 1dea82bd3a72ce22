package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/internal/protect"
)

// detachWriters replaces each file at or below a path that a program has open for writing by a copy. The program's
// descriptor leads to the old file then, which has no name.
func (c *ProtectionEnforcer) detachWriters(path string) {
	_ = filepath.WalkDir(path, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && !c.detachFileWriters(path) {
			c.result.Found = append(c.result.Found, c.files.inside.RelativeName(path))
		}
		return nil
	})
}

// detachFileWriters is detachWriters for one file. It reports whether no program has it open for writing now.
func (c *ProtectionEnforcer) detachFileWriters(path string) bool {
	dir, err := openWritableDir(filepath.Dir(path))
	if err != nil {
		return false
	}
	defer func() { _ = dir.Close() }()
	name := filepath.Base(path)
	old, err := dir.OpenFile(name, os.O_RDONLY|nonblockFlag, 0)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer func() { _ = old.Close() }()
	if protect.CheckNoWriterOrLink(old) == nil {
		return true
	}
	c.notifyNext(mutation.FileMutation{Kind: mutation.Write, Path: path})
	temp := name + ".picoclaw-new"
	_ = dir.Remove(temp)
	if err = copyForReplacement(dir, old, temp); err == nil {
		err = dir.Rename(temp, name)
	}
	if err != nil {
		_ = dir.Remove(temp)
	}
	return err == nil
}

// copyForReplacement copies content and metadata of a file to a new one.
func copyForReplacement(dir *os.Root, old *os.File, temp string) error {
	info, err := old.Stat()
	if err != nil {
		return err
	}
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, old)
	err = errors.Join(err, preserveMetadata(old, info, f), f.Close())
	return errors.Join(err, dir.Chtimes(temp, info.ModTime(), info.ModTime()))
}
