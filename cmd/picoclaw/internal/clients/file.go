package clients

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"

	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/host/redact"
	"github.com/picoclaw/picoclaw/internal/atomicfile"
)

// FileChange is a planned change of a settings file.
type FileChange struct {
	Path string // of the file, with its symbolic links resolved

	before, after []byte
	mode          fs.FileMode
	isNew         bool
}

// PlanServerEntry plans to add a server's entry to the client's settings file, or to the file in path if it is not empty.
func (c ClientProgram) PlanServerEntry(p UserEnvironment, path string, s ServerEntry) (*FileChange, error) {
	if path == "" {
		path = c.SettingsFilePath(p)
	}
	change, err := newFileChange(path)
	if err != nil {
		return nil, err
	}
	if change.after, err = c.AddServerToText(change.before, s); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return change, nil
}

// newFileChange reads the file to change, if it exists. It returns an error for files that can't be replaced.
func newFileChange(path string) (*FileChange, error) {
	change := &FileChange{Path: path, mode: 0o600}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		change.Path = real // a link stays a link
	} else if target, linkErr := os.Readlink(path); linkErr == nil {
		return nil, fmt.Errorf("%s is a symlink to %s, which does not exist; create that file, or remove the symlink", path,
			target)
	}
	info, err := os.Stat(change.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		change.isNew = true
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file", path)
	default:
		change.mode = info.Mode().Perm()
		if change.mode&0o200 == 0 {
			return nil, fmt.Errorf("%s is read-only and stays unchanged; run `chmod u+w` on it, or paste the entry by hand", path)
		}
		if change.before, err = os.ReadFile(change.Path); err != nil {
			return nil, err
		}
	}
	return change, nil
}

// SettingsFilePath returns the path of the client's settings file: the first candidate that exists, or else the last.
func (c ClientProgram) SettingsFilePath(p UserEnvironment) string {
	files := c.file(p)
	for _, path := range files {
		if _, err := os.Lstat(path); err == nil {
			return path
		}
	}
	return files[len(files)-1]
}

// HasChanges reports whether Apply would change the file.
func (c *FileChange) HasChanges() bool { return c.isNew || !bytes.Equal(c.before, c.after) }

// Diff returns the change as a unified diff.
func (c *FileChange) Diff() string {
	from := c.Path
	if c.isNew {
		from = os.DevNull
	}
	return udiff.Unified(from, c.Path, string(c.before), string(c.after))
}

// Apply replaces the file and returns the path of its backup. It refuses if the file changed since it was planned.
func (c *FileChange) Apply(now time.Time) (backup string, err error) {
	current, err := os.ReadFile(c.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && c.isNew:
		if err = os.MkdirAll(filepath.Dir(c.Path), 0o700); err != nil {
			return "", err
		}
	case err != nil:
		return "", err
	case c.isNew || !bytes.Equal(current, c.before):
		return "", fmt.Errorf("%s was changed at the same time; nothing was written; try again", c.Path)
	default:
		if backup, err = c.writeBackup(now); err != nil {
			return "", fmt.Errorf("save a backup: %w", err)
		}
	}
	return backup, atomicfile.WriteFile(c.Path, c.after, c.mode)
}

// writeBackup copies the old file next to it, under a unique name with the time in it.
func (c *FileChange) writeBackup(now time.Time) (backup string, err error) {
	name := c.Path + ".before-picoclaw-" + now.UTC().Format("20060102T150405Z")
	backup = name
	for n := 2; ; n++ {
		if err := atomicfile.WriteNewFile(backup, c.before, c.mode); !errors.Is(err, fs.ErrExist) {
			return backup, err
		}
		backup = fmt.Sprintf("%s-%d", name, n)
	}
}

// PrintDiff prints a diff in colour, with secrets redacted.
func PrintDiff(out *terminal.Writer, diff string) {
	for line := range strings.Lines(diff) {
		style := terminal.Plain
		switch line[0] {
		case '+':
			style = terminal.Good
		case '-':
			style = terminal.Bad
		case '@':
			style = terminal.Name
		}
		fmt.Fprintln(out, out.Paint(style, terminal.CleanLine(redact.RedactText(strings.TrimSuffix(line, "\n")))))
	}
}
