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

// InstanceSpec determines a plugin instance: its program, identity and rights.
type InstanceSpec struct {
	// Manifest is the description that the plugin must give of itself.
	Manifest *pluginpb.Manifest
	// Binary is the program. Digest identifies the content of program and manifest.
	Binary string
	Digest string
	// Copy, if not nil, copies the plugin's files to a directory, and fails if one of them differs from the installed
	// file. The host runs Program, a path in the copy; if Program is empty, it runs Binary with the copy as working
	// directory.
	Copy    func(to string) error
	Program string
	// Policy holds policy, grants and settings, which are fixed for the life of the process.
	Policy *pluginpolicy.Policy
	// Profile configures the sandbox. Env is the whole environment of the process (NAME=value).
	Profile isolation.Profile
	Env     []string

	// MaxInstances limits the instances of one Owner; 0 means no limit. An instance shared by several owners counts
	// for the first one.
	Owner        string
	MaxInstances int

	identity sync.Once
	key      string
	rights   string // hash of the policy
	err      error
}

// Key returns equal keys for specs that may share an instance. A spec must not change after the first call.
func (s *InstanceSpec) Key() (string, error) {
	s.identity.Do(func() { s.key, s.err = s.computeKey() })
	return s.key, s.err
}

// computeKey hashes everything that determines the instance.
func (s *InstanceSpec) computeKey() (string, error) {
	configure, err := s.Policy.ToConfigureRequest()
	if err != nil {
		return "", fmt.Errorf("identify an instance of %s: %w", s.Manifest.ID, err)
	}
	rest, err := json.Marshal([]any{s.Manifest.ID, s.Manifest.Version, s.Binary, s.Digest, s.Profile, s.Env})
	if err != nil {
		return "", fmt.Errorf("identify an instance of %s: %w", s.Manifest.ID, err)
	}
	policyHash := sha256.Sum256(configure.GetPolicy())
	s.rights = hex.EncodeToString(policyHash[:8])
	h := sha256.New()
	h.Write(configure.GetPolicy())
	h.Write(rest)
	return hex.EncodeToString(h.Sum(nil)), nil
}
