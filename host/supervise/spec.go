package supervise

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
	"github.com/picoclaw/picoclaw/sdk/pluginpolicy"
)

// Spec is all that determines an instance: which program, what it must be, and what it may do.
type Spec struct {
	// Manifest is what the plugin must say of itself.
	Manifest *pluginpb.Manifest
	// Binary is the program; Digest identifies its contents and its manifest's.
	Binary string
	Digest string
	// Copy, if not nil, copies the plugin's files to another directory, and fails if any of them is not what was
	// installed. The copy is what runs: Program, a path below it; if that is empty, Binary runs in the copy's directory.
	Copy    func(to string) error
	Program string
	// Policy is the policy, grants and settings that the process is given for life.
	Policy *pluginpolicy.Policy
	// Profile is the sandbox, Env the whole environment (NAME=value) of the process.
	Profile isolation.Profile
	Env     []string

	// Owner is whose instances are counted, and Most how many there may be; 0 is no limit. What several owners share is
	// the owner's who has come first.
	Owner string
	Most  int

	identity sync.Once
	key      string
	rights   string // what the instance is given, by its hash
	err      error
}

// Key is the same for specs that may share an instance. A spec must not change after its first use.
func (s *Spec) Key() (string, error) {
	s.identity.Do(func() { s.key, s.err = s.identify() })
	return s.key, s.err
}

func (s *Spec) identify() (string, error) {
	configure, err := s.Policy.Request()
	if err != nil {
		return "", fmt.Errorf("identify an instance of %s: %w", s.Manifest.ID, err)
	}
	rest, err := json.Marshal([]any{s.Manifest.ID, s.Manifest.Version, s.Binary, s.Digest, s.Profile, s.Env})
	if err != nil {
		return "", fmt.Errorf("identify an instance of %s: %w", s.Manifest.ID, err)
	}
	given := sha256.Sum256(configure.GetPolicy())
	s.rights = hex.EncodeToString(given[:8])
	h := sha256.New()
	h.Write(configure.GetPolicy())
	h.Write(rest)
	return hex.EncodeToString(h.Sum(nil)), nil
}
