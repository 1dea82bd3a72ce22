package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkLoad measures what the host pays at every start: load, and resolve one agent.
func BenchmarkLoad(b *testing.B) {
	typical := `// What an operator writes.
{
  "agents": {"defaults": {"workspace": "~/work", "restrict_to_workspace": true},
    "agents": [` + strings.TrimSuffix(strings.Repeat(`{"id": "agent-%d", "tools": {"disabled": ["write_file", "exec"]}},`, 10), ",") + `]},
  "tools": {"allow_read_paths": ["^/etc/hosts$", "^/proc/(cpuinfo|meminfo)$", "^/sys/class/net/[^/]+/address$"],
    "exec": {"custom_deny_patterns": ["\\bcurl\\b.*--upload-file"], "custom_allow_patterns": ["^git\\s+push\\s+origin\\s+(main|develop)$"]}},
  "isolation": {"enabled": true, "expose_paths": [{"source": "/opt/go", "target": "/opt/go", "mode": "ro"}]},
` + strings.Repeat("  // a comment of some length, as people leave behind in their files\n", 12) + `}`
	typical = numbered(typical)
	many := numbered(`{"agents": {"agents": [` +
		strings.TrimSuffix(strings.Repeat(`{"id": "agent-%d", "plugins": {"enabled": ["a", "b", "c"]}},`, 200), ",") + `]}}`)
	for _, bench := range []struct{ name, file, text string }{
		{"defaults", "", ""},
		{fmt.Sprintf("json_%d_bytes", len(typical)), "config.json", typical},
		{"200_agents", "config.json", many},
	} {
		b.Run(bench.name, func(b *testing.B) {
			home := b.TempDir()
			if bench.file != "" {
				if err := os.WriteFile(filepath.Join(home, bench.file), []byte(bench.text), 0o600); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				c, err := Load(LoadOptions{Environ: []string{"HOME=/home/user", "PICOCLAW_HOME=" + home}})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := c.ResolveAgent(""); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// numbered replaces each %d by the next number.
func numbered(text string) string {
	for i := 0; strings.Contains(text, "%d"); i++ {
		text = strings.Replace(text, "%d", fmt.Sprint(i), 1)
	}
	return text
}
