package main

import (
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// measureNetwork compares a network by name with the host's: what a sandbox takes to start, and what curl takes in it,
// for one large answer and for small ones. Both take turns.
func measureNetwork(bin string) error {
	fmt.Println("a network by name, beside the host's")
	return measureTransfers(bin)
}

// large is how long the large answer is, in bytes.
const large = 100 << 20

// measureTransfers has curl talk to a server of TLS on this machine.
func measureTransfers(bin string) error {
	block := make([]byte, 1<<20)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/large" {
			_, _ = io.WriteString(w, "small")
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(large))
		for range large / len(block) {
			_, _ = w.Write(block)
		}
	}))
	server.TLS = &tls.Config{NextProtos: []string{"http/1.1"}}
	server.StartTLS()
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		return err
	}
	base, err := os.MkdirTemp("/var/tmp", "picoclaw-bench")
	if err != nil {
		return err
	}
	place := "example.com:" + port // which the server's certificate is for
	network := fmt.Sprintf(`, "network": {"allow": [%q], "hosts": {"example.com": ["127.0.0.1"]}}`, place)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return errors.Join(withNetwork(bin, filepath.Join(base, "named"), network, authority, func(named *undoBench) error {
		return withNetwork(bin, filepath.Join(base, "open"), "", authority, func(open *undoBench) error {
			return compareTransfers(named, open, place)
		})
	}), os.RemoveAll(base))
}

func withNetwork(bin, home, network string, authority []byte, f func(*undoBench) error) error {
	workspace := filepath.Join(home, "workspace")
	if err := os.MkdirAll(workspace, 0o700); err != nil {
		return err
	}
	config := `{"isolation": {"enabled": true}, "tools": {"exec": {"enable_deny_patterns": false}}` + network + `}`
	err := errors.Join(os.WriteFile(filepath.Join(workspace, "ca.pem"), authority, 0o600),
		os.WriteFile(filepath.Join(home, "config.json"), []byte(config), 0o600))
	if err != nil {
		return err
	}
	s := &server{
		argv: []string{filepath.Join(bin, "picoclaw"), "mcp"}, stderr: os.Stderr,
		env: []string{"HOME=" + home, "PICOCLAW_HOME=" + home, "PATH=/usr/bin:/bin"},
	}
	return withClient(s, func(c *client) error { return f(&undoBench{c, workspace}) })
}

func compareTransfers(named, open *undoBench, place string) error {
	for _, m := range []struct {
		name   string
		rounds int
		path   string
		times  int // in one command
		aim    string
		say    func(with, without sample) string
	}{
		{"100 MB over TLS", 7, "/large", 1, "at least 0.6x as fast", func(with, without sample) string {
			return fmt.Sprintf("%.2fx as fast", float64(without.p50())/float64(with.p50()))
		}},
		{"a small request over TLS", 10, "/small", 20, "at most +1 ms", func(with, without sample) string {
			return fmt.Sprintf("%+.2f ms", ms(with.p50()-without.p50()))
		}},
	} {
		var with, without sample
		for range m.rounds {
			for _, side := range []struct {
				b    *undoBench
				way  string
				took *sample
			}{{named, "", &with}, {open, "--resolve " + place + ":127.0.0.1 ", &without}} {
				url := " -o /dev/null https://" + place + m.path
				times, err := side.b.seconds("curl -sS --cacert ca.pem -H 'Connection: close' -w '%{time_total}\\n' " + side.way +
					strings.Repeat(url, m.times))
				if err != nil {
					return err
				}
				*side.took = append(*side.took, times...)
			}
		}
		fmt.Printf("  %-32s %v and %v: %s (%s)\n", m.name, with.p50(), without.p50(), m.say(with, without), m.aim)
	}
	return nil
}

// seconds runs a command that prints numbers of seconds, in lines.
func (b *undoBench) seconds(command string) ([]time.Duration, error) {
	if err := b.run(command); err != nil {
		return nil, err
	}
	var answer struct {
		Result struct {
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
		} `json:"result"`
	}
	if err := json.Unmarshal(b.client.answer, &answer); err != nil || len(answer.Result.Content) == 0 {
		return nil, fmt.Errorf("%.60s: %.300s: %w", command, b.client.answer, err)
	}
	var times []time.Duration
	for line := range strings.Lines(answer.Result.Content[0].Text) {
		if n, err := strconv.ParseFloat(strings.TrimSpace(line), 64); err == nil {
			times = append(times, time.Duration(n*float64(time.Second)))
		}
	}
	if len(times) == 0 {
		return nil, fmt.Errorf("%.60s: no times in %.300s", command, b.client.answer)
	}
	return times, nil
}
