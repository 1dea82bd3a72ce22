package network_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/websocket"
)

// realValue is a secret that no sandbox may hold.
const realValue = "real-value-5fd1c7a0b2"

// basicValue is how programs with a password send it.
var basicValue = base64.StdEncoding.EncodeToString([]byte("x:" + realValue))

// serveSecrets serves what takes the secret, and sends it back in several ways.
func (s *site) serveSecrets() {
	s.mux.HandleFunc("/account", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+realValue {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, "welcome to "+r.Host+"\n")
	})
	s.mux.HandleFunc("/echo/header", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Echo", r.Header.Get("Authorization"))
	})
	s.mux.HandleFunc("/echo/body", func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "you are %s, and %[1]s again\n", r.Header.Get("Authorization"))
	})
	s.mux.HandleFunc("/echo/chunks", func(w http.ResponseWriter, r *http.Request) {
		for _, c := range []byte("you are " + r.Header.Get("Authorization") + "\n") {
			_, _ = w.Write([]byte{c})
			_ = http.NewResponseController(w).Flush()
		}
	})
	s.mux.HandleFunc("/echo/gzip", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		packed := gzip.NewWriter(w)
		_, _ = io.WriteString(packed, r.Header.Get("Authorization"))
		_ = packed.Close()
	})
	s.mux.HandleFunc("/echo/trailer", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Echo")
		_, _ = io.WriteString(w, "see below\n")
		_ = http.NewResponseController(w).Flush()
		w.Header().Set("X-Echo", r.Header.Get("Authorization"))
	})
	s.mux.Handle("/echo/chat", websocket.Server{Handler: func(c *websocket.Conn) {
		_ = websocket.Message.Send(c, c.Request().Header.Get("Authorization"))
	}})
}

// bound is a network whose TLS picoclaw ends at some hosts, and a secret for two of them.
const bound = `"allow": ["api.test:%SECURE", "api.test:%PLAIN", "git.test:%SECURE", "web.test:%PLAIN", "web.test:%SECURE",
"only.test:%SECURE", "npm.test:%SECURE", "pip.test:%SECURE", "go.test:%SECURE", "rpc.test:%RPC"],
"methods": {"only.test": ["GET"], "npm.test": ["GET"], "pip.test": ["GET"], "go.test": ["GET"], "rpc.test": ["POST"]}`

const secret = `, "secrets": {"TOKEN": {"from": {"env": "REAL_TOKEN"}, "hosts": ["api.test:%SECURE", "git.test:%SECURE"],
"as": {"header": "Authorization", "value": "Bearer {{secret}}"}}},
"plugins": {"shell": {"grants": {"secrets": ["TOKEN"]}}}`

// newBound makes an agent with a secret, on a host that believes the site's authority.
func newBound(t *testing.T, s *site) *networked {
	t.Helper()
	roots := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(roots, s.roots, 0o600); err != nil {
		t.Fatal(err)
	}
	return newNetworked(t, s, bound, secret, "REAL_TOKEN="+realValue, "SSL_CERT_FILE="+roots)
}

const account = "https://api.test:%SECURE/account"

// holders are programs that get something for a secret, and what they are to say.
var holders = []struct{ name, script, want string }{
	{"curl", `curl -sS -H "Authorization: Bearer $TOKEN" ` + account, "welcome"},
	{"curl without a proxy", `curl -sS --noproxy '*' -H "Authorization: Bearer $TOKEN" ` + account, "welcome"},
	{"curl that knows of no secret", `curl -sS ` + account, "welcome"},
	{"curl with HTTP/1.1", `curl -sS --http1.1 ` + account, "welcome"},
	{"requests", `/usr/bin/python3 -c 'import requests
print(requests.get("` + account + `").text)'`, "welcome"},
	{"requests without a proxy", unproxied + `/usr/bin/python3 -c 'import os, requests
print(requests.get("` + account + `", headers={"Authorization": "Bearer " + os.environ["TOKEN"]}).text)'`, "welcome"},
	{"httpx", `/usr/bin/python3 -c 'import os, httpx
print(httpx.get("` + account + `", headers={"Authorization": "Bearer " + os.environ["TOKEN"]}).text)'`, "welcome"},
	{"httpx without a proxy", unproxied + `/usr/bin/python3 -c 'import httpx
print(httpx.get("` + account + `").text)'`, "welcome"},
	{"urllib", `/usr/bin/python3 -c 'import urllib.request
print(urllib.request.urlopen("` + account + `").read().decode())'`, "welcome"},
	{"node", `node -e 'fetch("` + account + `", {headers: {Authorization: "Bearer " + process.env.TOKEN}})
.then(r => r.text()).then(console.log)'`, "welcome"},
	{"git with a password in the URL", committer + `git clone -q "https://x:$TOKEN@git.test:%SECURE/git/repo.git" one
cd one; cat file; echo more >> file; git commit -qam two; git push -q; git log --oneline origin/main | wc -l`,
		"from git\n2\n"},
	{"git with a header", `git -c "http.extraHeader=Authorization: Basic $(printf 'x:%s' "$TOKEN" | base64 -w0)" \
clone -q https://git.test:%SECURE/git/repo.git two; cat two/file`, "from git"},
	{"git without a proxy", unproxied + `git clone -q "https://x:$TOKEN@git.test:%SECURE/git/repo.git" three; cat three/file`,
		"from git"},
	{"a WebSocket", webSocket + `/usr/bin/python3 ws.py api.test %SECURE wss proxy`, "echo from a socket"},

	// These get no secret, but TLS ends at picoclaw all the same.
	{"npm", `mkdir np; cd np; echo '{}' > package.json
npm install --fetch-retries 0 --no-audit --no-fund --registry https://npm.test:%SECURE/npm/ small; node -e 'console.log(require("small"))'`,
		"from npm"},
	{"pip", `/usr/bin/python3 -m pip install -q --disable-pip-version-check --no-cache-dir --target wheels \
--index-url https://pip.test:%SECURE/pip/simple/ small; PYTHONPATH=wheels /usr/bin/python3 -c 'import small; print(small.text)'`,
		"from pip"},
	{"go", "export GOPROXY=https://go.test:%SECURE/go; a=1" + byGo, "// from go"},
	{"gRPC", health + `/usr/bin/python3 rpc.py rpc.test:%RPC 1 default`, `health b'\x08\x01'`},
	{"gRPC without a proxy", health + `/usr/bin/python3 rpc.py rpc.test:%RPC 0 default`, `health b'\x08\x01'`},
}

// echoes are servers that send a secret back; `%X` is where the sandbox sees the placeholder.
var echoes = []struct{ name, script, want string }{
	{"header", `curl -sSi https://api.test:%SECURE/echo/header | tr -d '\r'`, "x-echo: Bearer %X\n"},
	{"body", `curl -sS https://api.test:%SECURE/echo/body`, "you are Bearer %X, and Bearer %X again"},
	{"chunks", `curl -sS --http1.1 https://api.test:%SECURE/echo/chunks`, "you are Bearer %X\n"},
	{"frames", `curl -sS --http2 https://api.test:%SECURE/echo/chunks`, "you are Bearer %X\n"},
	{"without a proxy", `curl -sS --noproxy '*' https://api.test:%SECURE/echo/chunks`, "you are Bearer %X\n"},
	{"gzip", `curl -sS --compressed https://api.test:%SECURE/echo/gzip`, "can't redact the secret in the response"},
	{"gzip as it is", `curl -sS https://api.test:%SECURE/echo/gzip`, "can't redact the secret in the response"},
	{"in parts", `for i in $(seq 0 8 80); do curl -sS -r $i-$((i+7)) https://api.test:%SECURE/echo/body; done`,
		"you are Bearer %X"},
	{"trailer", `curl -sSv --http1.1 --raw https://api.test:%SECURE/echo/trailer 2>&1 | tr -d '\r'`, "X-Echo: Bearer %X\n"},
	{"trailer of HTTP/2", `curl -sSi --http2 https://api.test:%SECURE/echo/trailer | tr -d '\r'`, "x-echo: Bearer %X\n"},
	{"a WebSocket", webSocket + `/usr/bin/python3 ws.py api.test %SECURE wss no /echo/chat`, "echo Bearer %X\n"},
}

// strays are uses of a placeholder that are refused.
var strays = []struct{ script, want string }{
	{`curl -sS -H "Authorization: Bearer $TOKEN" http://web.test:%PLAIN/hello`,
		"refused a request to web.test:%PLAIN with the secret TOKEN; setting secrets.TOKEN.hosts"},
	{`curl -sS -H "Authorization: Bearer $TOKEN" https://only.test:%SECURE/hello`,
		"refused a request to only.test:%SECURE with the secret TOKEN; setting secrets.TOKEN.hosts"},
	{`curl -sS -u "x:$TOKEN" https://only.test:%SECURE/hello`,
		"refused a request to only.test:%SECURE with the secret TOKEN; setting secrets.TOKEN.hosts"},
	{`curl -sS http://api.test:%PLAIN/account`, "without TLS, as the secret TOKEN is bound to it; use https"},
	{`curl -sS https://api.test:%SECURE/account?token=$TOKEN`, "with the secret TOKEN in the URL; it goes only into"},
	{`curl -sS -H "X-Token: $TOKEN" ` + account, "with the secret TOKEN in the header X-Token; it goes only into"},
}

// A secret gets to its hosts, whatever the program, and what they send of it comes back as the placeholder. Nothing in
// the sandbox or the home has the value afterwards.
func TestCommandsUseSecretsThatTheyDoNotHold(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.serveGit(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Authorization") == "Basic "+basicValue {
			return true
		}
		w.Header().Set("WWW-Authenticate", "Basic")
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return false
	})
	s.servePackages()
	s.serveSecrets()
	a := newBound(t, s)
	first := a.run(`echo "it is <$TOKEN>"`)
	found := regexp.MustCompile("it is <(.+)>").FindStringSubmatch(first.Text)
	if found == nil || len(found[1]) != len(realValue) || found[1] == realValue {
		t.Fatalf("the variable of a command is not a placeholder: %s", first.FullText())
	}
	placeholder, said := found[1], first.FullText()
	try := func(script, want string) {
		t.Helper()
		r := a.run(script)
		said += r.FullText()
		if want = strings.ReplaceAll(a.ports(want), "%X", placeholder); !strings.Contains(r.FullText(), want) {
			t.Errorf("no %q in: %s", want, r.FullText())
		}
	}
	for _, c := range holders {
		t.Run(c.name, func(t *testing.T) { try(c.script, c.want) })
	}
	for _, c := range echoes {
		t.Run("echo/"+c.name, func(t *testing.T) { try(c.script, c.want) })
	}
	for _, c := range strays {
		t.Run("refused/"+c.want, func(t *testing.T) { try(c.script, c.want) })
	}
	if !s.saw(a.ports("api.test:%SECURE/account Bearer " + realValue)) {
		t.Error("no server has got the secret")
	}
	if s.saw(placeholder) {
		t.Error("a server has got the placeholder")
	}
	try("cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline > processes 2>/dev/null || :\n"+lookIntoMemory, "found 0 where it looked")
	nowhere(t, a.Home, said)
}

// lookIntoMemory counts the processes of the sandbox, but for itself, that have the value in their memory.
const lookIntoMemory = `/usr/bin/python3 - <<'E'
import os
value, found, looked = b"real-" + b"value-5fd1", 0, 0
for pid in filter(str.isdigit, os.listdir("/proc")):
    if int(pid) == os.getpid(): continue
    try:
        maps, mem = open(f"/proc/{pid}/maps").read(), open(f"/proc/{pid}/mem", "rb", 0)
    except OSError: continue
    for line in maps.splitlines():
        first, last = (int(n, 16) for n in line.split()[0].split("-"))
        try:
            mem.seek(first)
            found += value in mem.read(min(last - first, 64 << 20))
            looked += 1
        except (OSError, OverflowError, ValueError): pass
print("found", found, "where it looked" if looked else "and saw nothing")
E
`

// nowhere checks that a secret is in no text and in no file of a home.
func nowhere(t *testing.T, home, said string) {
	t.Helper()
	forms := []string{realValue, basicValue, base64.StdEncoding.EncodeToString([]byte(realValue))}
	look := func(where string, data []byte) {
		for _, form := range forms {
			if bytes.Contains(data, []byte(form)) {
				t.Errorf("the secret is in %s", where)
			}
		}
	}
	look("what commands said", []byte(said))
	files := 0
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it has gone meanwhile
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		look(path, data)
		files++
		return err
	})
	if err != nil || files < 10 {
		t.Errorf("only %d files were looked at: %v", files, err)
	}
	for _, name := range []string{"workspace/processes", "logs/audit.jsonl"} {
		if info, err := os.Stat(filepath.Join(home, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
