package isolation

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// served answers everything that comes to the listeners with where it came to.
type served struct {
	mu  sync.Mutex
	all []NetworkListeners
}

func (s *served) serve(l NetworkListeners) func() {
	s.mu.Lock()
	s.all = append(s.all, l)
	s.mu.Unlock()
	for _, one := range append([]net.Listener{l.Proxy}, l.Ports...) {
		go func() {
			for {
				conn, err := one.Accept()
				if err != nil {
					return
				}
				_, _ = fmt.Fprint(conn, conn.LocalAddr())
				_ = conn.Close()
			}
		}()
	}
	go func() {
		packet := make([]byte, 512)
		for {
			n, from, err := l.Names.ReadFrom(packet)
			if err != nil {
				return
			}
			_, _ = l.Names.WriteTo(append([]byte("asked "), packet[:n]...), from)
		}
	}()
	return func() {}
}

const dialAll = `import socket
for a in (('127.0.0.1', 3128), ('11.1.2.3', 443), ('127.0.0.1', 80), ('192.0.2.1', 443)):
    s = socket.create_connection(a, 10); print(s.recv(100).decode()); s.close()
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.settimeout(10)
u.sendto(b'who', ('127.0.0.1', 53)); print(u.recv(100).decode())
`

// What a sandbox with a network of its own connects to is accepted here, on any address of its machine, and nothing
// else is there.
func TestProxiedNetworkReachesHostOnly(t *testing.T) {
	i := configured(t, Config{Enabled: true})
	outside, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = outside.Close() }()
	_, port, _ := net.SplitHostPort(outside.Addr().String())
	s := &served{}
	p := Profile{Name: "test", Exec: true, Confine: true, Proxied: &ProxiedNetwork{Ports: []uint16{80, 443}, Serve: s.serve}}
	r := outcome(t, i, shell("python3 -c \""+dialAll+"\"; cat /etc/resolv.conf"), p)
	want := "127.0.0.1:3128\n11.1.2.3:443\n127.0.0.1:80\n192.0.2.1:443\nasked who\nnameserver 127.0.0.1\n"
	if r.stdout != want {
		t.Errorf("%v %q %s", r.exit, r.stdout, r.stderr)
	}
	for _, way := range []string{
		"python3 -c \"import socket; socket.create_connection(('127.0.0.1', " + port + "), 5)\"",
		"python3 -c \"import socket; socket.create_connection(('192.0.2.1', 444), 5)\"",
		"python3 -c \"import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b'x', ('192.0.2.1', 53))\"",
		"python3 -c \"import socket; socket.create_connection(('::1', " + port + "), 5)\"",
		"python3 -c \"import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)\"",
		"python3 -c \"import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)\"",
		"python3 -c \"import socket; s = socket.socket(); s.bind(('127.0.0.1', 81))\"",
		"ip link set lo down || ifconfig lo down || python3 -c \"import socket, fcntl; " +
			"fcntl.ioctl(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0x8914, b'lo' + bytes(30))\"",
	} {
		if r := outcome(t, i, shell(way), p); r.exit.Success() {
			t.Errorf("%s: %q", way, r.stdout)
		}
	}
	for _, l := range s.all { // closed with their sandboxes
		if _, err := l.Proxy.Accept(); err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("a listener is left: %v", err)
		}
	}
}

// Two sandboxes do not meet in their networks, nor in abstract sockets.
func TestProxiedNetworksAreSeparate(t *testing.T) {
	i := configured(t, Config{Enabled: true})
	s := &served{}
	p := Profile{Name: "test", Exec: true, Confine: true, Proxied: &ProxiedNetwork{Serve: s.serve}}
	out, stdout := pipe(t)
	in, stdin := pipe(t)
	cmd := shell(`python3 -c "import socket, sys; s = socket.socket(); s.bind(('127.0.0.1', 5000)); s.listen(); ` +
		`a = socket.socket(socket.AF_UNIX); a.bind('\0meet'); a.listen(); print('up', flush=True); sys.stdin.read()"`)
	cmd.Stdin, cmd.Stdout = in, stdout
	proc, err := i.Start(cmd, p)
	stdout.Close()
	in.Close()
	if err != nil {
		t.Fatal(err)
	}
	up := make([]byte, 3)
	if _, err := io.ReadFull(out, up); err != nil {
		t.Fatal(err)
	}
	for _, way := range []string{
		`python3 -c "import socket; socket.create_connection(('127.0.0.1', 5000), 5)"`,
		`python3 -c "import socket; socket.socket(socket.AF_UNIX).connect('\0meet')"`,
	} {
		if r := outcome(t, i, shell(way), p); r.exit.Success() {
			t.Errorf("%s reached the other sandbox", way)
		}
	}
	stdin.Close()
	<-proc.Done()
}

// Without a sandbox nobody is kept to such a network, so nothing is started.
func TestProxiedNetworkRequiresSandbox(t *testing.T) {
	i := configured(t, Config{})
	_, err := i.Start(child(), Profile{Name: "test", Proxied: &ProxiedNetwork{}})
	if err == nil || !strings.Contains(err.Error(), "isolation.enabled") {
		t.Errorf("%v", err)
	}
}
