package supervise

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/picoclaw/picoclaw/internal/smallfile"
)

// A plugin with maxCrashes crashes within crashWindow is not started until the user resets it.
const (
	maxCrashes  = 3
	crashWindow = 5 * time.Minute
)

// firstDelay is the delay of the start after the second crash. It doubles with each further crash.
const firstDelay = 500 * time.Millisecond

// crashStore stores crashes in one file per plugin, so that they count for later hosts too.
type crashStore struct {
	dir string
	now func() time.Time

	mu sync.Mutex
}

// CrashLimitError reports that a plugin is not started because it has crashed too often.
type CrashLimitError struct {
	Plugin    string
	LastCrash string // what its last crash was
}

func (e *CrashLimitError) Error() string {
	return fmt.Sprintf("plugin %s crashed %d times within %s and is not started again; its last crash: %s",
		e.Plugin, maxCrashes, crashWindow, e.LastCrash)
}

// crashRecord is the content of one crash file.
type crashRecord struct {
	Digest string `json:"digest"` // digest of the plugin that crashed

	// ByRights maps an instance's rights to its crashes: an agent that makes a plugin crash loses it only for itself
	// and for those that share its instance.
	ByRights map[string]crashHistory `json:"by"`
}

// crashHistory holds the crashes of instances with equal rights.
type crashHistory struct {
	Times []time.Time `json:"times"`
	Last  string      `json:"last"`
}

// crashFilePath returns the path of the file with a plugin's crashes.
func (c *crashStore) crashFilePath(plugin string) string { return filepath.Join(c.dir, plugin+".json") }

// readCrashRecord reads the file with a plugin's crashes. An unreadable file counts as no crashes.
func (c *crashStore) readCrashRecord(plugin string) crashRecord {
	var n crashRecord
	data, err := smallfile.Read(c.crashFilePath(plugin), 1<<20)
	if err == nil && json.Unmarshal(data, &n) != nil {
		n = crashRecord{} // an incomplete file must not prevent a start
	}
	return n
}

// readCurrentCrashes reads the crashes of the plugin version with a digest. Crashes of other versions do not count.
func (c *crashStore) readCurrentCrashes(plugin, digest string) crashRecord {
	if n := c.readCrashRecord(plugin); n.Digest == digest && n.ByRights != nil {
		return n
	}
	return crashRecord{Digest: digest, ByRights: make(map[string]crashHistory)}
}

// addCrash stores a crash of an instance with the given rights.
func (c *crashStore) addCrash(plugin, digest, rights, cause string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.readCurrentCrashes(plugin, digest)
	now := c.now()
	expired := func(t time.Time) bool { return now.Sub(t) > crashWindow }
	maps.DeleteFunc(n.ByRights, func(_ string, s crashHistory) bool {
		return !s.exceedsLimit() && !slices.ContainsFunc(s.Times, func(t time.Time) bool { return !expired(t) })
	})
	s := n.ByRights[rights]
	if !s.exceedsLimit() {
		s.Times = slices.DeleteFunc(s.Times, expired)
	}
	s.Times, s.Last = append(s.Times, now), cause
	n.ByRights[rights] = s
	data, err := json.Marshal(n)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(c.crashFilePath(plugin), data, 0o600)
}

// exceedsLimit reports whether maxCrashes crashes ever happened within one crashWindow.
func (s crashHistory) exceedsLimit() bool {
	for i := range s.Times {
		if j := i + maxCrashes - 1; j < len(s.Times) && s.Times[j].Sub(s.Times[i]) <= crashWindow {
			return true
		}
	}
	return false
}

// startDelay returns how long to wait before a plugin's next start: nothing after the first crash, then longer each
// time. It returns a *CrashLimitError if the plugin has crashed too often.
func (c *crashStore) startDelay(plugin, digest, rights string) (time.Duration, error) {
	if c.dir == "" {
		return 0, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	series := c.readCurrentCrashes(plugin, digest).ByRights[rights]
	if series.exceedsLimit() {
		return 0, &CrashLimitError{plugin, series.Last}
	}
	now := c.now()
	recent := 0
	var last time.Time
	for _, t := range series.Times {
		if now.Sub(t) <= crashWindow {
			recent++
			last = t
		}
	}
	if recent < 2 {
		return 0, nil
	}
	wait := firstDelay << (recent - 2)
	wait += rand.N(wait / 2) // so that several plugins do not start at once
	return max(0, wait-now.Sub(last)), nil
}

// ResetCrashes deletes a plugin's stored crashes. It reports whether there were any.
func ResetCrashes(crashDir, plugin string) (bool, error) {
	err := os.Remove((&crashStore{dir: crashDir}).crashFilePath(plugin))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// ReadCrashStatus returns how often a plugin has crashed lately, and whether it is disabled for at least one agent.
func ReadCrashStatus(crashDir, plugin string) (times int, disabled bool) {
	for _, series := range (&crashStore{dir: crashDir}).readCrashRecord(plugin).ByRights {
		for _, t := range series.Times {
			if time.Since(t) <= crashWindow {
				times++
			}
		}
		disabled = disabled || series.exceedsLimit()
	}
	return times, disabled
}

// CrashError reports that a plugin ended during a call. The host does not repeat the call because it may be complete.
type CrashError struct {
	Plugin       string
	Exit         string // as "exit status 2" or "signal: killed"
	Stderr       string // end of standard error
	LimitReached bool   // the plugin will not be started again
}

// Error describes the crash and includes the end of standard error.
func (e *CrashError) Error() string {
	text := fmt.Sprintf("plugin %s ended during the call (%s); the outcome is unknown", e.Plugin, e.Exit)
	if e.Stderr != "" {
		text += "\nthe end of its standard error:\n  " + indentContinuationLines(e.Stderr)
	}
	return text
}

// startError reports that a plugin did not become ready for calls.
type startError struct {
	plugin         string
	processStarted bool // its process was there
	err            error
}

func (e *startError) Error() string { return fmt.Sprintf("start plugin %s: %v", e.plugin, e.err) }

func (e *startError) Unwrap() error { return e.err }

// simplifyGRPCError replaces a gRPC error by one in plain words for users.
func simplifyGRPCError(err error) error {
	s, ok := status.FromError(err)
	if !ok {
		return err
	}
	switch s.Code() {
	case codes.ResourceExhausted:
		return fmt.Errorf("the message is too large: %s", s.Message())
	case codes.Unimplemented:
		return errors.New("it does not support this part of picoclaw's protocol")
	}
	return errors.New(indentContinuationLines(s.Message()))
}

// indentContinuationLines indents all lines but the first, so that none looks like a message of the host.
func indentContinuationLines(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") }

// InstanceLimitError reports a call that needed another instance while the owner's maximum of instances was in use.
type InstanceLimitError struct {
	Owner        string
	MaxInstances int
	Cause        error // reason to stop waiting
}

func (e *InstanceLimitError) Error() string {
	return fmt.Sprintf("all %d plugin processes of %s are in use: %v", e.MaxInstances, e.Owner, e.Cause)
}

func (e *InstanceLimitError) Unwrap() error { return e.Cause }
