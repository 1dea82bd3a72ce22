package supervise

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// unrunnable says why the program of a plugin that did not start can't run on this machine, and what to do about it. It
// is nil where nothing is wrong with the program itself.
func unrunnable(s *Spec) error {
	if runtime.GOOS == "windows" {
		return nil // programs are told by their names there
	}
	file, err := os.Open(s.Binary)
	if err != nil {
		return nil // that is said already
	}
	defer func() { _ = file.Close() }()
	const longest = 256 // of the first line, for the kernel
	head, err := io.ReadAll(io.LimitReader(file, longest))
	if err != nil {
		return nil
	}
	if line, ok := bytes.CutPrefix(head, []byte("#!")); ok {
		line, _, _ = bytes.Cut(line, []byte("\n"))
		if err := badScript(string(line), s); err != nil {
			return fmt.Errorf("its program %s is a script %w", s.Binary, err)
		}
		return nil
	}
	if runtime.GOOS == "linux" {
		return notForHere(s.Binary, file)
	}
	return nil
}

// badScript says why a script can't run whose first line, behind #!, is line.
func badScript(line string, s *Spec) error {
	if strings.HasSuffix(line, "\r") {
		return errors.New("whose first line ends with a carriage return, which the kernel takes for a part of the interpreter's name; save it with LF line ends")
	}
	words := strings.Fields(line)
	if len(words) == 0 || !filepath.IsAbs(words[0]) {
		return errors.New("whose first line names no interpreter; begin it with #! and an absolute path, such as #!/usr/bin/python3")
	}
	needed := words[:1]
	if filepath.Base(words[0]) == "env" {
		for _, word := range words[1:] { // the first one that is neither an option nor a variable
			if !strings.HasPrefix(word, "-") && !strings.Contains(word, "=") {
				needed = append(needed, word)
				break
			}
		}
	}
	for _, name := range needed {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("for %s, which is not there or not executable; install it, or name in the first line (#!) what is there", name)
		}
	}
	if !s.Profile.Confine {
		return nil // it may start what it likes
	}
	if !s.Profile.Exec {
		return fmt.Errorf(`for %s, which a plugin may start with the exec grant only; have its plugin.json ask for it ("exec": true), grant it, and install the plugin again`, needed[0])
	}
	for _, name := range needed {
		if only := s.Profile.Programs; len(only) > 0 && !slices.Contains(only, name) && !slices.Contains(only,
			filepath.Base(name)) {
			return fmt.Errorf("for %s, which is not among the programs that its plugin.json says it starts (%s); add it there, and install the plugin again",
				name, strings.Join(only, ", "))
		}
	}
	return nil
}

// notForHere says of a file that it is no program for this machine.
func notForHere(path string, file io.ReaderAt) error {
	here := runtime.GOOS + "/" + runtime.GOARCH
	program, err := elf.NewFile(file)
	if err != nil {
		return fmt.Errorf("%s is neither a program for %s nor a script that begins with #!; build the plugin for %s, and install it again", path, here, here)
	}
	of, known := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]
	if known && program.Machine != of {
		return fmt.Errorf("%s is a program for other processors (%v) than this machine's, %s; build the plugin for that, and install it again",
			path, program.Machine, here)
	}
	return nil
}

// recognised keeps which binaries have said of themselves what their manifest says. To say it, a plugin builds all its
// tools' schemas, which takes longer than all else that it does before its first call. One note for each plugin is
// kept, of the binary that was asked last.
type recognised struct {
	dir string // empty to keep none
}

func (r *recognised) file(plugin string) string {
	return filepath.Join(r.dir, "recognised-"+plugin)
}

// has reports whether what the spec names was recognised.
func (r *recognised) has(spec *Spec) bool {
	if r.dir == "" || spec.Digest == "" {
		return false
	}
	note, err := os.ReadFile(r.file(spec.Manifest.ID))
	return err == nil && string(note) == spec.Digest
}

// add notes that it was. Where that can't be noted, it is asked again.
func (r *recognised) add(spec *Spec) error {
	if r.dir == "" || spec.Digest == "" {
		return nil
	}
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(r.file(spec.Manifest.ID), []byte(spec.Digest), 0o600)
}

// copies are the checked copies of installed plugins that this host's instances run: the bytes that were hashed are the
// bytes that are executed, and nobody else writes where they are. One is made for each plugin and kept for the host's
// life.
type copies struct {
	mu   sync.Mutex
	made map[string]func() (string, error) // by digest: its directory
}

// of returns the directory of a spec's copy, which it makes at the first call.
func (c *copies) of(spec *Spec, parent string) (dir string, err error) {
	c.mu.Lock()
	if c.made == nil {
		c.made = make(map[string]func() (string, error))
	}
	make := c.made[spec.Digest]
	if make == nil {
		make = sync.OnceValues(func() (string, error) { return copyOf(spec, parent) })
		c.made[spec.Digest] = make
	}
	c.mu.Unlock()
	dir, err = make()
	if err != nil {
		c.mu.Lock()
		delete(c.made, spec.Digest) // it may be installed again meanwhile
		c.mu.Unlock()
		return "", err
	}
	return dir, nil
}

func copyOf(spec *Spec, parent string) (string, error) {
	dir, err := os.MkdirTemp(parent, "p")
	if err != nil {
		return "", err
	}
	if err := spec.Copy(dir); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, nil
}
