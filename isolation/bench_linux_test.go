package isolation

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/internal/measure"
)

// BenchmarkSandbox runs a plugin that describes itself, from its start to its end: plain, with one layer more at a
// time, and by bubblewrap with as few arguments as possible.
func BenchmarkSandbox(b *testing.B) {
	work := realTemp(b)
	program := filepath.Join(realTemp(b), "filesystem")
	if err := hosttest.BuildProgram(program, "../plugins/filesystem"); err != nil {
		b.Fatal(err)
	}
	describe := func() *exec.Cmd { return exec.Command(program, "describe") }
	in := func(name string, enabled, filtered bool, p Profile) measure.BenchCase {
		p.Name, p.ReadWrite = "bench", []string{work}
		i := configured(b, Config{Enabled: enabled})
		if !filtered {
			i.starter.filter = withoutFilter
		}
		return measure.BenchCase{Name: name, Run: func() error { return i.Run(b.Context(), describe(), p) }}
	}
	t := measure.RunInTurns(b,
		measure.BenchCase{Name: "plain", Run: func() error { return describe().Run() }},
		measure.BenchCase{Name: "bubblewrap", Run: func() error {
			return exec.Command("bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", program, program, "--", program,
				"describe").Run()
		}},
		in("landlock", false, false, Profile{Confine: true}),
		in("landlock_seccomp", false, true, Profile{Confine: true}),
		in("sandbox_mounts", true, false, Profile{}),
		in("sandbox_seccomp", true, true, Profile{}),
		in("sandbox", true, true, Profile{Confine: true}),
		in("sandbox_exec", true, true, Profile{Confine: true, Exec: true}),
	)
	plain, bubblewrap, seccomp, sandbox := t[0].Median(), t[1].Median(), t[5].Median(), t[6].Median()
	b.ReportMetric(sandbox-plain, "cost-ms<=6")
	b.ReportMetric(sandbox-bubblewrap, "over_bubblewrap_cost-ms")
	b.ReportMetric(bubblewrap-plain, "bubblewrap_cost-ms")
	b.ReportMetric(sandbox-seccomp, "landlock_cost-ms")
}

// BenchmarkNetwork starts a sandbox with a network by name, and one with the host's network.
func BenchmarkNetwork(b *testing.B) {
	i := configured(b, Config{Enabled: true})
	run := func(p Profile) func() error {
		return func() error { return i.Run(b.Context(), exec.Command("/bin/true"), p) }
	}
	open := Profile{Name: "bench", Exec: true, Confine: true, Network: true}
	named := open
	serve := func(NetworkListeners) func() { return func() {} }
	named.Network, named.Proxied = false, &ProxiedNetwork{Ports: []uint16{80, 443}, Serve: serve}
	t := measure.RunInTurns(b,
		measure.BenchCase{Name: "start_by_name", Run: run(named)},
		measure.BenchCase{Name: "start_host_network", Run: run(open)})
	b.ReportMetric(t[0].Median()-t[1].Median(), "start_cost-ms<=3")
}
