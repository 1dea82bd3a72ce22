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

// CloseTimeout is how long plugins may take to finish when the program ends.
const CloseTimeout = 5 * time.Second

// Open opens the host for an agent's calls, which has the tools of plugins alone.
func Open(f *cli.Factory, agent string) (*host.Assembly, error) {
	cfg, err := f.Config(agent)
	if err != nil {
		return nil, err
	}
	return Assemble(f, cfg, host.Options{NoBuiltIns: true})
}

// Assemble opens a host with a configuration. An error in the configuration or the installation is reported here.
func Assemble(f *cli.Factory, cfg *config.Config, o host.Options) (*host.Assembly, error) {
	logger, err := f.NewLogger(cfg)
	if err != nil {
		return nil, err
	}
	attack, err := SelfTestCommand()
	if err != nil {
		return nil, cli.StartError(err)
	}
	o.Config, o.Logger, o.SelfTest, o.Version = cfg, logger, attack, f.Version
	o.Token = func(agent string) (string, error) { return AgentToken(cfg.Home().Path, agent) }
	all, err := host.OpenAssembly(o)
	if err != nil {
		return nil, cli.StartError(err)
	}
	return all, nil
}

// Opener opens a session: (*session.Host).Session for calls, (*session.Host).Preview for decisions alone.
type Opener func(h *session.Host, agent string, origin session.Origin) (*session.Session, error)

// OpenSession opens the host and a session for an agent. Call done at the end.
func OpenSession(f *cli.Factory, agent string, origin session.Origin) (s *session.Session, h *host.Assembly,
	done func(), err error) {
	return OpenSessionBy(f, (*session.Host).OpenSession, agent, origin)
}

func OpenSessionBy(f *cli.Factory, open Opener, agent string, origin session.Origin) (s *session.Session,
	h *host.Assembly, done func(), err error) {
	h, err = Open(f, agent)
	if err != nil {
		return nil, nil, nil, err
	}
	s, err = open(h.Host, agent, origin)
	if err != nil {
		return nil, nil, nil, cli.StartError(err)
	}
	return s, h, func() { Close(f, h) }, nil
}

// Close closes a host. Failures are reported and change nothing.
func Close(f *cli.Factory, h interface{ Close(context.Context) error }) {
	ctx, cancel := context.WithTimeout(context.Background(), CloseTimeout)
	defer cancel()
	if err := h.Close(ctx); err != nil {
		fmt.Fprintln(f.Err, "picoclaw: stopping:", err)
	}
}

// SelfTest is the name of the command with which this program, started in a sandbox, attacks it.
const SelfTest = "selftest"

// SelfTestCommand returns this program with the command [SelfTest].
func SelfTestCommand() ([]string, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find picoclaw's own binary: %w", err)
	}
	return []string{exe, SelfTest}, nil
}
