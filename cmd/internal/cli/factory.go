// Package cli has what all commands share: streams, global flags, the configuration, exit codes and completion.
//
// It must not import host or host/session: small programs use it too.
package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"runtime"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/cmd/internal/logs"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// Factory has what all commands share: the streams and the global flags.
type Factory struct {
	In       io.Reader
	Out, Err io.Writer

	Version string // of the program
	Source  string // directory that it was built from; empty in a release

	ConfigFile, Workspace, LogLevel, LogFormat string

	Isolated bool // overrides isolation.enabled with true
}

// Config loads the configuration, with the workspace that a flag names for an agent.
func (f *Factory) Config(agent string) (*config.Config, error) {
	cfg, faults := config.CheckAll(config.Options{File: f.ConfigFile, Workspace: f.Workspace, Agent: agent, Isolated: f.Isolated})
	switch len(faults) {
	case 0:
		return cfg, nil
	case 1:
		return nil, CannotStart(faults[0])
	}
	return nil, CannotStart(fmt.Errorf("%w\n  and %d more: `picoclaw config check` lists all", faults[0], len(faults)-1))
}

// ConfigAgain reads the configuration again for a process that has read it from a file, which may not be gone: without
// it the built-in defaults would be taken. The empty name is that of no file.
func (f *Factory) ConfigAgain(file string) (*config.Config, error) {
	cfg, err := f.Config("")
	if err == nil && file != "" && cfg.File() == "" {
		return nil, CannotStart(fmt.Errorf("the configuration file %s is missing; put back a copy", file))
	}
	return cfg, err
}

// NamesConfig reports whether the configuration's file is one that a flag or a variable names.
func (f *Factory) NamesConfig() bool { return f.ConfigFile != "" || os.Getenv("PICOCLAW_CONFIG") != "" }

// Logger makes the logger that the flags, or else the configuration, ask for. It writes to standard error: standard
// output is for results only.
func (f *Factory) Logger(cfg *config.Config) (hclog.Logger, error) {
	level, format := f.LogLevel, f.LogFormat
	if level == "" {
		level = cfg.Log().Level
	}
	if format == "" {
		format = cfg.Log().Format
	}
	// Plugins log as the host does; they read the variable.
	if err := os.Setenv("PICOCLAW_LOG_LEVEL", level); err != nil {
		return nil, err
	}
	return logs.New(f.Err, hclog.LevelFromString(level), format), nil
}

// CheckLogging checks the flags about logs.
func (f *Factory) CheckLogging() error {
	if f.LogLevel = strings.ToLower(f.LogLevel); f.LogLevel != "" && !slices.Contains(logLevels(), f.LogLevel) {
		return Usagef("log level %q: want %s", f.LogLevel, strings.Join(logLevels(), ", "))
	}
	if f.LogFormat != "" && !slices.Contains(logFormats(), f.LogFormat) {
		return Usagef("log format %q: want %s", f.LogFormat, strings.Join(logFormats(), " or "))
	}
	return nil
}

// logLevels returns the values of --log-level.
func logLevels() []string { return []string{"trace", "debug", "info", "warn", "error", "off"} }

// logFormats returns the values of --log-format.
func logFormats() []string { return []string{"text", "json"} }

// PrintJSON writes a value as one line.
func (f *Factory) PrintJSON(v any) error {
	e := json.NewEncoder(f.Out)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// UserName is who has this process run.
func UserName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "somebody"
}

// Home returns the instance root.
func (f *Factory) Home() (string, error) {
	home, err := config.FindHome(os.Environ())
	if err == nil && home.Fallback {
		err = errors.New("there is no home; set PICOCLAW_HOME to a directory")
	}
	if err != nil {
		return "", CannotStart(err)
	}
	return home.Path, nil
}

// Ask puts a question to the person at the other end of standard input.
func (f *Factory) Ask(question string) (bool, error) {
	fmt.Fprint(f.Err, question, " [y/N] ")
	answer, err := bufio.NewReader(f.In).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	if answer == "" {
		fmt.Fprintln(f.Err)
		return false, errors.New("nobody could confirm; --yes writes without asking")
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}

// PrintDone tells what was done.
func (f *Factory) PrintDone(output Format, value any, text string) error {
	if output == JSON {
		return f.PrintJSON(value)
	}
	_, err := fmt.Fprintln(f.Out, text)
	return err
}

// VersionText is the version and what goes with it.
func (f *Factory) VersionText() string {
	return fmt.Sprintf("%s (plugin protocol %d, %s %s/%s)", f.Version, pluginpb.ProtocolVersion, runtime.Version(),
		runtime.GOOS, runtime.GOARCH)
}
