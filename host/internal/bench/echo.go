package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/picoclaw/picoclaw/sdk"
)

// echoID is the id of the plugin that does nothing but answer: what it takes is what the way there and back takes.
const echoID = "echo"

type echoInput struct {
	Path    string `json:"path" claim:"write"`
	Content string `json:"content"`
	Bytes   int    `json:"bytes" minimum:"0"`
}

// echoPlugin is this program, started as a plugin.
func echoPlugin() sdk.Plugin {
	long := strings.Repeat("0123456789abcde\n", 1<<16)
	return sdk.Plugin{
		ID: echoID, Version: "0.1.0", Doc: "Answers, and does nothing else.",
		Grants: sdk.Grants{Workspace: sdk.WorkspaceAccess},
		Tools: []sdk.Tool{sdk.NewTool("echo", "Answers with some bytes.",
			func(_ context.Context, req *sdk.Request[echoInput]) (string, error) {
				return strings.Clone(long[:min(req.Args.Bytes, len(long))]), nil // new, as every result is
			})},
	}
}

// withPlugins gives f a directory with the built plugins and the echo plugin.
func withPlugins(bin string, f func(bin string) error) (err error) {
	dir, err := os.MkdirTemp("", "picoclaw-bench")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	if err := os.CopyFS(filepath.Join(dir, "plugins"), os.DirFS(filepath.Join(bin, "plugins"))); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	home := filepath.Join(dir, "plugins", echoID)
	if err := os.Mkdir(home, 0o755); err != nil {
		return err
	}
	if err := copyProgram(self, filepath.Join(home, echoID)); err != nil {
		return err
	}
	manifest, err := exec.Command(filepath.Join(home, echoID), "describe").Output()
	if err != nil {
		return fmt.Errorf("describe the echo plugin: %w", err)
	}
	if err := os.WriteFile(filepath.Join(home, "plugin.json"), manifest, 0o644); err != nil {
		return err
	}
	return f(dir)
}

func copyProgram(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// echo is the way there and back with arguments and an answer of some size.
func (f *files) echo(asked, answered int) func() error {
	args, _ := json.Marshal(echoInput{"file", strings.Repeat("0123456789abcde\n", asked/16), answered})
	return func() error { return call(f.session, "echo", string(args)) }
}
