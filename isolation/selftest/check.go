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

// selfTestTimeout limits a self-test, which normally takes milliseconds.
const selfTestTimeout = 20 * time.Second

// Options configure a self-test.
type Options struct {
	Isolation *isolation.Starter
	Network   bool // attack from processes with the host's network
	// Command is a program, by its absolute path, with arguments that make it call RunAttacks.
	Command []string
	// Dir is a directory outside all sandboxes that caches results.
	Dir string
}

// ConfinementMode returns the attacking processes' confinement.
func (o Options) ConfinementMode() ConfinementMode {
	return ConfinementMode{Sandboxed: o.Isolation.Enabled(), Network: o.Network}
}

// RunSelfTest attacks a sandbox, or returns a cached report of the same kernel, tools and program.
func RunSelfTest(ctx context.Context, o Options) (*Report, error) {
	identity := fmt.Sprintf("%+v %s | %s", o.ConfinementMode(), o.Isolation.SandboxIdentity(), isolation.FileIdentity(o.Command[0]))
	file := filepath.Join(o.Dir, o.ConfinementMode().reportFileName())
	if known := readReport(file); known != nil && known.Identity == identity && known.isComplete() {
		return known, nil
	}
	ctx, cancel := context.WithTimeout(ctx, selfTestTimeout)
	defer cancel()
	results, err := attackSandbox(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("test the sandbox: %w", err)
	}
	r := &Report{Identity: identity, Results: results}
	if !r.isComplete() {
		return nil, errors.New("test the sandbox: the attacks did not finish")
	}
	return r, r.writeReport(file)
}

// reportFileName returns the name of the file that caches a mode's report.
func (m ConfinementMode) reportFileName() string {
	name := "selftest-confined"
	if m.Sandboxed {
		name = "selftest-sandbox"
	}
	if m.Network {
		name += "-network"
	}
	return name + ".json"
}

// readReport reads a cached report; nil if missing or invalid.
func readReport(file string) *Report {
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

// writeReport caches the report atomically.
func (r *Report) writeReport(file string) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := atomicfile.WriteFile(file, data, 0o600); err != nil {
		return fmt.Errorf("keep the result of the self-test: %w", err)
	}
	return nil
}

// withTempDir calls f with a new directory below dir, and removes it afterwards.
func withTempDir(dir string, f func(stage string) error) (err error) {
	if err = os.MkdirAll(dir, 0o700); err != nil {
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
