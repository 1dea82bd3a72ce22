package selftest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/picoclaw/picoclaw/isolation"
)

// attackSandbox runs the attacks in a sandbox with the rights of a plugin that runs commands.
func attackSandbox(ctx context.Context, o Options) (results []AttackResult, _ error) {
	err := withTempDir(o.Dir, func(stage string) error {
		at, done, err := createAttackTargets(stage)
		if err != nil {
			return err
		}
		defer done()
		outside, err := os.Open(at.Outside)
		if err != nil {
			return err
		}
		defer func() { _ = outside.Close() }()
		work := filepath.Join(stage, "work")
		if err = os.Mkdir(work, 0o700); err != nil {
			return err
		}
		aim, err := json.Marshal(at)
		if err != nil {
			return err
		}
		cmd := exec.Command(o.Command[0], append(append([]string{}, o.Command[1:]...), string(aim))...)
		cmd.Env = []string{"PATH=/usr/bin:/bin"}
		cmd.Dir = work
		cmd.ExtraFiles = []*os.File{outside} // becomes the descriptor handed
		said, err := runForOutput(ctx, o.Isolation, cmd, isolation.Profile{
			Name: "selftest", Exec: true, Confine: true, ReadWrite: []string{work}, ReadOnly: []string{o.Command[0]},
			Network: o.Network,
		})
		if err != nil {
			return err
		}
		for answers := json.NewDecoder(bytes.NewReader(said)); ; {
			var r AttackResult
			if err := answers.Decode(&r); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return fmt.Errorf("understand %q: %w", said, err)
			}
			results = append(results, r)
		}
	})
	return results, err
}

// runForOutput runs cmd and returns its standard output. An error contains its standard error.
func runForOutput(ctx context.Context, iso *isolation.Starter, cmd *exec.Cmd, p isolation.Profile) ([]byte, error) {
	var read [2]*os.File
	var written [2]*os.File
	for n := range read {
		var err error
		if read[n], written[n], err = os.Pipe(); err != nil {
			return nil, err
		}
		defer func() { _ = read[n].Close() }()
	}
	cmd.Stdout, cmd.Stderr = written[0], written[1]
	err := iso.Run(ctx, cmd, p)
	for _, f := range written {
		_ = f.Close()
	}
	said, readErr := io.ReadAll(read[0])
	if err != nil {
		complaint, _ := io.ReadAll(read[1])
		return nil, fmt.Errorf("%w: %s", err, bytes.TrimSpace(complaint))
	}
	return said, readErr
}
