package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/picoclaw/picoclaw/internal/atomicfile"
	"github.com/picoclaw/picoclaw/sdk"
)

// plainID is the id of the plugin that does what the file tools do in plain loops. Beside the same loops in this
// process it shows what one call's way there and back costs, with the same waiting for the disk.
const plainID = "plain"

// plainGrants is the configuration that gives it the workspace.
const plainGrants = `{"plugins": {"plain": {"grants": {"workspace": "rw"}}}}`

type plainInput struct {
	Path    string `json:"path" claim:"write"`
	Op      string `json:"op" doc:"What to do."`
	Content string `json:"content,omitempty"`
}

// plainPlugin is this program, started as a plugin.
func plainPlugin() sdk.Plugin {
	return sdk.Plugin{
		ID: plainID, Version: "0.1.0", Doc: "File tools in plain loops.",
		Grants: sdk.Grants{Workspace: sdk.WorkspaceAccess},
		Tools: []sdk.Tool{sdk.NewTool("plain", "Does something to a file in a plain loop.",
			func(_ context.Context, req *sdk.Request[plainInput]) (string, error) {
				return inPlainLoop(req.Args.Op, req.Args.Path, req.Args.Content)
			}, sdk.Traits{})},
	}
}

// inPlainLoop does what a program does that minds nothing but its task and the disk.
func inPlainLoop(op, path, content string) (string, error) {
	switch op {
	case "crash":
		os.Exit(1)
		return "", nil
	case "write":
		return "", atomicfile.Write(path, []byte(content), 0o600)
	case "edit":
		data, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		return "", atomicfile.Write(path, bytes.Replace(data, []byte("old"), []byte("new"), 1), 0o600)
	case "list":
		entries, err := os.ReadDir(path)
		if err != nil {
			return "", err
		}
		var b strings.Builder
		for _, e := range entries {
			b.WriteString("FILE: " + e.Name() + "\n")
		}
		return b.String(), nil
	default:
		data, err := os.ReadFile(path)
		return string(data), err
	}
}

// withPlugins gives f a directory with the built plugins and the plain plugin.
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
	home := filepath.Join(dir, "plugins", plainID)
	if err := os.Mkdir(home, 0o755); err != nil {
		return err
	}
	if err := copyProgram(self, filepath.Join(home, plainID)); err != nil {
		return err
	}
	manifest, err := exec.Command(filepath.Join(home, plainID), "describe").Output()
	if err != nil {
		return fmt.Errorf("describe the plain plugin: %w", err)
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
