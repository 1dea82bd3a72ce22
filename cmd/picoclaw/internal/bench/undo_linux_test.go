package bench

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
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/internal/measure"
)

// BenchmarkUndo runs commands with undo and protected files, and without either.
func BenchmarkUndo(b *testing.B) {
	var workspaces []string
	var clients []*client
	for _, enabled := range []string{"true", "false"} {
		i := newInstallation(b, "PICOCLAW_TOOLS_EXEC_ENABLE_DENY_PATTERNS=false", "PICOCLAW_TOOLS_UNDO_ENABLED="+enabled,
			"PICOCLAW_WORKSPACE_PROTECT_ENABLED="+enabled)
		c := i.connect(b)
		if err := errors.Join(growFiles(filepath.Join(i.workspace, "all"), 2000), c.exec("tar cf all.tar all"),
			packPackages(c, i.workspace)); err != nil {
			b.Fatal(err)
		}
		workspaces, clients = append(workspaces, i.workspace), append(clients, c)
	}
	for _, m := range []struct {
		name, command  string
		directory      string // 20,000 files are in it before each run
		ratio, addedMS string // bounds
	}{
		{"true", "true", "", "", "<=0.3"},
		// A compiler writes each of its files by a process of its own.
		{"build_2000_files", `rm -rf out; mkdir out; seq 2000 | xargs -n1 sh -c 'echo "$0" > out/$0.o'`, "", "<=1.15", ""},
		{"tar_2000_files", `rm -rf un; mkdir un; tar xf all.tar -C un`, "", "<=1.5", ""},
		{"npm_install_10000_files", "rm -rf app/node_modules; cd app; npm install --offline --no-audit --no-fund", "", "<=1.3", ""},
		{"rm_20000_files", "rm -rf many", "many", "<=2.5", ""},
		{"true_beside_20000_files", "true", "kept", "", "<=0.3"},
	} {
		b.Run(m.name, func(b *testing.B) {
			with := func(n int) measure.BenchCase {
				c := measure.BenchCase{Name: []string{"undo", "no_undo"}[n], Run: func() error { return clients[n].exec(m.command) }}
				if m.directory != "" {
					c.Prepare = func() error { return growFiles(filepath.Join(workspaces[n], m.directory), 20_000) }
				}
				return c
			}
			t := measure.RunInTurns(b, with(0), with(1))
			b.ReportMetric(t[0].Median()/t[1].Median(), "undo_to_no_undo-ratio"+m.ratio)
			b.ReportMetric(t[0].Median()-t[1].Median(), "cost-ms"+m.addedMS)
		})
	}
}

// packPackages writes a hundred npm packages of a hundred files, and the directory app that depends on them.
func packPackages(c *client, workspace string) error {
	const packages = 100
	files := filepath.Join(workspace, "packages")
	if err := growFiles(files, packages*100); err != nil {
		return err
	}
	dependencies := make(map[string]string, packages)
	for i := range packages {
		name := fmt.Sprint("package", i)
		dependencies[name] = fmt.Sprintf("file:../packages/%d.tgz", i)
		manifest := fmt.Sprintf(`{"name": %q, "version": "1.0.0"}`, name)
		if err := os.WriteFile(filepath.Join(files, fmt.Sprint(i), "package.json"), []byte(manifest), 0o600); err != nil {
			return err
		}
	}
	manifest, err := json.Marshal(map[string]any{"name": "app", "dependencies": dependencies})
	if err != nil {
		return err
	}
	app := filepath.Join(workspace, "app")
	if err := os.Mkdir(app, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(app, "package.json"), manifest, 0o600); err != nil {
		return err
	}
	return c.exec("cd packages; for i in *; do tar czf $i.tgz --transform s/^$i/package/ $i; done")
}

// growFiles writes files of up to 3.5 KB in directories of a hundred, if the directory does not exist.
func growFiles(dir string, files int) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	text := []byte(strings.Repeat("x", 500*7))
	for i := range files {
		at := filepath.Join(dir, fmt.Sprint(i/100))
		if i%100 == 0 {
			if err := os.MkdirAll(at, 0o700); err != nil {
				return err
			}
		}
		if err := os.WriteFile(filepath.Join(at, fmt.Sprint(i)), text[:500*(i%8)], 0o600); err != nil {
			return err
		}
	}
	return nil
}

// BenchmarkNetwork has curl talk to a TLS server on this machine, in a sandbox with a network by name and in one with
// the host's network.
func BenchmarkNetwork(b *testing.B) {
	const size = 100 << 20
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/large" {
			_, _ = io.WriteString(w, "small")
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(size))
		block := make([]byte, 1<<20)
		for range size / len(block) {
			_, _ = w.Write(block)
		}
	}))
	server.TLS = &tls.Config{NextProtos: []string{"http/1.1"}}
	server.StartTLS()
	b.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	place := "example.com:" + port // the server's certificate is for this name
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	var clients []*client
	for _, network := range []string{
		fmt.Sprintf(`, "network": {"allow": [%q], "hosts": {"example.com": ["127.0.0.1"]}}`, place), "",
	} {
		i := newInstallation(b)
		i.write(b, "workspace/ca.pem", authority)
		i.write(b, "config.json", `{"tools": {"exec": {"enable_deny_patterns": false}}`+network+`}`)
		clients = append(clients, i.connect(b))
	}
	for _, m := range []struct {
		name, path string
		times      int // in one command
	}{{"get_100mb", "/large", 1}, {"get_small", "/small", 20}} {
		b.Run(m.name, func(b *testing.B) {
			var took [2]measure.RunDurations
			for b.Loop() {
				for n, resolve := range []string{"", "--resolve " + place + ":127.0.0.1 "} {
					times, err := seconds(clients[n], "curl -sS --cacert ca.pem -H 'Connection: close' -w '%{time_total}\\n' "+
						resolve+strings.Repeat(" -o /dev/null https://"+place+m.path, m.times))
					if err != nil {
						b.Fatal(err)
					}
					took[n] = append(took[n], times...)
				}
			}
			took[0].ReportMedian(b, "by_name-ms")
			took[1].ReportMedian(b, "host_network-ms")
			if m.times == 1 {
				b.ReportMetric(took[1].Median()/took[0].Median(), "by_name-speed>=0.6")
			} else {
				b.ReportMetric(took[0].Median()-took[1].Median(), "cost-ms<=1")
			}
		})
	}
}

// seconds runs a command that prints numbers of seconds, each in a line.
func seconds(c *client, command string) (times measure.RunDurations, err error) {
	if err := c.exec(command); err != nil {
		return nil, err
	}
	text, err := c.text()
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(text) {
		if n, err := strconv.ParseFloat(strings.TrimSpace(line), 64); err == nil {
			times = append(times, time.Duration(n*float64(time.Second)))
		}
	}
	if len(times) == 0 {
		return nil, fmt.Errorf("%.60s: %w: %.300s", command, errAnswer, text)
	}
	return times, nil
}
