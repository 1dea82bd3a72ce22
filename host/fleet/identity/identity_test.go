package identity

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

func TestBrokenIdentityHasRemedy(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"empty": "", "zeroed": "\x00\x00\x00", "cut": `{"name":"w1","ten`, "list": "[]",
		"other object": `{"name":"w1"}`, "null": "null"} {
		file := filepath.Join(t.TempDir(), "w1.fleet")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(file); err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "put back a copy") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// sample is an identity that could have been made by a hub.
func sample(t testing.TB) *Identity {
	t.Helper()
	account, err := nkeys.CreateAccount()
	if err != nil {
		t.Fatal(err)
	}
	key, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, err := key.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := key.Seed()
	if err != nil {
		t.Fatal(err)
	}
	id := &Identity{Name: "w1", Role: Worker, Tenant: "main", Agents: []string{"a"}, URLs: []string{"tls://hub.example:4222"},
		Seed: string(seed)}
	if id.JWT, err = jwt.NewUserClaims(public).Encode(account); err != nil {
		t.Fatal(err)
	}
	return id
}

// What is read is encrypted on the way to other machines, whatever the file says.
func FuzzNoIdentityIsPlainElsewhere(f *testing.F) {
	id := sample(f)
	for _, at := range []string{"tls://hub.example:4222", "nats://127.0.0.1:4222", "nats://[::1]:1", "nats://192.0.2.1:4222",
		"nats://localhost:1", "nats://localhost.example", "ws://127.0.0.1", "nats://127.0.0.1@evil.example", "hub:4222"} {
		f.Add(at, "")
	}
	f.Fuzz(func(t *testing.T, at, ca string) {
		changed := *id
		changed.URLs, changed.CA = []string{at, "nats://127.0.0.1:4222"}, ca
		data, err := json.Marshal(changed)
		if err != nil {
			t.Fatal(err)
		}
		got, err := parse(data)
		if err != nil {
			return
		}
		plain, err := got.plain()
		if err != nil {
			t.Fatal("what was read can't be used: ", err)
		}
		for _, text := range got.URLs {
			u, err := url.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			if host := u.Hostname(); plain && host != "localhost" && !strings.HasPrefix(host, "127.") &&
				!strings.Contains(host, ":") {
				t.Errorf("%s is reached without encryption", text)
			}
		}
	})
}

func TestAFileThatIsNoneIsRefused(t *testing.T) {
	for name, change := range map[string]func(map[string]any){
		"an unknown field": func(m map[string]any) { m["insecure"] = true },
		"an unknown role":  func(m map[string]any) { m["role"] = "root" },
		"no tenant":        func(m map[string]any) { delete(m, "tenant") },
		"no seed":          func(m map[string]any) { delete(m, "seed") },
		"no jwt":           func(m map[string]any) { delete(m, "jwt") },
		"no urls":          func(m map[string]any) { m["urls"] = []string{} },
	} {
		data, err := json.Marshal(sample(t))
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := json.Unmarshal(data, &m); err != nil {
			t.Fatal(err)
		}
		change(m)
		if data, err = json.Marshal(m); err != nil {
			t.Fatal(err)
		}
		if _, err := parse(data); err == nil {
			t.Errorf("%s: it is taken", name)
		}
	}
}

func TestOnlyThisMachineIsSpokenToInPlainText(t *testing.T) {
	for address, want := range map[string]string{
		"nats://10.0.0.1:4222": "not encrypted", "nats://nats.example.com": "not encrypted", "http://localhost": "no address",
		"": "no fleet is named", "tls://a,nats://b": "not encrypted", "nats://localhost.evil.example:1": "not encrypted",
	} {
		if _, err := Dial(address, "x", ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", address, err)
		}
	}
}
