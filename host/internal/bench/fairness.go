package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/session"
)

// measureFairness is what seven agents that work notice of one that takes what it can get: loops, much output, searches
// through much, and sixty calls of them at a time. Spells with it and without take turns, so that both meet the same
// weather.
func measureFairness(bin string) error {
	const spells, spell = 8, 4 * time.Second
	return withHome(func(home string) error {
		h, err := newHostOf(bin, home, append(names("worker", 7), "greedy"))
		if err != nil {
			return err
		}
		defer func() { _ = h.Close(context.Background()) }()
		greedy, err := h.Session("greedy", session.MCP)
		if err != nil {
			return err
		}
		if err := fill(greedy.Policy().Workspace(), 2000, 100<<10); err != nil {
			return err
		}
		var workers []*worker
		for _, name := range names("worker", 7) {
			s, err := h.Session(name, session.MCP)
			if err != nil {
				return err
			}
			if err := fill(s.Policy().Workspace(), 50, 4<<10); err != nil {
				return err
			}
			workers = append(workers, &worker{session: s})
		}
		if err := work(workers, spell, taken{}); err != nil { // warms up
			return err
		}
		alone, beside := make(taken), make(taken)
		var ratios, unwritten sample // in thousandths
		for range spells {
			without, with := make(taken), make(taken)
			if err := work(workers, spell, without); err != nil {
				return err
			}
			stop := abuse(greedy)
			time.Sleep(time.Second)
			err := work(workers, spell, with)
			stop()
			if err != nil {
				return err
			}
			time.Sleep(2 * time.Second) // until what it has left is cleared away
			ratios = append(ratios, 1000*with.all().at(0.99)/without.all().at(0.99))
			alone.add(without)
			beside.add(with)
			delete(with, "write_file")
			delete(without, "write_file")
			unwritten = append(unwritten, 1000*with.all().at(0.99)/without.all().at(0.99))
		}
		fmt.Println("seven agents that work, beside one that takes what it can get")
		for _, tool := range slices.Sorted(maps.Keys(alone)) {
			fmt.Printf("  %-10s alone  %v\n             beside %v\n", tool, alone[tool], beside[tool])
		}
		fmt.Printf("  all        alone  %v\n             beside %v\n", alone.all(), beside.all())
		fmt.Printf("  the p99 of a spell beside it is %.2f times that of the one before (median; at most 2)\n",
			float64(ratios.p50())/1000)
		fmt.Printf("  but for write_file, which waits for the disk, it is %.2f times\n", float64(unwritten.p50())/1000)
		return nil
	})
}

// works are what an agent does that works.
var works = []struct{ tool, arguments string }{
	{"read_file", `{"path":"f0"}`}, {"grep", `{"pattern":"needle [0-9]+"}`}, {"exec", `{"command":"wc -l f1"}`},
	{"write_file", `{"path":"out","content":"x"}`}, {"exec", `{"command":"ls | sort | head -3"}`},
}

// pause is how long an agent that works thinks between its calls, at most.
const pause = 100 * time.Millisecond

type worker struct{ session *session.Session }

// taken is what calls took, by tool.
type taken map[string]sample

func (t taken) add(other taken) {
	for tool, s := range other {
		t[tool] = append(t[tool], s...)
	}
}

func (t taken) all() (s sample) {
	for _, of := range t {
		s = append(s, of...)
	}
	return s
}

// work has agents work for a while.
func work(workers []*worker, long time.Duration, into taken) error {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failed error
	until := time.Now().Add(long)
	for _, w := range workers {
		wg.Go(func() {
			for n := rand.N(len(works)); time.Now().Before(until); n++ {
				c := works[n%len(works)]
				var once sample
				err := once.timed(func() error { return call(w.session, c.tool, c.arguments) })
				mu.Lock()
				into[c.tool] = append(into[c.tool], once...)
				failed = errors.Join(failed, err)
				mu.Unlock()
				if err != nil {
					return
				}
				time.Sleep(rand.N(pause))
			}
		})
	}
	wg.Wait()
	return failed
}

// abuse has an agent take what it can get until stop is called. What its calls are answered with is nobody's business.
func abuse(s *session.Session) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for n := range 60 {
		c := []struct{ tool, arguments string }{
			{"exec", `{"command":"while :; do :; done","timeout":5}`},
			{"exec", `{"command":"head -c 200000000 /dev/zero"}`},
			{"grep", `{"pattern":"(a|b)*x[0-9]+y"}`},
		}[n%3]
		wg.Go(func() {
			for ctx.Err() == nil {
				within, end := context.WithTimeout(ctx, 5*time.Second)
				s.Call(within, c.tool, json.RawMessage(c.arguments), func(session.Event) {})
				end()
			}
		})
	}
	return func() { cancel(); wg.Wait() }
}

func names(prefix string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("%s%d", prefix, i+1))
	}
	return all
}

// configure writes a configuration with agents to a home.
func configure(home string, agents []string) error {
	var list []map[string]any
	for _, id := range agents {
		list = append(list, map[string]any{"id": id})
	}
	text, err := json.Marshal(map[string]any{"isolation": map[string]any{"enabled": true},
		"agents": map[string]any{"agents": list}})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(home, "config.json"), text, 0o600)
}

// newHostOf makes a host with agents.
func newHostOf(bin, home string, agents []string) (*session.Host, error) {
	if err := configure(home, agents); err != nil {
		return nil, err
	}
	cfg, err := config.Load(config.Options{Environ: []string{"HOME=" + home, "PICOCLAW_HOME=" + home}})
	if err != nil {
		return nil, err
	}
	return session.Open(session.Options{Config: cfg, PluginDir: filepath.Join(bin, "plugins")})
}

// fill makes files of a size in a directory.
func fill(dir string, files, size int) error {
	line := "some text that has no needle in it, and goes on and on abababababababababab\n"
	text := []byte(strings.Repeat(line, size/len(line)+1))
	for n := range files {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d", n)), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}
