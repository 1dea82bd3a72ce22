package host

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/policy"
	"github.com/picoclaw/picoclaw/internal/atomicfile"
	"github.com/picoclaw/picoclaw/internal/owner"
	"github.com/picoclaw/picoclaw/internal/smallfile"
)

// ClientToken describes a restricted token of an agent for MCP clients. <home>/tokens/ID.json contains it.
type ClientToken struct {
	ID      string             `json:"id"`
	Agent   string             `json:"agent"`
	Within  policy.Restriction `json:"within,omitzero"`
	Created time.Time          `json:"created"`
	Expires time.Time          `json:"expires,omitzero"`
	Hash    string             `json:"sha256,omitempty"` // of the token, which begins with the id
}

func clientTokenPath(home, id string) string { return filepath.Join(home, "tokens", id+".json") }

func hashClientToken(token string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(token))) }

// CreateClientToken returns a new token as described, whose ID, Created and Hash it sets, and keeps the description.
func CreateClientToken(home string, t ClientToken) (token string, err error) {
	t.ID, t.Created = strings.ToLower(rand.Text()[:12]), time.Now().UTC().Truncate(time.Second)
	token = t.ID + "." + rand.Text()
	t.Hash = hashClientToken(token)
	text, err := json.MarshalIndent(t, "", "  ")
	path := clientTokenPath(home, t.ID)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = atomicfile.WriteFile(path, append(text, '\n'), 0o600)
	}
	return token, errors.Join(err, owner.GiveToHomeOwner(home, filepath.Dir(path)), owner.GiveToHomeOwner(home, path))
}

// ListClientTokens returns the descriptions of a home's restricted tokens, without hashes.
func ListClientTokens(home string) (all []ClientToken, err error) {
	all = []ClientToken{}
	files, err := os.ReadDir(filepath.Join(home, "tokens"))
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	for _, file := range files {
		id, restricted := strings.CutSuffix(file.Name(), ".json")
		if !restricted {
			continue
		}
		t, readErr := readClientToken(home, id)
		if err = errors.Join(err, readErr); readErr == nil {
			t.Hash = ""
			all = append(all, t)
		}
	}
	return all, err
}

// RevokeClientToken revokes the restricted token with an id. A running gateway ends its sessions.
func RevokeClientToken(home, id string) error {
	err := fs.ErrNotExist
	if config.IsValidID(id) {
		err = os.Remove(clientTokenPath(home, id))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no token %q; `picoclaw gateway token list` lists them", id)
	}
	return err
}

func readClientToken(home, id string) (t ClientToken, err error) {
	path := clientTokenPath(home, id)
	text, err := smallfile.ReadPrivate(path, 64<<10, "revoke the token")
	if err == nil {
		err = json.Unmarshal(text, &t)
	}
	if err == nil && t.ID != id {
		err = errors.New("the id differs from the file's name")
	}
	if err != nil {
		return t, fmt.Errorf("read the token in %s: %w; `picoclaw gateway token revoke %s` removes it", path, err, id)
	}
	return t, nil
}

// HasExpired reports whether the token has expired.
func (t *ClientToken) HasExpired() bool { return !t.Expires.IsZero() && !time.Now().Before(t.Expires) }

// findClientToken returns the description of a valid restricted token of an agent; nil for another token.
func findClientToken(home, agent, token string) *ClientToken {
	id, _, _ := strings.Cut(token, ".")
	if !config.IsValidID(id) || id == token {
		return nil
	}
	t, err := readClientToken(home, id)
	if err != nil || t.Agent != agent || t.HasExpired() || subtle.ConstantTimeCompare([]byte(hashClientToken(token)), []byte(t.Hash)) != 1 {
		return nil
	}
	return &t
}
