package hosts

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
	"github.com/picoclaw/picoclaw/internal/smallfile"
	"github.com/picoclaw/picoclaw/internal/statefiles"
)

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
