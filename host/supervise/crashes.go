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

// A plugin that crashes this often within this time is not started any more until somebody has looked at it.
const (
	maxCrashes  = 3
	crashWindow = 5 * time.Minute
)

// firstDelay is how long the start after the second crash waits, and what is doubled for each further one.
const firstDelay = 500 * time.Millisecond

// crashes notes crashes in files, one for each plugin, since the next host must know of them as well.
type crashes struct {
	dir string
	now func() time.Time

	mu sync.Mutex
}

// Failed is the error for a plugin that has crashed too often.
type Failed struct {
	Plugin string
	Last   string // what its last crash was
}

func (e *Failed) Error() string {
	return fmt.Sprintf("plugin %s has crashed %d times within %s and is not started any more; its last crash: %s",
		e.Plugin, maxCrashes, crashWindow, e.Last)
}

// noted is the contents of a file.
type noted struct {
	Digest string `json:"digest"` // of the plugin that crashed: another one has a record of its own

	// By has what crashed by the instances' rights: an agent that makes a plugin crash loses it for itself and for those
	// that share its instance, and for nobody else.
	By map[string]series `json:"by"`
}

// series are the crashes of instances with the same rights.
type series struct {
	Times []time.Time `json:"times"`
	Last  string      `json:"last"`
}

func (c *crashes) file(plugin string) string { return filepath.Join(c.dir, plugin+".json") }

func (c *crashes) read(plugin string) noted {
	var n noted
	data, err := os.ReadFile(c.file(plugin))
	if err == nil && json.Unmarshal(data, &n) != nil {
		n = noted{} // a torn note is no reason not to start anything
	}
	return n
}

// readOf is read for a plugin as it is now: the crashes of what was there before do not count.
func (c *crashes) readOf(plugin, digest string) noted {
	if n := c.read(plugin); n.Digest == digest && n.By != nil {
		return n
	}
	return noted{Digest: digest, By: make(map[string]series)}
}

// note notes a crash.
func (c *crashes) note(plugin, digest, rights, how string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.readOf(plugin, digest)
	now := c.now()
	old := func(t time.Time) bool { return now.Sub(t) > crashWindow }
	maps.DeleteFunc(n.By, func(_ string, s series) bool {
		return !s.failed() && !slices.ContainsFunc(s.Times, func(t time.Time) bool { return !old(t) })
	})
	s := n.By[rights]
	if !s.failed() {
		s.Times = slices.DeleteFunc(s.Times, old)
	}
	s.Times, s.Last = append(s.Times, now), how
	n.By[rights] = s
	data, err := json.Marshal(n)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(c.file(plugin), data, 0o600)
}

// failed reports whether there were too many crashes within the window. It stays so, whatever time passes.
func (s series) failed() bool {
	for i := range s.Times {
		if j := i + maxCrashes - 1; j < len(s.Times) && s.Times[j].Sub(s.Times[i]) <= crashWindow {
			return true
		}
	}
	return false
}

// delay says how long the next start of a plugin has to wait: not at all after its first crash, then longer each time.
func (c *crashes) delay(plugin, digest, rights string) (time.Duration, error) {
	if c.dir == "" {
		return 0, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	crashed := c.readOf(plugin, digest).By[rights]
	if crashed.failed() {
		return 0, &Failed{plugin, crashed.Last}
	}
	now := c.now()
	recent := 0
	var last time.Time
	for _, t := range crashed.Times {
		if now.Sub(t) <= crashWindow {
			recent++
			last = t
		}
	}
	if recent < 2 {
		return 0, nil
	}
	wait := firstDelay << (recent - 2)
	wait += rand.N(wait / 2) // so that several do not start at the same moment
	return max(0, wait-now.Sub(last)), nil
}

// Reset forgets the crashes of a plugin that are noted in a directory. It reports whether there were any.
func Reset(crashDir, plugin string) (bool, error) {
	err := os.Remove((&crashes{dir: crashDir}).file(plugin))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Crashed returns how often a plugin has crashed lately, and whether it is not started any more for that, for one agent
// at least.
func Crashed(crashDir, plugin string) (times int, failed bool) {
	for _, crashed := range (&crashes{dir: crashDir}).read(plugin).By {
		for _, t := range crashed.Times {
			if time.Since(t) <= crashWindow {
				times++
			}
		}
		failed = failed || crashed.failed()
	}
	return times, failed
}
