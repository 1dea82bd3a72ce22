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

// explainUnrunnable returns the reason and remedy if this machine can't run a plugin's program; nil if it can.
func explainUnrunnable(s *InstanceSpec) error {
	if runtime.GOOS == "windows" {
		return nil // Windows tells programs by their file names
	}
	file, err := os.Open(s.Binary)
	if err != nil {
		return nil // the start has reported this error
	}
	defer func() { _ = file.Close() }()
	const maxLine = 256 // the kernel's limit for the first line
	head, err := io.ReadAll(io.LimitReader(file, maxLine))
	if err != nil {
		return nil
	}
	if line, ok := bytes.CutPrefix(head, []byte("#!")); ok {
		line, _, _ = bytes.Cut(line, []byte("\n"))
		if err := checkScript(string(line), s); err != nil {
			return fmt.Errorf("its program %s is a script %w", s.Binary, err)
		}
		return nil
	}
	if runtime.GOOS == "linux" {
		return checkExecutable(s.Binary, file)
	}
	return nil
}

// checkScript returns an error if this machine can't run a script. line is the script's first line, without "#!".
func checkScript(line string, s *InstanceSpec) error {
	if strings.HasSuffix(line, "\r") {
		return errors.New("whose first line ends with a carriage return, which the kernel takes as part of the interpreter's name; save the file with LF line ends")
	}
	words := strings.Fields(line)
	if len(words) == 0 || !filepath.IsAbs(words[0]) {
		return errors.New("whose first line names no interpreter; begin it with #! and an absolute path, such as #!/usr/bin/python3")
	}
	interpreters := words[:1]
	if filepath.Base(words[0]) == "env" {
		for _, word := range words[1:] { // skip options and variables
			if !strings.HasPrefix(word, "-") && !strings.Contains(word, "=") {
				interpreters = append(interpreters, word)
				break
			}
		}
	}
	for _, name := range interpreters {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("for %s, which is missing or not executable; install it, or change the first line (#!)", name)
		}
	}
	if !s.Profile.Confine {
		return nil // the plugin may start any program
	}
	if !s.Profile.Exec {
		return fmt.Errorf(`for %s, which requires the exec grant; request it in plugin.json ("exec": true), grant it, and reinstall the plugin`, interpreters[0])
	}
	for _, name := range interpreters {
		if only := s.Profile.Programs; len(only) > 0 && !slices.Contains(only, name) && !slices.Contains(only,
			filepath.Base(name)) {
			return fmt.Errorf("for %s, which is not among the programs in its plugin.json (%s); add it there, and reinstall the plugin",
				name, strings.Join(only, ", "))
		}
	}
	return nil
}

// checkExecutable returns an error if a file is not an executable for this operating system and processor.
func checkExecutable(path string, file io.ReaderAt) error {
	platform := runtime.GOOS + "/" + runtime.GOARCH
	program, err := elf.NewFile(file)
	if err != nil {
		return fmt.Errorf("%s is neither a program for %s nor a script that begins with #!; build the plugin for %s and reinstall it", path, platform, platform)
	}
	machine, known := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]
	if known && program.Machine != machine {
		return fmt.Errorf("%s is a program for %v, but this machine is %s; build the plugin for it and reinstall it",
			path, program.Machine, platform)
	}
	return nil
}

// verifiedDigests stores the digest of each plugin's last binary that matched its manifest. The comparison is slow,
// since the plugin builds the schemas of all its tools.
type verifiedDigests struct {
	dir string // empty to store nothing
}

// digestPath returns the path of the file with the digest of a plugin's binary.
func (r *verifiedDigests) digestPath(plugin string) string {
	return filepath.Join(r.dir, "recognised-"+plugin)
}

// isVerified reports whether this binary of the spec matched its manifest before.
func (r *verifiedDigests) isVerified(spec *InstanceSpec) bool {
	if r.dir == "" || spec.Digest == "" {
		return false
	}
	digest, err := os.ReadFile(r.digestPath(spec.Manifest.ID))
	return err == nil && string(digest) == spec.Digest
}

// markVerified records that this binary of the spec matches its manifest.
func (r *verifiedDigests) markVerified(spec *InstanceSpec) error {
	if r.dir == "" || spec.Digest == "" {
		return nil
	}
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(r.digestPath(spec.Manifest.ID), []byte(spec.Digest), 0o600)
}

// verifiedPluginCopies copies the installed plugins that this host runs to a directory that only this host writes to. It
// verifies each plugin while copying.
type verifiedPluginCopies struct {
	dirs sync.Map // by digest: func() (string, error) that creates the copy or returns its directory
}

// ensureCopy returns the directory of a spec's copy. The first call creates the copy.
func (c *verifiedPluginCopies) ensureCopy(spec *InstanceSpec, parent string) (dir string, err error) {
	create, _ := c.dirs.LoadOrStore(spec.Digest, sync.OnceValues(func() (string, error) { return copyToTempDir(spec, parent) }))
	if dir, err = create.(func() (string, error))(); err != nil {
		c.dirs.Delete(spec.Digest) // the plugin may be reinstalled before the next attempt
	}
	return dir, err
}

// copyToTempDir copies a plugin to a new directory below parent.
func copyToTempDir(spec *InstanceSpec, parent string) (string, error) {
	dir, err := os.MkdirTemp(parent, "p")
	if err != nil {
		return "", err
	}
	if err := spec.Copy(dir); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, nil
}
