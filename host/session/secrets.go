package session

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/egress"
	"github.com/picoclaw/picoclaw/host/login"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// secretTimeout limits a program that prints a secret. It may contact a service or ask a person.
const secretTimeout = time.Minute

// fetchGrantedSecrets fetches the values of those granted secrets that are configured.
func fetchGrantedSecrets(all map[string]config.Secret, granted []string) ([]egress.Secret, error) {
	var out []egress.Secret
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !slices.Contains(granted, name) && !slices.Contains(granted, pluginpb.AnySecret) {
			continue
		}
		s := all[name]
		value, err := readSecretSource(s)
		if err != nil {
			return nil, fmt.Errorf("secrets.%s.from: %w", name, err)
		}
		out = append(out, egress.Secret{
			Name: name, Placeholder: egress.NewPlaceholder(len(value)), Value: value, Hosts: s.Hosts, Header: s.As.Header,
			Template: s.As.Value,
		})
	}
	return out, nil
}

// fetchNetworkSecrets returns the secrets that a network's proxy inserts: the granted ones, and the login at the MCP
// server with this name, if any.
func (s *Session) fetchNetworkSecrets(granted []string, server string) ([]egress.Secret, error) {
	out, err := fetchGrantedSecrets(s.policy.Secrets(), granted)
	if err != nil || server == "" {
		return out, err
	}
	home := s.policy.HomePath()
	l, err := login.FindLogin(home, server)
	if err != nil || l == nil {
		return out, err
	}
	entry, isTLS, err := egress.FormatURLEntry(l.Server)
	if err != nil {
		return nil, fmt.Errorf("the login at the server %s: %w", server, err)
	}
	return append(out, egress.Secret{
		Name: "login at " + server, Hosts: []string{entry}, Header: "Authorization", Template: "Bearer {{secret}}", Plain: !isTLS,
		Fetch: func(ctx context.Context) (string, error) { return login.FetchAccessToken(ctx, home, server) },
	}), nil
}

// FetchSecret reads the value of an operator's secret from its source, a variable, a file or a program, for the host's
// own use. It never reaches agents or sandboxes.
func FetchSecret(cfg *config.Config, name string) (string, error) {
	s, ok := cfg.Secrets()[name]
	if !ok {
		return "", fmt.Errorf("there is no secret %s; configure its source in secrets.%s", name, name)
	}
	value, err := readSecretSource(s)
	if err != nil {
		return "", fmt.Errorf("secrets.%s.from: %w", name, err)
	}
	return value, nil
}

// minSecretLength is the minimum length of a secret. Shorter values could be guessed, and occur in unrelated text.
const minSecretLength = 8

func readSecretSource(s config.Secret) (string, error) {
	var data []byte
	var err error
	switch {
	case s.From.Env != "":
		value, ok := os.LookupEnv(s.From.Env)
		if !ok {
			return "", fmt.Errorf("the variable %s is not set; set it for picoclaw", s.From.Env)
		}
		data = []byte(value)
	case s.From.File != "":
		if data, err = os.ReadFile(s.From.File); err != nil {
			return "", err
		}
	default:
		ctx, cancel := context.WithTimeout(context.Background(), secretTimeout)
		defer cancel()
		cmd := exec.CommandContext(ctx, s.From.Command[0], s.From.Command[1:]...)
		cmd.Dir = "/"
		if data, err = cmd.Output(); err != nil {
			return "", fmt.Errorf("%s: %w", s.From.Command[0], err)
		}
	}
	data = bytes.TrimSpace(data)
	switch {
	case len(data) < minSecretLength:
		return "", fmt.Errorf("the value is %d bytes long; a secret has at least %d", len(data), minSecretLength)
	case bytes.ContainsAny(data, "\r\n\x00"):
		return "", fmt.Errorf("the value has several lines; a header has only one")
	}
	return string(data), nil
}
