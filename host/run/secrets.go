package run

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/smallfile"
)

// presetAPIKeys returns the person's API keys for a preset, from the secrets in the configuration or from environment
// variables. Each key has a constant placeholder, since programs remember which keys the person approved.
func presetAPIKeys(s *session.Session, p *ProgramPreset, home string) ([]session.ProgramRunSecret, error) {
	var names []string
	for _, variable := range p.Secrets {
		names = append(names, variable.Name)
	}
	found, err := s.FetchRunSecrets(names)
	if err != nil {
		return nil, err
	}
	for _, variable := range p.Secrets {
		value := os.Getenv(variable.Name)
		if value == "" || slices.ContainsFunc(found, func(one session.ProgramRunSecret) bool { return one.Name == variable.Name }) {
			continue
		}
		secret := session.ProgramRunSecret{Name: variable.Name, Value: value}
		secret.Hosts, secret.As.Header, secret.As.Value = variable.Hosts, variable.Header, variable.Value
		found = append(found, secret)
	}
	if len(found) == 0 {
		return nil, nil
	}
	key, err := loadOrCreatePlaceholderKey(home)
	if err != nil {
		return nil, err
	}
	for i := range found {
		at := slices.IndexFunc(p.Secrets, func(v APIKeyVariable) bool { return v.Name == found[i].Name })
		found[i].Placeholder = secretPlaceholder(key, found[i].Name, p.Secrets[at].Prefix, len(found[i].Value))
	}
	return found, nil
}

// minPlaceholder is the minimum length of placeholders, which makes accidental matches impossible.
const minPlaceholder = 40

// secretPlaceholder returns the placeholder of a secret: the vendor's prefix, and a text derived from key and name.
func secretPlaceholder(key []byte, name, prefix string, length int) string {
	mac := hmac.New(sha256.New, key)
	text := strings.Builder{}
	text.WriteString(prefix)
	for n := byte(0); text.Len() < max(length, minPlaceholder); n++ {
		mac.Write([]byte(name))
		mac.Write([]byte{n})
		text.WriteString(strings.NewReplacer("-", "a", "_", "b").Replace(base64.RawURLEncoding.EncodeToString(mac.Sum(nil))))
	}
	return text.String()[:max(length, minPlaceholder)]
}

// loadOrCreatePlaceholderKey returns the key from which placeholders are derived. The first call creates it.
func loadOrCreatePlaceholderKey(home string) ([]byte, error) {
	path := filepath.Join(runsDir(home), "placeholder.key")
	key, err := smallfile.Read(path, 1<<10)
	if errors.Is(err, fs.ErrNotExist) {
		err = os.WriteFile(path, []byte(rand.Text()+rand.Text()), 0o600)
		if err == nil {
			key, err = smallfile.Read(path, 1<<10)
		}
	}
	if err == nil && len(key) == 0 {
		err = fmt.Errorf("%s is empty; delete it", path)
	}
	return key, err
}
