//go:build linux

package supervise

import (
	"errors"
	"testing"
	"time"
)

// A plugin that crashes is started again at once, then after a while, and then not any more, until somebody says so;
// one that crashes now and then goes on.
func TestCrashesAreCounted(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	dir := t.TempDir()
	c := &crashStore{dir: dir, now: func() time.Time { return now }}
	crash := func() {
		t.Helper()
		if err := c.addCrash("p", "1", "a", "exit status 2"); err != nil {
			t.Fatal(err)
		}
	}
	wait := func() time.Duration {
		t.Helper()
		d, err := c.startDelay("p", "1", "a")
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if d := wait(); d != 0 {
		t.Errorf("the first start waits %s", d)
	}
	crash()
	if d := wait(); d != 0 {
		t.Errorf("the start after one crash waits %s", d)
	}
	crash()
	if d := wait(); d < firstDelay || d > 2*firstDelay {
		t.Errorf("the start after two crashes waits %s", d)
	}
	now = now.Add(2 * crashWindow)
	crash()
	if d := wait(); d != 0 {
		t.Errorf("crashes of long ago make a start wait %s", d)
	}
	crash()
	crash()
	var failed *CrashLimitError
	if _, err := c.startDelay("p", "1", "a"); !errors.As(err, &failed) || failed.LastCrash != "exit status 2" {
		t.Errorf("after three crashes: %v", err)
	}
	now = now.Add(24 * time.Hour)
	if _, err := (&crashStore{dir: dir, now: c.now}).startDelay("p", "1", "a"); !errors.As(err, &failed) {
		t.Errorf("a day later, in another host: %v", err)
	}
	if d, err := c.startDelay("p", "2", "a"); d != 0 || err != nil {
		t.Errorf("another version waits %s, %v", d, err)
	}
	if d, err := c.startDelay("p", "1", "b"); d != 0 || err != nil {
		t.Errorf("whoever has other rights, and had no part in it, waits %s, %v", d, err)
	}
	if _, failed := ReadCrashStatus(dir, "p"); !failed {
		t.Error("nobody is told that the plugin is not started for somebody")
	}
	if had, err := ResetCrashes(dir, "p"); !had || err != nil {
		t.Errorf("reset: %v %v", had, err)
	}
	if d := wait(); d != 0 {
		t.Errorf("after a reset a start waits %s", d)
	}
	if had, err := ResetCrashes(dir, "p"); had || err != nil {
		t.Errorf("a second reset: %v %v", had, err)
	}
}
