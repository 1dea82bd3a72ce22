package mcp

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/internal/owner"
	"github.com/picoclaw/picoclaw/internal/smallfile"
)

// questionTimeout is the time for a user to answer a question.
const questionTimeout = 10 * time.Minute

// Sizes of the parts of a request state.
const (
	stateIDSize = 16
	stateSize   = stateIDSize + 8 + sha256.Size // id, time of expiry, hash of the question
)

// requestStateIssuer issues and redeems request states. Clients of stateless protocol versions repeat a call with its
// state to answer a question. A state is signed, expires, belongs to one call, and is good for one answer. In a home,
// the signing key and the used states are files, so this also holds after a restart.
type requestStateIssuer struct {
	home, dir string // "" keeps key and used states in memory
	key       []byte

	mu   sync.Mutex
	used map[string]time.Time // expiry by file name
}

// newMemoryRequestStates returns request states with a new key in memory. States are invalid after the process ends.
func newMemoryRequestStates() *requestStateIssuer {
	return &requestStateIssuer{key: []byte(rand.Text() + rand.Text()), used: map[string]time.Time{}}
}

// openRequestStateStore opens the request states of a home. It creates their directory and signing key if necessary.
func openRequestStateStore(home string) (*requestStateIssuer, error) {
	s := &requestStateIssuer{home: home, dir: filepath.Join(home, "mcp-states")}
	err := os.MkdirAll(s.dir, 0o700)
	if err == nil {
		err = owner.GiveToHomeOwner(home, s.dir)
	}
	if err == nil {
		s.key, err = readStateKey(s.dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = s.createSigningKey()
		if err == nil {
			s.key, err = readStateKey(s.dir)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("keep the states of MCP questions: %w", err)
	}
	return s, nil
}

// stateKeyName is the name of the file with the key that signs states.
const stateKeyName = "key"

func readStateKey(dir string) ([]byte, error) {
	path := filepath.Join(dir, stateKeyName)
	key, err := smallfile.Read(path, 1<<10)
	if err == nil && len(key) < sha256.Size {
		return nil, fmt.Errorf("%s is too short; remove it, and a new one is created", path)
	}
	return key, err
}

// createSigningKey creates the signing key, unless another process has created it meanwhile.
func (s *requestStateIssuer) createSigningKey() error {
	file, err := os.CreateTemp(s.dir, stateKeyName+".*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	_, err = file.WriteString(rand.Text() + rand.Text())
	if err = errors.Join(err, file.Sync(), file.Close(), owner.GiveToHomeOwner(s.home, file.Name())); err != nil {
		return err
	}
	if err := os.Link(file.Name(), filepath.Join(s.dir, stateKeyName)); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// callHash is a hash of the call that a state belongs to.
type callHash [sha256.Size]byte

// newCallHash returns the hash of a call's agent, token, tool and arguments.
func newCallHash(agent, token, tool string, arguments []byte) callHash {
	h := sha256.New()
	for _, part := range []string{agent, token, tool} {
		_, _ = h.Write(strconv.AppendQuote(nil, part)) // a hash takes every byte
	}
	_, _ = h.Write(arguments)
	return callHash(h.Sum(nil))
}

// issueState returns a new state with which a client can answer a question of a call, and the state's id.
func (s *requestStateIssuer) issueState(call callHash, question [sha256.Size]byte) (state, id string) {
	payload := make([]byte, stateIDSize, stateSize+sha256.Size)
	_, _ = rand.Read(payload) // never fails
	id = hex.EncodeToString(payload)
	payload = binary.BigEndian.AppendUint64(payload, uint64(time.Now().Add(questionTimeout).Unix()))
	payload = append(payload, question[:]...)
	return base64.RawURLEncoding.EncodeToString(append(payload, s.signPayload(payload, call)...)), id
}

// signPayload returns the signature of a state's payload for a call.
func (s *requestStateIssuer) signPayload(payload []byte, call callHash) []byte {
	h := hmac.New(sha256.New, s.key)
	_, _ = h.Write(payload) // a hash takes every byte
	_, _ = h.Write(call[:])
	return h.Sum(nil)
}

// Reasons for which a state is refused.
var (
	errStateInvalid = errors.New("requestState is invalid, or belongs to another call")
	errStateExpired = errors.New("requestState has expired")
	errStateUsed    = errors.New("requestState was used before")
)

// redeemState checks a state for a call and marks it as used. It returns the state's id and its question's hash.
func (s *requestStateIssuer) redeemState(state string, call callHash) (id string, question [sha256.Size]byte, err error) {
	data, err := base64.RawURLEncoding.Strict().DecodeString(state)
	if err != nil || len(data) != stateSize+sha256.Size || !hmac.Equal(s.signPayload(data[:stateSize], call), data[stateSize:]) {
		return "", question, errStateInvalid
	}
	id = hex.EncodeToString(data[:stateIDSize])
	expires := time.Unix(int64(binary.BigEndian.Uint64(data[stateIDSize:])), 0)
	if !time.Now().Before(expires) {
		return "", question, errStateExpired
	}
	if err := s.markStateUsed(id, expires); err != nil {
		return "", question, err
	}
	return id, [sha256.Size]byte(data[stateIDSize+8:]), nil
}

// markStateUsed records that a state is used, until it expires. A used state is an error.
func (s *requestStateIssuer) markStateUsed(id string, expires time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == "" {
		for other, end := range s.used {
			if time.Now().After(end) {
				delete(s.used, other)
			}
		}
		if _, used := s.used[id]; used {
			return errStateUsed
		}
		s.used[id] = expires
		return nil
	}
	s.removeExpiredStates()
	file, err := os.OpenFile(filepath.Join(s.dir, usedPrefix+strconv.FormatInt(expires.Unix(), 10)+"-"+id),
		os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return errStateUsed
	case err != nil:
		return fmt.Errorf("record the use of requestState: %w", err)
	}
	return errors.Join(file.Sync(), file.Close(), owner.GiveToHomeOwner(s.home, file.Name()))
}

// usedPrefix begins the name of a used state's file. The expiry time and the state's id follow.
const usedPrefix = "used-"

func (s *requestStateIssuer) removeExpiredStates() {
	files, _ := os.ReadDir(s.dir) // files that stay do no harm
	for _, file := range files {
		name, ok := strings.CutPrefix(file.Name(), usedPrefix)
		expires, _, _ := strings.Cut(name, "-")
		if end, err := strconv.ParseInt(expires, 10, 64); ok && err == nil && time.Now().Unix() > end {
			_ = os.Remove(filepath.Join(s.dir, file.Name()))
		}
	}
}
