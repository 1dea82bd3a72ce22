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
)

// tokenForm is what a token may be made of: nothing that a header could not carry.
var tokenForm = lazyregexp.New(`^[A-Za-z0-9._~+/=-]+$`)

// A token is long enough that nobody guesses it.
const minToken, maxToken = 16, 512

// KeepToken returns the token that is in a file, which is made, with a new token, if it is not there.
func KeepToken(path string) (string, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return ReadToken(path)
	}
	if err != nil {
		return "", fmt.Errorf("make a token: %w", err)
	}
	token := rand.Text() + rand.Text()
	_, err = io.WriteString(file, token+"\n")
	if err = errors.Join(err, file.Close()); err != nil {
		return "", fmt.Errorf("make a token: %w", errors.Join(err, os.Remove(path)))
	}
	return token, nil
}

// ReadToken reads the token in a file that nobody but its owner may read.
func ReadToken(path string) (string, error) {
	text, err := smallfile.ReadPrivate(path, 1<<10, "change the token if somebody may have read it")
	if err != nil {
		return "", fmt.Errorf("read the token: %s: %w", path, err)
	}
	token := strings.TrimSpace(string(text))
	if len(token) < minToken || len(token) > maxToken || !tokenForm().MatchString(token) {
		return "", fmt.Errorf("%s does not hold a token: want 16 to 512 letters, digits and -._~+/=; without the file a new one is made", path)
	}
	return token, nil
}

// tokenFile is where an agent's token is kept.
func tokenFile(home, agent string) string { return filepath.Join(home, "tokens", agent) }

// AgentToken returns an agent's token, which is made if there is none.
func AgentToken(home, agent string) (string, error) {
	file := tokenFile(home, agent)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", err
	}
	return KeepToken(file)
}
