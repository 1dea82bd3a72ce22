//go:build long

package fleet_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// nextVersion is what picoclaw's next version calls itself, and nextProgram is it: the messages of its fleets have the
// next version and a field that is not known here.
const (
	nextVersion = "v-next"
	nextProgram = "bin/picoclaw-next"
)

func init() { prepare = next }

// next builds it, from these sources with another host/fleet/message.go.
func next(dir string) error {
	root, err := clitest.ModuleRoot()
	if err != nil {
		return err
	}
	file := filepath.Join(root, "host", "fleet", "message.go")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for old, now := range map[string]string{
		"\tversion = 1\n":                     "\tversion = 2\n",
		"\tV     int `json:\"v\"`\n":          "\tV     int `json:\"v\"`\n\tZone string `json:\"zone\"`\n",
		"envelope{V: version, Needs: oldest}": "envelope{V: version, Needs: oldest, Zone: \"next\"}",
	} {
		if !bytes.Contains(text, []byte(old)) {
			return fmt.Errorf("%s has no %q: the next version can't be made of it", file, old)
		}
		text = bytes.Replace(text, []byte(old), []byte(now), 1)
	}
	other, overlay := filepath.Join(dir, "message.go"), filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{file: other}})
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{other: text, overlay: list} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			return err
		}
	}
	build := exec.Command("go", "build", "-overlay", overlay, "-ldflags", "-s -w -X main.version="+nextVersion,
		"-o", filepath.Join(dir, nextProgram), "github.com/picoclaw/picoclaw/cmd/picoclaw")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the next version: %w\n%s", err, out)
	}
	return nil
}

// A fleet is upgraded one program after the other while calls are made, in the order that its operator likes, and one
// worker goes back: no call is made twice, and each that was answered was made.
func TestAFleetIsUpgradedOneByOne(t *testing.T) {
	t.Parallel()
	p := play(t)
	for i := range 8 {
		p.callers.Go(func() { p.keepWriting(fmt.Sprint("c", i)) })
	}
	ended := sync.OnceFunc(func() { close(p.over); p.callers.Wait() })
	defer ended()
	p.madeSince(t)
	first := p.holder(t)
	second := map[string]string{"one": "two", "two": "one"}[first]
	worker := func(name, program, version string) {
		w := p.workers[name]
		clitest.StopServer(t, w.cmd)
		w.Program = hosttest.ProgramPath(program)
		p.startWorker(t, name, "")
		hosttest.WaitUntil(t, name+" is there as "+version, func() bool {
			workers, _, err := p.looking.Status(t.Context())
			for _, one := range workers {
				if one.Worker == name && (one.Version == nextVersion) == (version == nextVersion) {
					return err == nil
				}
			}
			return false
		})
	}
	for _, step := range []struct {
		what string
		play func()
	}{
		{"the worker that has no agent", func() { worker(second, nextProgram, nextVersion) }},
		{"the other worker, whose agent the first one takes", func() { worker(first, nextProgram, nextVersion) }},
		{"the hub", func() {
			clitest.StopServer(t, p.server)
			p.hub.Program = hosttest.ProgramPath(nextProgram)
			p.startHub(t)
		}},
		{"a worker goes back", func() { worker(p.holder(t), "bin/picoclaw", "") }},
		{"the gateway", func() {
			clitest.StopServer(t, p.door)
			p.front.Program = hosttest.ProgramPath(nextProgram)
			p.startDoor(t)
		}},
		{"the worker that went back, and has the agent again", func() {
			worker(p.holder(t), "bin/picoclaw", "")
			worker(p.holder(t), nextProgram, nextVersion)
		}},
	} {
		t.Log(step.what)
		step.play()
		p.madeSince(t)
	}
	ended()
	p.check(t)
}
