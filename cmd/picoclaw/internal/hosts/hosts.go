// Package hosts opens hosts and sessions for commands, and reads their tokens.
//
// It must not know which command uses them.
package hosts

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/host"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/session"
)

// CloseTimeout limits the time that plugins may take to exit when the host closes.
const CloseTimeout = 5 * time.Second

// OpenHost opens a host without built-in tools, with the configuration for an agent.
func OpenHost(f *cli.Factory, agent string) (*host.Runtime, error) {
	cfg, err := f.LoadConfig(agent)
	if err != nil {
		return nil, err
	}
	return OpenHostWithOptions(f, cfg, host.Options{NoBuiltIns: true})
}

// OpenHostWithOptions opens a host with a configuration and options. Its errors have exit code 3.
func OpenHostWithOptions(f *cli.Factory, cfg *config.Config, o host.Options) (*host.Runtime, error) {
	logger, err := f.NewLogger(cfg)
	if err != nil {
		return nil, err
	}
	attack, err := SelfTestCommand()
	if err != nil {
		return nil, cli.StartError(err)
	}
	o.Config, o.Logger, o.SelfTest, o.Version = cfg, logger, attack, f.Version
	o.Token = func(agent string) (string, error) { return ReadOrCreateAgentToken(cfg.Home().Path, agent) }
	all, err := host.OpenRuntime(o)
	return all, cli.StartError(err)
}

// SessionOpener opens a session: (*session.Host).OpenSession for calls, (*session.Host).OpenPreview for decisions only.
type SessionOpener func(h *session.Host, agent string, origin session.Origin) (*session.Session, error)

// OpenSession opens a host and a session for calls of an agent. done closes the host.
func OpenSession(f *cli.Factory, agent string, origin session.Origin) (s *session.Session, h *host.Runtime,
	done func(), err error) {
	return OpenSessionWith(f, (*session.Host).OpenSession, agent, origin)
}

// OpenSessionWith is like OpenSession, but opens the session with open.
func OpenSessionWith(f *cli.Factory, open SessionOpener, agent string, origin session.Origin) (s *session.Session,
	h *host.Runtime, done func(), err error) {
	h, err = OpenHost(f, agent)
	if err != nil {
		return nil, nil, nil, err
	}
	s, err = open(h.Host, agent, origin)
	if err != nil {
		return nil, nil, nil, cli.StartError(err)
	}
	return s, h, func() { CloseHost(f, h) }, nil
}

// CloseHost closes a host within CloseTimeout and prints an error.
func CloseHost(f *cli.Factory, h interface{ Close(context.Context) error }) {
	ctx, cancel := context.WithTimeout(context.Background(), CloseTimeout)
	defer cancel()
	if err := h.Close(ctx); err != nil {
		fmt.Fprintln(f.Err, "picoclaw: stopping:", err)
	}
}

// SelfTestName is the name of the hidden command that attacks its own sandbox.
const SelfTestName = "selftest"

// SelfTestCommand returns the command line that runs [SelfTestName] with this binary.
func SelfTestCommand() ([]string, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find picoclaw's own binary: %w", err)
	}
	return []string{exe, SelfTestName}, nil
}
