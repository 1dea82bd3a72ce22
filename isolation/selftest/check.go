// Package selftest attacks a sandbox from inside, to know what holds on this machine and not only what was asked for.
//
// [Check] starts a command in a real sandbox, the way that package isolation starts any other. The command calls
// [Attack], which tries a handful of ways out and reports how each ended. What came of it is a [Report]. It is kept in
// a file, and found out again when the kernel, the sandbox's tools or the command are other ones.
//
// It must not know what runs in sandboxes otherwise, nor which policy they have.
package selftest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/picoclaw/picoclaw/internal/atomicfile"
	"github.com/picoclaw/picoclaw/isolation"
)

// patience is how long the whole of a self-test may take. It takes milliseconds.
const patience = 20 * time.Second

// Options say what is attacked, and by what.
type Options struct {
	Isolation *isolation.Isolation
	Network   bool // processes with the host's network are attacked from
	// Command is a program, by its absolute path, with arguments that have it call Attack.
	Command []string
	// Dir is a directory that no sandbox sees. What is known is kept there.
	Dir string
}

// Mode is how the processes are held that are attacked from.
func (o Options) Mode() Mode { return Mode{Sandboxed: o.Isolation.Enabled(), Network: o.Network} }

// Check attacks a sandbox and returns how it went. What is known already of the same kernel, tools and program is not
// found out again.
func Check(ctx context.Context, o Options) (*Report, error) {
	identity := fmt.Sprintf("%+v %s | %s", o.Mode(), o.Isolation.Identity(), isolation.FileIdentity(o.Command[0]))
	file := filepath.Join(o.Dir, o.Mode().file())
	if known := read(file); known != nil && known.Identity == identity && known.complete() {
		return known, nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	results, err := attack(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("test the sandbox: %w", err)
	}
	r := &Report{Identity: identity, Results: results}
	if !r.complete() {
		return nil, errors.New("test the sandbox: the attacks did not come to their end")
	}
	return r, r.write(file)
}

// file is the name of what is known about a mode.
func (m Mode) file() string {
	name := "selftest-confined"
	if m.Sandboxed {
		name = "selftest-sandbox"
	}
	if m.Network {
		name += "-network"
	}
	return name + ".json"
}

// read returns what a file knows; nil if there is none, or none that can be read.
func read(file string) *Report {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	var r Report
	if json.Unmarshal(data, &r) != nil {
		return nil
	}
	return &r
}

// write keeps the report. Whoever reads meanwhile gets the old one or this one.
func (r *Report) write(file string) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(file, data, 0o600); err != nil {
		return fmt.Errorf("keep the result of the self-test: %w", err)
	}
	return nil
}

// stage gives f a new directory below dir.
func stage(dir string, f func(stage string) error) (err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	made, err := os.MkdirTemp(dir, "selftest-")
	if err != nil {
		return err
	}
	defer func() {
		if gone := os.RemoveAll(made); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}()
	if made, err = filepath.EvalSymlinks(made); err != nil {
		return err
	}
	return f(made)
}
