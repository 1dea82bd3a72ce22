package audit_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

// httpWitness keeps what it is sent, or does with it what answer does.
type httpWitness struct {
	answer func(w http.ResponseWriter, r *http.Request)

	mu    sync.Mutex
	lines bytes.Buffer
	asked int
}

func (h *httpWitness) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	if r.Method == http.MethodGet {
		defer h.mu.Unlock()
		_, _ = w.Write(h.lines.Bytes())
		return
	}
	h.asked++
	_, _ = h.lines.ReadFrom(r.Body)
	h.lines.WriteByte('\n')
	h.mu.Unlock()
	if h.answer != nil {
		h.answer(w, r)
	}
}

// Calls are made and answered with a witness that keeps what it is told, one that fails, and one that never answers.
func TestCallsDoNotWaitForWitness(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	for _, c := range []struct {
		name   string
		answer func(http.ResponseWriter, *http.Request)
		said   string
	}{
		{"kept", nil, ""},
		{"failing", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, "answers 502"},
		{"hanging", func(http.ResponseWriter, *http.Request) { <-release }, "context canceled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			witness := &httpWitness{answer: c.answer}
			server := httptest.NewServer(witness)
			defer server.Close()
			if c.name == "hanging" {
				defer close(release) // not before picoclaw has ended
			}
			home := hosttest.TempDir(t)
			picoclaw := func(stdin string, args ...string) (stdout, stderr string) {
				t.Helper()
				cmd := exec.Command(hosttest.ProgramPath("bin/picoclaw"), args...)
				cmd.Env = []string{"HOME=" + home, "PICOCLAW_HOME=" + home, "PATH=/usr/bin:/bin",
					"PICOCLAW_ISOLATION_ENABLED=false", "PICOCLAW_AUDIT_WITNESS=" + server.URL, "PICOCLAW_AUDIT_WITNESS_RECORDS=1"}
				var out, errs bytes.Buffer
				cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
				if err := cmd.Run(); err != nil {
					t.Fatalf("%v: %s%s", err, &out, &errs)
				}
				return out.String(), errs.String()
			}
			var calls strings.Builder
			for id := range 50 {
				fmt.Fprintf(&calls, `{"id":%d,"tool":"list_dir","args":{"path":"."}}`+"\n", id)
			}
			answers, said := picoclaw(calls.String(), "batch")
			if n := strings.Count(answers, `"ok":true`); n != 50 {
				t.Errorf("%d of 50 calls are answered: %s", n, answers)
			}
			complaints := strings.Count(said, "calls continue without a witness")
			if c.said == "" && said != "" || c.said != "" && (complaints != 1 || !strings.Contains(said, c.said)) {
				t.Errorf("it says %q; want %q", said, c.said)
			}
			witness.mu.Lock()
			asked := witness.asked
			witness.mu.Unlock()
			if asked == 0 {
				t.Error("the witness was told nothing")
			}
			if c.said == "" {
				found, _ := picoclaw("", "audit", "verify", "--witness", server.URL)
				if !strings.Contains(found, "witness: matches: ") {
					t.Errorf("it is verified as %s", found)
				}
			}
		})
	}
}
