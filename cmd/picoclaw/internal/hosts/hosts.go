// Package hosts opens hosts and sessions for commands, and reads their tokens.
//
// It must not know which command uses them.
package hosts

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/host"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/lazyregexp"
	"github.com/picoclaw/picoclaw/internal/smallfile"
	"github.com/picoclaw/picoclaw/internal/statefiles"
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

// tokenPattern matches tokens: characters that an HTTP header can carry.
var tokenPattern = lazyregexp.New(`^[A-Za-z0-9._~+/=-]+$`)

// truncatedToken matches the beginning of a token created by picoclaw. A complete token file ends with a line feed.
var truncatedToken = lazyregexp.New(`^[A-Z2-7]{1,51}$`)

const tokenRemedy = "restore a copy, or write a new one, such as the output of `openssl rand -hex 32`"

// minToken and maxToken bound the length of a token. The minimum prevents guessing.
const minToken, maxToken = 16, 512

// ReadOrCreateToken returns the token in a file of a home. It creates the token if the home never had one.
func ReadOrCreateToken(home, name string) (string, error) {
	path := filepath.Join(home, name)
	if err := statefiles.CheckNotMissing(home, path); err != nil {
		return "", fmt.Errorf("read the token: %w", err)
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if err := createTokenFile(path); err != nil {
			return "", fmt.Errorf("create a token: %w", err)
		}
	}
	token, err := ReadToken(path)
	if err == nil {
		err = statefiles.AddToList(home, path)
	}
	return token, err
}

// createTokenFile writes a new token to a file, unless the file exists.
func createTokenFile(path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = io.WriteString(file, rand.Text()+rand.Text()+"\n")
	if err = errors.Join(err, file.Close()); err != nil {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// ReadToken reads the token in a file. A file that other users can read is an error.
func ReadToken(path string) (string, error) {
	text, err := smallfile.ReadPrivate(path, 1<<10, "replace the token if another user may have read it")
	if err != nil {
		return "", fmt.Errorf("read the token: %s: %w", path, err)
	}
	token := strings.TrimSpace(string(text))
	if len(token) < minToken || len(token) > maxToken || !tokenPattern().MatchString(token) {
		return "", fmt.Errorf("%s does not hold a token: want 16 to 512 letters, digits and -._~+/=; %s", path, tokenRemedy)
	}
	if len(token) == len(text) && truncatedToken().MatchString(token) {
		return "", fmt.Errorf("the token in %s is truncated; %s", path, tokenRemedy)
	}
	return token, nil
}

// ReadOrCreateAgentToken returns an agent's token, and creates it if the agent never had one.
func ReadOrCreateAgentToken(home, agent string) (string, error) {
	file := filepath.Join(home, "tokens", agent)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", err
	}
	return ReadOrCreateToken(home, filepath.Join("tokens", agent))
}
