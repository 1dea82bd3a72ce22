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

	"github.com/picoclaw/picoclaw/isolation"
)

// patience is how long the whole of a self-test may take. It takes milliseconds.
const patience = 20 * time.Second

// Check attacks a sandbox of iso's and returns how it went. command is a program, by its absolute path, with arguments
// that have it call Attack. What is known already of the same kernel, tools and program is read from dir, a directory
// that no sandbox sees, and what is found out is kept there; without it, nothing is.
func Check(ctx context.Context, iso *isolation.Isolation, command []string, dir string) (*Report, error) {
	identity := fmt.Sprintf("sandbox=%t %s | %s", iso.Enabled(), iso.Identity(), isolation.FileIdentity(command[0]))
	file := filepath.Join(dir, name(iso.Enabled()))
	if known := read(file); known != nil && known.Identity == identity && known.complete() {
		return known, nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	results, err := attack(ctx, iso, command, dir)
	if err != nil {
		return nil, fmt.Errorf("test the sandbox: %w", err)
	}
	r := &Report{Identity: identity, Results: results}
	if !r.complete() {
		return nil, errors.New("test the sandbox: the attacks did not come to their end")
	}
	return r, r.write(file)
}

// name is that of the file with what is known.
func name(sandboxed bool) string {
	if sandboxed {
		return "selftest-sandbox.json"
	}
	return "selftest-confined.json"
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
func (r *Report) write(file string) (err error) {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return fmt.Errorf("keep the result of the self-test: %w", err)
	}
	_, err = temp.Write(data)
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), file)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
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
