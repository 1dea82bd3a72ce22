package network_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha512"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/websocket"
	"google.golang.org/grpc"
	healthserver "google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// site is what commands reach: servers for many programs, under names that end in .test, all with the same handler.
type site struct {
	t     *testing.T
	cert  tls.Certificate
	roots []byte // the authority of cert, as PEM
	mux   *http.ServeMux

	plain, secure, six, rpc string // ports: HTTP, HTTPS, HTTP at [::1], gRPC over TLS

	mu   sync.Mutex
	seen []string // requests, as a line each
}

// siteNames are those that the site has a certificate for.
var siteNames = []string{"web.test", "api.test", "git.test", "npm.test", "pip.test", "go.test", "rpc.test", "only.test",
	"other.test", "xn--bcher-kva.test", "evil.test"}

// newSite starts a site.
func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, mux: http.NewServeMux()}
	s.certify()
	s.mux.HandleFunc("/hello", func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "hello from %s\n", r.Host)
	})
	s.mux.HandleFunc("/leave", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.FormValue("to"), http.StatusFound)
	})
	s.mux.Handle("/chat", websocket.Server{Handler: func(c *websocket.Conn) { _, _ = io.Copy(c, c) }})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.seen = append(s.seen, fmt.Sprintf("%s %s%s %s", r.Method, r.Host, r.URL, r.Header.Get("Authorization")))
		s.mu.Unlock()
		s.mux.ServeHTTP(w, r)
	})
	s.plain = s.listen("127.0.0.1:0", handler, false)
	s.six = s.listen("[::1]:0", handler, false)
	s.secure = s.listen("127.0.0.1:0", handler, true)
	s.rpc = s.calls()
	return s
}

// listen serves the handler, and returns the port.
func (s *site) listen(at string, handler http.Handler, secure bool) string {
	s.t.Helper()
	server := httptest.NewUnstartedServer(handler)
	_ = server.Listener.Close()
	var err error
	if server.Listener, err = net.Listen("tcp", at); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(server.Close)
	if !secure {
		server.Start()
	} else {
		server.EnableHTTP2, server.TLS = true, &tls.Config{Certificates: []tls.Certificate{s.cert}}
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.StartTLS()
	}
	return portAt(server.Listener.Addr())
}

func portAt(a net.Addr) string {
	_, port, _ := net.SplitHostPort(a.String())
	return port
}

// certify makes an authority, and a certificate of it for all names.
func (s *site) certify() {
	s.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	sign := func(template, parent *x509.Certificate) *x509.Certificate {
		template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
		template.BasicConstraintsValid = true
		der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), key)
		if err != nil {
			s.t.Fatal(err)
		}
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			s.t.Fatal(err)
		}
		return cert
	}
	top := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, KeyUsage: x509.KeyUsageCertSign}
	top.Subject.CommonName = "an authority of the tests"
	top = sign(top, top)
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), DNSNames: siteNames, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	leaf.Subject.CommonName = "the tests"
	s.cert = tls.Certificate{Certificate: [][]byte{sign(leaf, top).Raw}, PrivateKey: key}
	s.roots = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: top.Raw})
}

// calls serves the health service of gRPC over TLS.
func (s *site) calls() string {
	s.t.Helper()
	config := &tls.Config{Certificates: []tls.Certificate{s.cert}, NextProtos: []string{"h2"}}
	l, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		s.t.Fatal(err)
	}
	server := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(server, healthserver.NewServer())
	go func() { _ = server.Serve(l) }()
	s.t.Cleanup(server.Stop)
	return portAt(l.Addr())
}

// saw reports whether a request came that has a text in its line.
func (s *site) saw(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.seen {
		if strings.Contains(line, text) {
			return true
		}
	}
	return false
}

// serveGit serves a repository with one commit to git's own protocol. guard may be nil.
func (s *site) serveGit(guard func(http.ResponseWriter, *http.Request) bool) {
	s.t.Helper()
	dir := s.t.TempDir()
	script := `git init -q -b main work; cd work; echo from git > file; git add file; git commit -qm one
git clone -q --bare . ../repo.git; git -C ../repo.git config http.receivepack true`
	cmd := exec.Command("bash", "-ec", script)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b"}
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	programs, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		s.t.Fatal(err)
	}
	backend := &cgi.Handler{Path: filepath.Join(strings.TrimSpace(string(programs)), "git-http-backend"), Root: "/git",
		Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=a", "HOME=" + dir}}
	s.mux.HandleFunc("/git/", func(w http.ResponseWriter, r *http.Request) {
		if guard == nil || guard(w, r) {
			backend.ServeHTTP(w, r)
		}
	})
}

// servePackages serves one package each to npm, pip and go.
func (s *site) servePackages() {
	s.t.Helper()
	files := map[string][]byte{
		"/npm/small/-/small-1.0.0.tgz": s.tarball(map[string]string{
			"package/package.json": `{"name":"small","version":"1.0.0","main":"index.js"}`,
			"package/index.js":     `module.exports = "from npm";`,
		}),
		"/pip/files/small-1.0-py3-none-any.whl": s.zip([][2]string{
			{"small.py", "text = 'from pip'\n"},
			{"small-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: small\nVersion: 1.0\n"},
			{"small-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
			{"small-1.0.dist-info/RECORD", "small.py,,\nsmall-1.0.dist-info/METADATA,,\nsmall-1.0.dist-info/WHEEL,,\n" +
				"small-1.0.dist-info/RECORD,,\n"},
		}),
		"/pip/simple/small/":                   []byte(`<a href="../../files/small-1.0-py3-none-any.whl">small-1.0-py3-none-any.whl</a>`),
		"/go/module.test/small/@v/list":        []byte("v1.0.0\n"),
		"/go/module.test/small/@v/v1.0.0.info": []byte(`{"Version":"v1.0.0","Time":"2024-01-02T03:04:05Z"}`),
		"/go/module.test/small/@v/v1.0.0.mod":  []byte("module module.test/small\n"),
		"/go/module.test/small/@v/v1.0.0.zip": s.zip([][2]string{
			{"module.test/small@v1.0.0/go.mod", "module module.test/small\n"},
			{"module.test/small@v1.0.0/small.go", "package small // from go\n"},
		}),
	}
	for path, data := range files {
		s.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(path, "/simple/small/") {
				w.Header().Set("Content-Type", "text/html")
			}
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
		})
	}
	sum := sha512.Sum512(files["/npm/small/-/small-1.0.0.tgz"])
	s.mux.HandleFunc("/npm/small", func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{
			"name": "small", "dist-tags": map[string]any{"latest": "1.0.0"},
			"versions": map[string]any{"1.0.0": map[string]any{"name": "small", "version": "1.0.0", "dist": map[string]any{
				"tarball":   "https://" + r.Host + "/npm/small/-/small-1.0.0.tgz",
				"integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:]),
			}}},
		})
	})
}

func (s *site) tarball(files map[string]string) []byte {
	s.t.Helper()
	var out bytes.Buffer
	packed := gzip.NewWriter(&out)
	w := tar.NewWriter(packed)
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			s.t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		s.t.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		s.t.Fatal(err)
	}
	return out.Bytes()
}

func (s *site) zip(files [][2]string) []byte {
	s.t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, file := range files {
		to, err := w.Create(file[0])
		if err == nil {
			_, err = io.WriteString(to, file[1])
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		s.t.Fatal(err)
	}
	return out.Bytes()
}
