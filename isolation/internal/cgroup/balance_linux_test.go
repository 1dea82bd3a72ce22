package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A group that takes much of the processors gives way, and no other; once it is modest it does not any more.
func TestGreedyGroupsGiveWay(t *testing.T) {
	p := opened(t)
	if p == nil || p.bounds[Processor] == nil {
		t.Skip("nobody keeps the processors' weights here")
	}
	idle := func(g *Group) string { return strings.Join(words(filepath.Join(g.processor.dir, "cpu.idle")), "") }
	var groups []*Group
	var shells []*held
	for range 2 {
		g, err := p.New("balance", Limits{Weight: 50})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(g.Remove)
		sh := hold(t, nil)
		if err := g.Take(sh.pids); err != nil {
			t.Fatal(err)
		}
		groups, shells = append(groups, g), append(shells, sh)
	}
	if _, err := os.Stat(filepath.Join(groups[0].processor.dir, "cpu.idle")); errors.Is(err, fs.ErrNotExist) {
		t.Skip("this kernel's groups can't give way")
	}
	shells[0].do(t, "while :; do :; done & echo $!")
	waitFor(t, "the busy one gives way", func() bool { p.Balance(); return idle(groups[0]) == "1" })
	if idle(groups[1]) != "0" {
		t.Error("one that does nothing gives way")
	}
	shells[0].do(t, "kill $!; wait $!; echo")
	waitFor(t, "the modest one gives way no more", func() bool { p.Balance(); return idle(groups[0]) == "0" })
}

// This process is one among its groups, in the place that was opened last, and goes back where it came from.
func TestPlacesOfOneProcess(t *testing.T) {
	first := opened(t)
	if first == nil || first.bounds[Processor] == nil || first.bounds[Processor].version != 1 {
		t.Skip("version 1 does not keep the processors' weights here")
	}
	in := func(p *Place) bool {
		return slices.Contains(processes(filepath.Join(p.bounds[Processor].base.dir, leaf)), os.Getpid())
	}
	second := opened(t)
	if !in(second) || in(first) {
		t.Error("this process is not in the second place")
	}
	if at, want := second.bounds[Processor].own, first.bounds[Processor].own; at != want {
		t.Errorf("the second place is in %s, and not beside the first in %s", at, want)
	}
	besides := hold(t, nil)
	second.Close()
	if said := besides.do(t, "echo lives"); said != "lives" {
		t.Errorf("what this process has started besides said %q", said)
	}
	if !in(first) {
		t.Error("this process has not come back to the first place")
	}
	third := opened(t)
	first.Close()
	if !in(third) {
		t.Error("the end of a place took this process out of another")
	}
	if _, err := os.Stat(first.bounds[Processor].base.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the first place is still there: %v", err)
	}
}
