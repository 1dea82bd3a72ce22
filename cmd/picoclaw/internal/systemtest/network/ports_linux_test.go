package network_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// echoServer answers each connection with the bytes that it received, once the client has sent all.
const echoServer = `
import socket, sys, threading
def serve(c):
    data = bytearray()
    while b := c.recv(65536): data += b
    c.sendall(data); c.close()
def listen(family, address, port):
    s = socket.socket(family, socket.SOCK_STREAM); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((address, port)); s.listen(200)
    while True: threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
threads = [threading.Thread(target=listen, args=(socket.AF_INET6 if ":" in a else socket.AF_INET, a, int(p)))
    for a, p in (x.split("/") for x in sys.argv[1:])]
for t in threads: t.start()
for t in threads: t.join()
`

// freePort returns a port that nothing listens at.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return portAt(l.Addr())
}

// checkEcho sends bytes to a port of this machine, and fails unless they come back.
func checkEcho(port string, data []byte) error {
	c, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	go func() {
		_, _ = c.Write(data)
		_ = c.(*net.TCPConn).CloseWrite()
	}()
	got, err := io.ReadAll(c)
	if err == nil && !bytes.Equal(got, data) {
		err = fmt.Errorf("%d bytes come back as %d", len(data), len(got))
	}
	return err
}

// This machine reaches servers of background commands at the ports in network.ports, with a list of hosts and without, also
// servers on one address family, many clients at once, and one after the other. Another program's port is reported, and
// used when it is free.
func TestPublishedPorts(t *testing.T) {
	t.Parallel()
	for name, list := range map[string]string{"list": `"allow": ["web.test"], `, "no list": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			taken, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = taken.Close() }()
			four, six, late := freePort(t), freePort(t), portAt(taken.Addr())
			a := clitest.NewAgent(t, true)
			config := fmt.Sprintf(`{"network": {%s"ports": [%s, %s, %s]}}`, list, four, six, late)
			if err := os.WriteFile(filepath.Join(a.Home, "config.json"), []byte(config), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(a.Workspace, "echo.py"), []byte(echoServer), 0o644); err != nil {
				t.Fatal(err)
			}
			call := a.StartBatch()
			said := call(clitest.NewExecCall("echo hello"))
			if want := "[network: can't listen at 127.0.0.1:" + late + " of this machine: "; list != "" && !strings.Contains(said.FullText(), want) {
				said = call(clitest.NewExecCall("sleep 1")) // the first call may end before the host has tried
				if !strings.Contains(said.FullText(), want) {
					t.Errorf("no %q in %s", want, said.FullText())
				}
			}
			_ = taken.Close()
			addresses := "127.0.0.1/" + four + " 127.0.0.1/" + late
			if list != "" {
				addresses += " ::1/" + six
			}
			started := call(clitest.ToolCall{Tool: "exec", Args: map[string]any{
				"command": "/usr/bin/python3 echo.py " + addresses, "background": true}})
			for _, port := range []string{four, late, six} {
				if port == six && list == "" {
					continue
				}
				hosttest.WaitUntil(t, "the server answers: "+started.FullText(), func() bool { return checkEcho(port, []byte("hello")) == nil })
			}
			logged, err := os.ReadFile(filepath.Join(a.Home, "logs", "audit.jsonl"))
			if err != nil || strings.Contains(string(logged), `"listen":"127.0.0.1:`+four+`"`) != (list != "") {
				t.Errorf("the audit log has %s (%v)", logged, err)
			}
			var clients sync.WaitGroup
			for i := range 150 {
				clients.Go(func() {
					if err := checkEcho(four, bytes.Repeat([]byte{byte(i)}, 100_000)); err != nil {
						t.Error(err)
					}
				})
			}
			clients.Wait()
			for i := range 200 {
				if err := checkEcho(four, fmt.Appendf(nil, "%d", i)); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
