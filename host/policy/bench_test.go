package policy

import (
	"testing"

	"github.com/picoclaw/picoclaw/host/config"
)

// BenchmarkFor measures what the host pays for one agent at every start, besides loading the configuration.
func BenchmarkFor(b *testing.B) {
	cfg, err := config.Load(config.Options{Environ: []string{"PICOCLAW_HOME=" + b.TempDir(),
		"PICOCLAW_TOOLS_ALLOW_READ_PATHS=^/etc/hosts$,^/proc/.*,^/sys/class/net/[^/]+/address$"}})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		p, err := For(cfg, "")
		if err != nil {
			b.Fatal(err)
		}
		if k := p.KernelPaths(); len(k.ReadOnly) != 3 {
			b.Fatalf("the kernel opens %v", k.ReadOnly)
		}
	}
}
