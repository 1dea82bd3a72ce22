package mcp

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/install"
	"github.com/picoclaw/picoclaw/host/login"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/isolation"
)

// RemoveOptions are the options of `picoclaw mcp remove`.
type RemoveOptions struct {
	install.Options
	name string
	keep bool
}

func NewCmdRemove(f *cli.Factory, runF func(*RemoveOptions) error) *cobra.Command {
	o := &RemoveOptions{Options: install.Options{Factory: f}}
	cmd := &cobra.Command{
		Use:               "remove NAME",
		Aliases:           []string{"rm"},
		Short:             "Remove an MCP server",
		Args:              oneServerArgument(&o.name),
		ValidArgsFunction: completeServers(f),
	}
	o.AddFlags(cmd)
	cmd.Flags().BoolVar(&o.keep, "keep", false, "keep the server's state")
	return cli.SetRun(cmd, o, (*RemoveOptions).removeServer, runF)
}

func (o *RemoveOptions) removeServer() error {
	s, err := install.OpenPluginInventory(o.Factory)
	if err != nil {
		return err
	}
	pin, err := findServerLockEntry(s, o.name)
	if err != nil {
		return err
	}
	state := session.PluginStateDir(s.Config.Home().Path, o.name)
	text := "the server " + o.name + " is removed"
	switch kept := hasFiles(state); {
	case o.keep && kept:
		text += "; its state is in " + state
	case kept:
		yes, err := o.Confirm(fmt.Sprintf("Remove the server %s and its state in %s?", o.name, state))
		if err != nil || !yes {
			return cli.FailedError(errors.Join(fmt.Errorf("%s was not removed; to keep its state, use --keep", o.name), err))
		}
		text += ", and its state in " + state
	}
	if err := s.Store.RemovePlugin(o.name); err != nil {
		return cli.FailedError(err)
	}
	for _, dir := range append(programHomeDirs(s, o.name), state) {
		if o.keep {
			break
		}
		if err := os.RemoveAll(dir); err != nil {
			return cli.FailedError(fmt.Errorf("the server %s is removed, but not its state: %w; delete the state", o.name, err))
		}
	}
	_, removeErr := login.RemoveLogin(s.Config.Home().Path, o.name)
	if removeErr = errors.Join(removeErr, clearQuarantine(s, o.name)); removeErr != nil {
		return cli.FailedError(removeErr)
	}
	return o.PrintTextOrJSON(o.Output, install.InstallResult{ID: o.name, Previous: pin.Version}, text)
}

// hasFiles reports whether there is a file below a directory.
func hasFiles(dir string) bool {
	found := false
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// programHomeDirs returns the home directories of a plugin's programs, one per policy.
func programHomeDirs(s *install.PluginInventory, id string) (dirs []string) {
	const policy = 16 // digits, and a hyphen
	all := isolation.UserEnvDir(s.Config.Home().Path, "")
	entries, _ := os.ReadDir(all) // without it, nothing ran
	for _, e := range entries {
		if name := e.Name(); len(name) == policy+1+len(id) && name[policy:] == "-"+id {
			dirs = append(dirs, filepath.Join(all, name))
		}
	}
	return dirs
}
