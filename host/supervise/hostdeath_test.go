//go:build linux

package supervise

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// playHost is what this test binary does when it is started as a host: it starts a plugin that has a grandchild,
// writes the process ids, and waits to be killed.
func playHost(home string) {
	s, _, err := newSupervisor(home, os.Getenv("SUPERVISE_TEST_ISOLATED") != "")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	var m pluginpb.Manifest
	if err := json.Unmarshal([]byte(os.Getenv("SUPERVISE_TEST_MANIFEST")), &m); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	out, err := s.Call(context.Background(), spec(&m), &pluginpb.CallRequest{Tool: "grandchild", Arguments: []byte("{}")},
		CallCallbacks{})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("started", s.RunningPIDs()["tester"][0], out.GetText())
	select {}
}

func TestKilledHostLeavesNothing(t *testing.T) {
	for name, isolated := range modes {
		t.Run(name, func(t *testing.T) {
			home := hosttest.TempDir(t)
			data, err := json.Marshal(manifest(t))
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = append(os.Environ(), "SUPERVISE_TEST_HOST="+home, "SUPERVISE_TEST_MANIFEST="+string(data))
			if isolated {
				cmd.Env = append(cmd.Env, "SUPERVISE_TEST_ISOLATED=1")
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil || !strings.HasPrefix(line, "started ") {
				t.Fatalf("the host said %q (%v)", line, err)
			}
			before := sleepers(t, home)
			if len(before) < 2 {
				t.Fatalf("expected a plugin and its grandchild below the host, found %v", before)
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			hosttest.WaitUntil(t, "all processes of the killed host are gone", func() bool {
				for _, pid := range before {
					if hosttest.IsProcessAlive(pid) {
						return false
					}
				}
				return true
			})
			if sockets, _ := filepath.Glob(filepath.Join(home, "run", "h*")); len(sockets) != 1 {
				t.Fatalf("expected the dead host's socket directory, found %v", sockets)
			}
			next := newFixtureAt(t, home, isolated)
			next.call(next.spec(), "pid", nil)
			if sockets, _ := filepath.Glob(filepath.Join(home, "run", "h*")); len(sockets) != 1 {
				t.Errorf("the next host did not sweep: %v", sockets)
			}
		})
	}
}

// sleepers lists all descendants of this process but itself.
func sleepers(t *testing.T, _ string) []int {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		parents := map[int]int{}
		entries, err := os.ReadDir("/proc")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			pid, err := strconv.Atoi(e.Name())
			if err != nil {
				continue
			}
			stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
			if err != nil || strings.Contains(string(stat), "(again.test)") { // the unprivileged run, at the same time
				continue
			}
			_, rest, _ := strings.Cut(string(stat), ") ")
			fields := strings.Fields(rest)
			if len(fields) > 1 && fields[0] != "Z" {
				parents[pid], _ = strconv.Atoi(fields[1])
			}
		}
		var found []int
		for pid := range parents {
			at := pid
			for parents[at] > 1 && at != os.Getpid() {
				at = parents[at]
			}
			if at == os.Getpid() && pid != at {
				found = append(found, pid)
			}
		}
		if len(found) >= 3 || time.Now().After(deadline) { // host, plugin, grandchild
			return found
		}
		time.Sleep(5 * time.Millisecond)
	}
}
