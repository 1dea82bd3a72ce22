package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sort"
	"strconv"
	"time"

	"github.com/picoclaw/picoclaw/host"
	"github.com/picoclaw/picoclaw/host/config"
)

func main() {
	rounds, _ := strconv.Atoi(os.Args[1])
	bins := os.Args[2:]
	dir := "/tmp/st/home/workspace"
	type side struct {
		name string
		f    func(pat string)
		t    []time.Duration
	}
	sides := []*side{{name: "rg", f: func(p string) {
		cmd := exec.Command("rg", "--no-config", "--no-require-git", "-n", "-e", p)
		cmd.Dir = dir
		out, _ := cmd.StdoutPipe()
		cmd.Start()
		io.Copy(io.Discard, out)
		cmd.Wait()
	}}}
	for _, bin := range bins {
		for _, iso := range []bool{true, false} {
			home := "/tmp/st/home"
			cfg, err := config.Load(config.Options{Environ: []string{"HOME=" + home, "PICOCLAW_HOME=" + home, fmt.Sprintf("PICOCLAW_ISOLATION_ENABLED=%t", iso), "PICOCLAW_AGENTS_DEFAULTS_WORKSPACE="+dir}})
			if err != nil {
				panic(err)
			}
			h, err := host.Open(host.Options{Config: cfg, PluginDir: bin + "/plugins"})
			if err != nil {
				panic(err)
			}
			defer h.Close(context.Background())
			s, err := h.Session("", host.CLI)
			if err != nil {
				panic(err)
			}
			if s.Policy().Workspace() != dir {
				panic(s.Policy().Workspace())
			}
			sides = append(sides, &side{name: fmt.Sprintf("%s iso=%t", bin, iso), f: func(p string) {
				a, _ := json.Marshal(map[string]any{"pattern": p})
				if r := s.Call(context.Background(), "grep", a, nil); r.Err != nil {
					panic(r.Err)
				}
			}})
		}
	}
	for _, pat := range []string{"NEEDLE_TOKEN", "FIRST_ONE|NEEDLE_TOKEN|LAST_ONE", "(?i)needle_token", `\bz\w{4}\s+q\w{6}\b`} {
		for _, s := range sides {
			s.t = nil
		}
		for i := range rounds + 1 {
			for _, s := range sides {
				b := time.Now()
				s.f(pat)
				if i > 0 {
					s.t = append(s.t, time.Since(b))
				}
			}
		}
		var base []float64
		fmt.Println(pat)
		for _, s := range sides {
			sort.Slice(s.t, func(a, b int) bool { return s.t[a] < s.t[b] })
			v := []float64{}
			for _, q := range []int{0, len(s.t) / 4, len(s.t) / 2} {
				v = append(v, float64(s.t[q].Microseconds())/1000)
			}
			if base == nil {
				base = v
			}
			fmt.Printf("  %-28s min %6.1f p25 %6.1f p50 %6.1f  ratios %.2f %.2f %.2f\n", s.name, v[0], v[1], v[2], v[0]/base[0], v[1]/base[1], v[2]/base[2])
		}
	}
}
