package isolation

import (
	"fmt"
	"path/filepath"
	"testing"
)

// What AccessOf says is what a process meets that tries.
func TestAccessOfMatchesRealAccess(t *testing.T) {
	base := realTemp(t)
	work, docs, home := filepath.Join(base, "work"), filepath.Join(base, "docs"), filepath.Join(base, "home")
	paths := []string{
		put(t, filepath.Join(work, "a"), "a"), put(t, filepath.Join(work, "hooks", "b"), "b"),
		put(t, filepath.Join(docs, "c"), "c"),
		put(t, filepath.Join(base, "out", "d"), "d"), put(t, filepath.Join(base, "shown", "e"), "e"),
		put(t, filepath.Join(home, "config"), "f"),
		"/usr/lib/os-release", "/etc/shadow",
	}
	for _, mode := range []struct{ enabled, confine bool }{{true, false}, {true, true}, {false, true}, {false, false}} {
		for _, exec := range []bool{false, true} {
			t.Run(fmt.Sprintf("%+v exec %t", mode, exec), func(t *testing.T) {
				cfg := Config{Enabled: mode.enabled, Home: home, ExposePaths: []ExposedPath{{Source: filepath.Join(base, "shown"),
					Mode: ModeReadOnly}}}
				p := Profile{ReadOnly: []string{docs, filepath.Join(work, "hooks")}, ReadWrite: []string{work}, Exec: exec,
					Confine: mode.confine}
				i := configured(t, cfg)
				for _, path := range paths {
					says, err := AccessOf(cfg, p, path)
					if err != nil {
						t.Fatal(err)
					}
					// what this user may do at all
					alone := outcome(t, configured(t, Config{}), child("append", path), Profile{}).exit.Success()
					if got := outcome(t, i, child("read", path), p).exit.Success(); got && !says.Read || !got && says.Read && alone {
						t.Errorf("%s can be read: %t, and it is said %+v", path, got, says)
					}
					if got := outcome(t, i, child("append", path), p).exit.Success(); got && !says.Write || !got && says.Write &&
						alone {
						t.Errorf("%s can be written: %t, and it is said %+v", path, got, says)
					}
				}
			})
		}
	}
}
