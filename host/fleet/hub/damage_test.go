package hub_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/host/fleet/hub"
	"github.com/picoclaw/picoclaw/host/fleet/identity"
)

// revokedHub returns the directory of a hub that has revoked gateway g1, and its register before that.
func revokedHub(t *testing.T) (dir string, older []byte) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "hub")
	h, err := hub.Open(dir)
	if err == nil {
		_, err = h.Add(t.Context(), hub.DefaultTenant, hub.Identity{Role: identity.Gateway, Name: "g1"})
	}
	if err != nil {
		t.Fatal(err)
	}
	older, err = os.ReadFile(filepath.Join(dir, "register.json"))
	if err = errors.Join(err, h.Revoke(t.Context(), hub.DefaultTenant, "g1")); err != nil {
		t.Fatal(err)
	}
	return dir, older
}

func TestDamagedHubIsRefused(t *testing.T) {
	t.Parallel()
	missing := func(string, []byte) []byte { return nil }
	text := func(s string) func(string, []byte) []byte { return func(string, []byte) []byte { return []byte(s) } }
	for name, c := range map[string]struct {
		file    string
		content func(file string, older []byte) []byte
	}{
		"no register":              {"register.json", missing},
		"no authority":             {"authority.pem", missing},
		"no operator key":          {"keys/operator", missing},
		"no system key":            {"keys/system", missing},
		"no tenant key":            {"keys/tenant-main", missing},
		"no store key":             {"keys/store-main", missing},
		"no keys":                  {"keys", missing},
		"no store":                 {"store", missing},
		"empty register":           {"register.json", text("")},
		"register without members": {"register.json", text("{}")},
		"register without tenants": {"register.json", text(`{"listen":"127.0.0.1:0","tenants":{}}`)},
		"null tenant":              {"register.json", text(`{"listen":"127.0.0.1:0","tenants":{"main":{},"a":null}}`)},
		"older register":           {"register.json", func(_ string, older []byte) []byte { return older }},
		"empty authority":          {"authority.pem", text("")},
		"zeroed key":               {"keys/tenant-main", text(strings.Repeat("\x00", 58))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, older := revokedHub(t)
			file, backup := filepath.Join(dir, c.file), filepath.Join(t.TempDir(), "backup")
			if err := os.Rename(file, backup); err != nil {
				t.Fatal(err)
			}
			if data := c.content(file, older); data != nil {
				if err := os.WriteFile(file, data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 { // a refused start changes nothing that makes the next one succeed
				_, err := hub.Open(dir)
				if err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "restore") {
					t.Fatalf("%v; want an error with %s and a remedy", err, file)
				}
			}
			if r, err := hub.Read(dir); c.file == "register.json" && c.content(file, older) == nil && err == nil {
				t.Errorf("the register that is missing: %+v", r)
			}
			if err := errors.Join(os.RemoveAll(file), os.Rename(backup, file)); err != nil {
				t.Fatal(err)
			}
			h, err := hub.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			if r, err := h.Register(); err != nil || r.Tenants["main"].Identities[0].Revoked == nil {
				t.Errorf("register %+v %v; want g1 revoked", r, err)
			}
		})
	}
}

func TestInterruptedCreationOfHubContinues(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"register.json", "authority.pem", "keys/store-main", "accounts", "store"} {
		dir := filepath.Join(t.TempDir(), "hub")
		if _, err := hub.Open(dir); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.RemoveAll(filepath.Join(dir, file)), os.WriteFile(filepath.Join(dir, "creating"), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := hub.Open(dir); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}

func TestReadableHubIsRefused(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]os.FileMode{"keys": 0o755, "authority.pem": 0o640, "store": 0o701} {
		dir, _ := revokedHub(t)
		path := filepath.Join(dir, name)
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := hub.Open(dir); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "chmod -R go= "+dir) {
			t.Errorf("%s with mode %o: %v", name, mode, err)
		}
		if err := os.Chmod(path, mode&0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := hub.Open(dir); err != nil {
			t.Errorf("%s after the remedy: %v", name, err)
		}
	}
}
