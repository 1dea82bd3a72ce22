package isolation

import (
	"runtime"
	"strings"
	"testing"
)

// withoutFilter is what builds a wall that is not there.
func withoutFilter(filterOptions) syscallFilter { return nil }

// callsIn runs every attempt in a child and returns how each ended.
func callsIn(t *testing.T, i *Starter, p Profile) map[string]string {
	t.Helper()
	r := outcome(t, i, child("calls"), p)
	if !r.exit.Success() {
		t.Fatalf("%v: %s", r.exit, r.stderr)
	}
	ends := map[string]string{}
	for line := range strings.Lines(r.stdout) {
		name, end, _ := strings.Cut(strings.TrimSpace(line), ": ")
		ends[name] = end
	}
	if len(ends) < 25 {
		t.Fatalf("only %d attempts were made: %s", len(ends), r.stdout)
	}
	return ends
}

// Doors into the kernel are shut, in a sandbox and without one, also for arguments that only look different. Without
// the filter each of the calls gets through to the kernel, which does it or finds another fault with it.
func TestFilterDeniesDangerousCalls(t *testing.T) {
	if auditArch == 0 {
		t.Skip("this architecture has no filter")
	}
	for name, enabled := range modes {
		t.Run(name, func(t *testing.T) {
			i := configured(t, Config{Enabled: enabled})
			p := Profile{Name: "calls", Exec: true, Network: true, Confine: true, Terminals: true}
			held := callsIn(t, i, p)
			i.starter.filter = withoutFilter
			free := callsIn(t, i, p)
			for attempt, end := range held {
				want := "EPERM"
				switch {
				case strings.HasPrefix(attempt, "socket"):
					want = "EAFNOSUPPORT"
				case attempt == "clone3":
					want = "ENOSYS"
				}
				if end != want {
					t.Errorf("%s: %s, want %s", attempt, end, want)
				}
				if free[attempt] == want {
					t.Errorf("%s: without the filter it is %s as well, so nothing is shown", attempt, want)
				}
			}
		})
	}
}

// A child that may not start programs can't even start a second process.
func TestNoProcessesWithoutExec(t *testing.T) {
	i := configured(t, Config{Enabled: true})
	if r := outcome(t, i, child("again"), Profile{}); r.exit.Success() || !strings.Contains(r.stderr,
		"operation not permitted") {
		t.Errorf("%v: %s", r.exit, r.stderr)
	}
	i.starter.filter = withoutFilter
	if r := outcome(t, i, child("again"), Profile{}); !r.exit.Success() {
		t.Errorf("it fails without the filter, too: %s", r.stderr)
	}
}

// A program cannot get around the filter by the numbers of another architecture.
func TestFilterRefusesForeignArchitectures(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("this architecture has no second set of calls")
	}
	for name, enabled := range modes {
		t.Run(name, func(t *testing.T) {
			i := configured(t, Config{Enabled: enabled})
			p := Profile{Name: "foreign", Exec: true, Confine: true}
			if r := outcome(t, i, child("foreign", "x32"), p); r.stdout != "ENOSYS\n" {
				t.Errorf("x32: %s%s", r.stdout, r.stderr)
			}
			if r := outcome(t, i, child("foreign", "i386"), p); r.exit.Success() || strings.Contains(r.stdout, "process") {
				t.Errorf("int 0x80: %v %s", r.exit, r.stdout)
			}
			if err := child("foreign", "i386").Run(); err != nil {
				t.Skipf("this kernel has no int 0x80, so the filter can't be told from it: %v", err)
			}
			i.starter.filter = withoutFilter
			if r := outcome(t, i, child("foreign", "i386"), p); !strings.Contains(r.stdout, "process") {
				t.Errorf("int 0x80 fails without the filter, too: %v %s", r.exit, r.stderr)
			}
		})
	}
}

// Landlock knows nothing of UDP. Without a sandbox it is the filter that keeps a child without the network from it.
func TestNoDatagramsWithoutNetwork(t *testing.T) {
	i := configured(t, Config{})
	send := func(network bool) result {
		cmd := shell("echo x > /dev/udp/127.0.0.1/9")
		cmd.Path, cmd.Args[0] = "/bin/bash", "bash"
		return outcome(t, i, cmd, Profile{Exec: true, Confine: true, Network: network})
	}
	if r := send(false); r.exit.Success() {
		t.Error("it is sent")
	}
	if r := send(true); !r.exit.Success() {
		t.Errorf("with the network it is not sent: %s", r.stderr)
	}
	i.starter.filter = withoutFilter
	if r := send(false); !r.exit.Success() {
		t.Errorf("without the filter it is not sent, too: %s", r.stderr)
	}
}
