package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/logs"
	"github.com/picoclaw/picoclaw/host"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/session"
)

// app is what all verbs share: the streams and the global flags.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer

	version string // of the program
	source  string // directory that it was built from; empty in a release

	configFile, workspace, logLevel, logFormat string
}

// closeTimeout is how long plugins may take to finish when the program ends.
const closeTimeout = 5 * time.Second

// open opens the host for an agent's calls, which has the tools of plugins alone.
func (a *app) open(agent string) (*host.Assembly, error) {
	cfg, err := a.config(agent)
	if err != nil {
		return nil, err
	}
	return a.assemble(cfg, host.Options{NoBuiltIns: true})
}

// assemble opens a host with a configuration. An error in the configuration or the installation is reported here.
func (a *app) assemble(cfg *config.Config, o host.Options) (*host.Assembly, error) {
	logger, err := a.logger(cfg)
	if err != nil {
		return nil, err
	}
	attack, err := selfTest()
	if err != nil {
		return nil, cantStart(err)
	}
	o.Config, o.Logger, o.SelfTest, o.Version = cfg, logger, attack, a.version
	o.Token = func(agent string) (string, error) { return agentToken(cfg.Home().Path, agent) }
	all, err := host.Open(o)
	if err != nil {
		return nil, cantStart(err)
	}
	return all, nil
}

// config loads the configuration, with the workspace that a flag names for an agent.
func (a *app) config(agent string) (*config.Config, error) {
	cfg, faults := config.Check(config.Options{File: a.configFile, Workspace: a.workspace, Agent: agent})
	switch len(faults) {
	case 0:
		return cfg, nil
	case 1:
		return nil, cantStart(faults[0])
	}
	return nil, cantStart(fmt.Errorf("%w\n  and %d more: `picoclaw config check` says all", faults[0], len(faults)-1))
}

// namesConfig reports whether the configuration's file is one that a flag or a variable names.
func (a *app) namesConfig() bool { return a.configFile != "" || os.Getenv("PICOCLAW_CONFIG") != "" }

// opener opens a session: (*session.Host).Session for calls, (*session.Host).Preview for decisions alone.
type opener func(h *session.Host, agent string, origin session.Origin) (*session.Session, error)

// session opens the host and a session for an agent. Call done at the end.
func (a *app) session(agent string, origin session.Origin) (s *session.Session, h *host.Assembly, done func(), err error) {
	return a.sessionBy((*session.Host).Session, agent, origin)
}

func (a *app) sessionBy(open opener, agent string, origin session.Origin) (s *session.Session, h *host.Assembly, done func(),
	err error) {
	h, err = a.open(agent)
	if err != nil {
		return nil, nil, nil, err
	}
	s, err = open(h.Host, agent, origin)
	if err != nil {
		return nil, nil, nil, cantStart(err)
	}
	return s, h, func() { a.close(h) }, nil
}

// close closes a host. Failures are reported and change nothing.
func (a *app) close(h interface{ Close(context.Context) error }) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := h.Close(ctx); err != nil {
		fmt.Fprintln(a.stderr, "picoclaw: stopping:", err)
	}
}

// logger makes the logger that the flags, or else the configuration, ask for. It writes to standard error: standard
// output is for results only.
func (a *app) logger(cfg *config.Config) (hclog.Logger, error) {
	level, format := a.logLevel, a.logFormat
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
	return logs.New(a.stderr, hclog.LevelFromString(level), format), nil
}

// checkLogging checks the flags about logs.
func (a *app) checkLogging() error {
	if a.logLevel = strings.ToLower(a.logLevel); a.logLevel != "" && !slices.Contains(logLevels, a.logLevel) {
		return usage("log level %q: want %s", a.logLevel, strings.Join(logLevels, ", "))
	}
	if a.logFormat != "" && !slices.Contains(logFormats, a.logFormat) {
		return usage("log format %q: want %s", a.logFormat, strings.Join(logFormats, " or "))
	}
	return nil
}

var (
	logLevels  = []string{"trace", "debug", "info", "warn", "error", "off"}
	logFormats = []string{"text", "json"}
)

// printJSON writes a value as one line.
func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.stdout)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
