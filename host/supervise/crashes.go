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
	"sync"
	"time"
)

// A plugin with maxCrashes crashes within crashWindow is not started again until the user resets it.
const (
	maxCrashes  = 3
	crashWindow = 5 * time.Minute
)

// firstDelay is the delay of the start after the second crash. It doubles with each further crash.
const firstDelay = 500 * time.Millisecond

// crashStore stores crashes in one file per plugin, so that later hosts know of them.
type crashStore struct {
	dir string
	now func() time.Time

	mu sync.Mutex
}

// DisabledError reports a plugin that has crashed too often.
type DisabledError struct {
	Plugin    string
	LastCrash string // what its last crash was
}

// Error names the plugin and its last crash.
func (e *DisabledError) Error() string {
	return fmt.Sprintf("plugin %s crashed %d times within %s and is not started again; its last crash: %s",
		e.Plugin, maxCrashes, crashWindow, e.LastCrash)
}

// crashRecord is the content of a plugin's file.
type crashRecord struct {
	Digest string `json:"digest"` // digest of the plugin that crashed

	// ByRights maps an instance's rights to its crashes: an agent that makes a plugin crash loses it only for itself
	// and for those that share its instance.
	ByRights map[string]crashSeries `json:"by"`
}

// crashSeries holds the crashes of instances with equal rights.
type crashSeries struct {
	Times []time.Time `json:"times"`
	Last  string      `json:"last"`
}

// recordPath returns the path of a plugin's file.
func (c *crashStore) recordPath(plugin string) string { return filepath.Join(c.dir, plugin+".json") }

// readRecord reads a plugin's file; an unreadable file counts as no crashes.
func (c *crashStore) readRecord(plugin string) crashRecord {
	var n crashRecord
	data, err := os.ReadFile(c.recordPath(plugin))
	if err == nil && json.Unmarshal(data, &n) != nil {
		n = crashRecord{} // an incomplete file must not prevent a start
	}
	return n
}

// readCurrent reads the crashes of a plugin with a digest; crashes of other versions do not count.
func (c *crashStore) readCurrent(plugin, digest string) crashRecord {
	if n := c.readRecord(plugin); n.Digest == digest && n.ByRights != nil {
		return n
	}
	return crashRecord{Digest: digest, ByRights: make(map[string]crashSeries)}
}

// addCrash stores a crash.
func (c *crashStore) addCrash(plugin, digest, rights, cause string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.readCurrent(plugin, digest)
	now := c.now()
	expired := func(t time.Time) bool { return now.Sub(t) > crashWindow }
	maps.DeleteFunc(n.ByRights, func(_ string, s crashSeries) bool {
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
	return os.WriteFile(c.recordPath(plugin), data, 0o600)
}

// exceedsLimit reports whether too many crashes happened within the window, at any time.
func (s crashSeries) exceedsLimit() bool {
	for i := range s.Times {
		if j := i + maxCrashes - 1; j < len(s.Times) && s.Times[j].Sub(s.Times[i]) <= crashWindow {
			return true
		}
	}
	return false
}

// startDelay returns the delay of a plugin's next start: none after the first crash, then longer each time. The error
// says that the plugin has crashed too often.
func (c *crashStore) startDelay(plugin, digest, rights string) (time.Duration, error) {
	if c.dir == "" {
		return 0, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	series := c.readCurrent(plugin, digest).ByRights[rights]
	if series.exceedsLimit() {
		return 0, &DisabledError{plugin, series.Last}
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
	err := os.Remove((&crashStore{dir: crashDir}).recordPath(plugin))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// CountCrashes returns how often a plugin has crashed lately, and whether it is disabled for at least one agent.
func CountCrashes(crashDir, plugin string) (times int, disabled bool) {
	for _, series := range (&crashStore{dir: crashDir}).readRecord(plugin).ByRights {
		for _, t := range series.Times {
			if time.Since(t) <= crashWindow {
				times++
			}
		}
		disabled = disabled || series.exceedsLimit()
	}
	return times, disabled
}
