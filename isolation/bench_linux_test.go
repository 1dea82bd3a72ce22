package isolation

import (
	"os/exec"
	"testing"
)

// What a start costs, from the command to its end: plain, with each wall more, and bubblewrap by itself.
func BenchmarkStart(b *testing.B) {
	work := realTemp(b)
	p := Profile{Name: "bench", ReadWrite: []string{work}}
	for _, c := range []struct {
		name    string
		enabled bool
		change  func(*Profile)
		without func(*platform)
	}{
		{"plain", false, func(*Profile) {}, nil},
		{"confined", false, func(p *Profile) { p.Confine = true }, nil},
		{"confined, without filter", false, func(p *Profile) { p.Confine = true },
			func(pl *platform) { pl.filter = withoutFilter }},
		{"sandbox, view alone", true, func(*Profile) {}, func(pl *platform) { pl.filter = withoutFilter }},
		{"sandbox, with filter", true, func(*Profile) {}, nil},
		{"sandbox, with filter and Landlock", true, func(p *Profile) { p.Confine = true }, nil},
		{"the same for programs", true, func(p *Profile) { p.Confine, p.Exec = true, true }, nil},
	} {
		b.Run(c.name, func(b *testing.B) {
			i := configured(b, Config{Enabled: c.enabled})
			if c.without != nil {
				c.without(i.platform)
			}
			p := p
			c.change(&p)
			for b.Loop() {
				if err := i.Run(b.Context(), child("exit", "0"), p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("bubblewrap by itself", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/usr/bin/bwrap", "--unshare-all", "--ro-bind", "/", "/", "--", child().Path, "exit",
				"0").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
