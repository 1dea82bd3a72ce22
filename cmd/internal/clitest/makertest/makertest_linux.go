//go:build linux

// Package makertest installs the programs of model makers and plays their APIs, for tests.
package makertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// agentPackages are the programs of model makers that are really run, by npm package and version.
var agentPackages = []string{"@anthropic-ai/claude-code@2.1.330", "@openai/codex@0.171.0", "@google/gemini-cli@0.61.0",
	"opencode-ai@1.18.33"}

// InstallPrograms installs the programs and returns their directory.
func InstallPrograms(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	cmd := exec.Command("npm", append([]string{"install", "--prefix", dir, "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"},
		agentPackages...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("npm install: %v\n%s", err, out)
	}
	// Its package links the program by a script, which is not run.
	for name, target := range map[string]string{
		"claude": "../node_modules/@anthropic-ai/claude-code-linux-x64/claude", "codex": "../node_modules/.bin/codex",
		"gemini": "../node_modules/.bin/gemini", "opencode": "../node_modules/opencode-linux-x64/bin/opencode",
	} {
		if err := os.MkdirAll(bin, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(bin, name)); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
	}
	return bin
}

// API plays the APIs of model makers: it has the model write a file and run a command, and then say done.
type API struct {
	Authority []byte // certificate, as PEM; nil without TLS
	Port      string
	calls     []string // server-sent events: a tool call per request

	mu             sync.Mutex
	requests, keys []string
}

// NewAPI starts the APIs over TLS. Each request for a tool gets the next of calls: for Codex, an item made by CodexCall; for
// others, the tool and its arguments, in JSON.
func NewAPI(t *testing.T, calls ...string) *API {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		DNSNames:  []string{"api.anthropic.com", "api.openai.com", "generativelanguage.googleapis.com"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	a := NewPlainAPI(t, calls...)
	a.Authority = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	server := httptest.NewUnstartedServer(a)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	server.StartTLS()
	t.Cleanup(server.Close)
	a.Port = fmt.Sprint(server.Listener.Addr().(*net.TCPAddr).Port)
	return a
}

// NewPlainAPI is NewAPI without TLS.
func NewPlainAPI(t *testing.T, calls ...string) *API {
	a := &API{calls: calls}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	a.Port = fmt.Sprint(server.Listener.Addr().(*net.TCPAddr).Port)
	return a
}

// Requests returns the bodies of the requests so far, and the keys they had.
func (a *API) Requests() (bodies, keys []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.requests), slices.Clone(a.keys)
}

func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	claude := strings.HasSuffix(r.URL.Path, "/messages")
	gemini := strings.HasSuffix(r.URL.Path, ":streamGenerateContent") && strings.Contains(string(body), `"functionDeclarations"`)
	if r.Method != http.MethodPost || !claude && !gemini && !strings.HasSuffix(r.URL.Path, "/responses") || claude && !strings.Contains(string(body), `"tools":[{`) {
		http.NotFound(w, r)
		return
	}
	a.mu.Lock()
	n := len(a.requests)
	a.requests, a.keys = append(a.requests, string(body)), append(a.keys, r.Header.Get("X-Api-Key")+r.Header.Get("X-Goog-Api-Key")+r.Header.Get("Authorization"))
	a.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(kind, data string) {
		_, _ = fmt.Fprintf(w, "event: %s\ndata: {\"type\":%q,%s}\n\n", kind, kind, data)
	}
	call := ""
	if n < len(a.calls) {
		call = a.calls[n]
	}
	if gemini {
		part := `{"text":"all done"}`
		if name, args, ok := strings.Cut(call, " "); ok {
			part = fmt.Sprintf(`{"functionCall":{"name":%q,"args":%s}}`, name, args)
		}
		_, _ = fmt.Fprintf(w, `data: {"candidates":[{"index":0,"finishReason":"STOP","content":{"role":"model","parts":[%s]}}],`+
			`"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2}}`+"\n\n", part)
		return
	}
	if claude {
		send("message_start", `"message":{"id":"m","type":"message","role":"assistant","model":"x","content":[],`+
			`"stop_reason":null,"usage":{"input_tokens":10,"output_tokens":1}}`)
		stop := "end_turn"
		if call != "" {
			name, input, _ := strings.Cut(call, " ")
			stop = "tool_use"
			send("content_block_start", fmt.Sprintf(`"index":0,"content_block":{"type":"tool_use","id":"t%d","name":%q,"input":{}}`, n, name))
			send("content_block_delta", fmt.Sprintf(`"index":0,"delta":{"type":"input_json_delta","partial_json":%s}`, quoted(input)))
		} else {
			send("content_block_start", `"index":0,"content_block":{"type":"text","text":""}`)
			send("content_block_delta", `"index":0,"delta":{"type":"text_delta","text":"all done"}`)
		}
		send("content_block_stop", `"index":0`)
		send("message_delta", `"delta":{"stop_reason":"`+stop+`"},"usage":{"output_tokens":5}`)
		send("message_stop", `"x":0`)
		return
	}
	item := `{"type":"message","id":"m1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"all done","annotations":[]}]}`
	if call != "" {
		item = fmt.Sprintf(call, n, n)
	}
	send("response.created", `"response":{"id":"r","status":"in_progress"}`)
	send("response.output_item.done", `"output_index":0,"item":`+item)
	send("response.completed", `"response":{"id":"r","status":"completed","output":[`+item+`],"usage":{"input_tokens":10,`+
		`"input_tokens_details":{"cached_tokens":4},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":15}}`)
}

// CodexCall is a call of codex's tool that runs a script with its other tools.
func CodexCall(script string) string {
	return `{"type":"custom_tool_call","id":"c%d","call_id":"c%d","name":"exec","namespace":"functions","status":"completed","input":` + quoted(script) + `}`
}

func quoted(text string) string {
	out, _ := json.Marshal(text)
	return string(out)
}
