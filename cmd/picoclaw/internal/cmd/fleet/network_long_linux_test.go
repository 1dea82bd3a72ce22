//go:build long

package fleet_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// A network loses what is sent, one way or both, and nobody is told. It takes root to make such a network.
func TestANetworkThatLosesEverythingOneWay(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root makes networks")
	}
	p := &played{hub: clitest.NewHome(t), workers: map[string]*playedWorker{}}
	name := fmt.Sprint("pc", os.Getpid())
	ip := func(args ...string) error {
		out, err := exec.Command("ip", args...).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("ip %v: %w: %s", args, err, out)
		}
		return err
	}
	if err := ip("netns", "add", name); err != nil {
		t.Fatalf("no network can be made here: %v", err)
	}
	t.Cleanup(func() { _ = ip("netns", "del", name) })
	for _, args := range [][]string{
		{"link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name},
		{"addr", "add", "198.18.77.1/30", "dev", name}, {"link", "set", name, "up"},
		{"-n", name, "addr", "add", "198.18.77.2/30", "dev", "eth0"}, {"-n", name, "link", "set", "eth0", "up"},
		{"-n", name, "link", "set", "lo", "up"},
	} {
		if err := ip(args...); err != nil {
			t.Fatalf("no network can be made here: %v", err)
		}
	}
	_, port, _ := strings.Cut(freeAddress(t), ":")
	p.hub.StartPicoclaw(t, "serves at", "hub", "--listen", "0.0.0.0:"+port, "--name", "198.18.77.1")
	added := func(args ...string) string {
		file := filepath.Join(p.hub.Dir, args[1]+".fleet")
		if out, code := p.hub.Run(t, append([]string{"hub", "add", "--out", file}, args...)...); code != clitest.ExitOK {
			t.Fatal(out)
		}
		return file
	}
	there := clitest.NewHome(t)
	far := there.Command("ip", "netns", "exec", name, hosttest.ProgramPath("bin/picoclaw"), "worker",
		"--fleet", added("worker", "one", "--agent", "main"))
	clitest.StartCommand(t, far, "serves agent")
	standby, second := clitest.NewHome(t), added("worker", "two", "--agent", "main")
	p.look(t, added("gateway", "looking"))
	lose := map[string][2][]string{ // what has it lose everything, and no more
		"what is sent to it": {
			{"neigh", "replace", "198.18.77.2", "lladdr", "02:00:00:00:00:99", "dev", name, "nud", "permanent"},
			{"neigh", "del", "198.18.77.2", "dev", name}},
		"what it sends": {
			{"-n", name, "neigh", "replace", "198.18.77.1", "lladdr", "02:00:00:00:00:99", "dev", "eth0", "nud", "permanent"},
			{"-n", name, "neigh", "del", "198.18.77.1", "dev", "eth0"}},
		"both": {{"link", "set", name, "down"}, {"link", "set", name, "up"}},
	}
	for what, how := range lose {
		hosttest.WaitUntil(t, "the worker that is to be cut off has the agent", func() bool { return p.holder(t) == "one" })
		other := standby.StartPicoclaw(t, "", "worker", "--fleet", second)
		hosttest.WaitUntil(t, "another worker is there", func() bool {
			workers, _, err := p.looking.Status(t.Context())
			return err == nil && len(workers) == 2
		})
		t.Logf("lost is %s", what)
		if err := ip(how[0]...); err != nil {
			t.Fatal(err)
		}
		p.movesFrom(t, "one")
		if err := ip(how[1]...); err != nil {
			t.Fatal(err)
		}
		clitest.StopServer(t, other)
	}
}
