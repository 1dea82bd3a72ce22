// Package cli has the parts that all commands share: streams, global flags, configuration, exit codes and completion.
//
// It must not import host or host/session, because small programs use it too.
package cli

import (
	"bufio"
	"cmp"
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

// Factory holds the streams and global flags of a command, and creates its configuration and logger.
type Factory struct {
	In       io.Reader
	Out, Err io.Writer

	Version string // of the program
	Source  string // directory that it was built from; empty in a release

	ConfigFile, Workspace, LogLevel, LogFormat string

	Isolated bool // overrides isolation.enabled with true

	Project *config.Project // narrows the configuration; nil for none
}

// LoadConfig loads the configuration; --workspace replaces the workspace of agent.
func (f *Factory) LoadConfig(agent string) (*config.Config, error) {
	cfg, faults := config.LoadWithAllErrors(config.LoadOptions{File: f.ConfigFile, Workspace: f.Workspace, Agent: agent, Isolated: f.Isolated, Project: f.Project})
	switch len(faults) {
	case 0:
		return cfg, nil
	case 1:
		return nil, StartError(faults[0])
	}
	return nil, StartError(fmt.Errorf("%w\n  and %d more: `picoclaw config check` lists all", faults[0], len(faults)-1))
}

// ReloadConfig loads the configuration again for a process that loaded it from file. A missing file is an error,
// because the built-in defaults would apply. An empty file name means that there was no file.
func (f *Factory) ReloadConfig(file string) (*config.Config, error) {
	cfg, err := f.LoadConfig("")
	if err == nil && file != "" && cfg.FilePath() == "" {
		return nil, StartError(fmt.Errorf("the configuration file %s is missing; restore a copy", file))
	}
	return cfg, err
}

// HasExplicitConfigFile reports whether --config or PICOCLAW_CONFIG names the configuration file.
func (f *Factory) HasExplicitConfigFile() bool {
	return f.ConfigFile != "" || os.Getenv("PICOCLAW_CONFIG") != ""
}

// NewLogger returns a logger with the level and format of the flags, or else of the configuration. It writes to
// standard error, because standard output is for results.
func (f *Factory) NewLogger(cfg *config.Config) (hclog.Logger, error) {
	level, format := cmp.Or(f.LogLevel, cfg.Log().Level), cmp.Or(f.LogFormat, cfg.Log().Format)
	// Plugins log as the host does; they read the variable.
	if err := os.Setenv("PICOCLAW_LOG_LEVEL", level); err != nil {
		return nil, err
	}
	return logs.NewLogger(f.Err, hclog.LevelFromString(level), format), nil
}

// CheckLogFlags checks --log-level and --log-format.
func (f *Factory) CheckLogFlags() error {
	if f.LogLevel = strings.ToLower(f.LogLevel); f.LogLevel != "" && !slices.Contains(logLevels(), f.LogLevel) {
		return UsageErrorf("log level %q: want %s", f.LogLevel, strings.Join(logLevels(), ", "))
	}
	if f.LogFormat != "" && !slices.Contains(logFormats(), f.LogFormat) {
		return UsageErrorf("log format %q: want %s", f.LogFormat, strings.Join(logFormats(), " or "))
	}
	return nil
}

// logLevels returns the values of --log-level.
func logLevels() []string { return []string{"trace", "debug", "info", "warn", "error", "off"} }

// logFormats returns the values of --log-format.
func logFormats() []string { return []string{"text", "json"} }

// PrintJSON writes a value as one line of JSON to standard output.
func (f *Factory) PrintJSON(v any) error {
	e := json.NewEncoder(f.Out)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// UserName returns the name of the user who runs this process.
func UserName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "somebody"
}

// FindHome returns the path of the home, PICOCLAW_HOME.
func (f *Factory) FindHome() (string, error) {
	home, err := config.FindHome(os.Environ())
	if err == nil && home.Fallback {
		err = errors.New("there is no home; set PICOCLAW_HOME to a directory")
	}
	if err != nil {
		return "", StartError(err)
	}
	return home.Path, nil
}

// FindUsedHome is like FindHome, but a home that picoclaw has not used is an error.
func (f *Factory) FindUsedHome() (string, error) {
	home, err := f.FindHome()
	if err == nil && !config.IsUsedHome(home) {
		err = StartError(fmt.Errorf("%s is no home: it has no configuration, audit log or lock file; set PICOCLAW_HOME", home))
	}
	return home, err
}

// AskYesNo asks a yes-or-no question on standard error and reads the answer from standard input.
func (f *Factory) AskYesNo(question string) (bool, error) {
	fmt.Fprint(f.Err, question, " [y/N] ")
	answer, err := bufio.NewReader(f.In).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	if answer == "" {
		fmt.Fprintln(f.Err)
		return false, errors.New("no terminal to confirm; --yes writes without asking")
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}

// PrintTextOrJSON prints value as JSON, or else text, to standard output.
func (f *Factory) PrintTextOrJSON(output OutputFormat, value any, text string) error {
	if output == JSON {
		return f.PrintJSON(value)
	}
	_, err := fmt.Fprintln(f.Out, text)
	return err
}

// VersionText returns the version of the program, the plugin protocol, Go and the system.
func (f *Factory) VersionText() string {
	return fmt.Sprintf("%s (plugin protocol %d, %s %s/%s)", f.Version, pluginpb.ProtocolVersion, runtime.Version(),
		runtime.GOOS, runtime.GOARCH)
}
