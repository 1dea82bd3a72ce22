package run_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/hosts"
	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/internal/proctable"
	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/isolation/selftest"
)

// attackTargets returns the argument of the attack suite: a directory, a process and servers outside the sandbox. The
// directory is left open for programs that the test starts.
func (p *project) attackTargets() (text string, dir *os.File) {
	t := p.t
	t.Helper()
	outside := filepath.Join(filepath.Dir(p.dir), "outside")
	err := errors.Join(os.Mkdir(outside, 0o700), os.WriteFile(filepath.Join(outside, "canary"), []byte("canary"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	abstract, err := net.Listen("unix", fmt.Sprintf("@picoclaw-%s-%d", t.Name(), os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	if dir, err = os.Open(outside); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _, _ = tcp.Close(), abstract.Close(), dir.Close() })
	host, _ := proctable.Read(os.Getpid())
	at, err := json.Marshal(map[string]any{"outside": outside, "host": host.PID, "started": host.Started, "tcp": tcp.Addr().String(),
		"abstract": abstract.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	return string(at), dir
}

// checkAttacks fails the test unless the attack suite reports that all protections hold.
func checkAttacks(t *testing.T, out []byte) {
	t.Helper()
	report := selftest.Report{}
	answers := json.NewDecoder(bytes.NewReader(out))
	for {
		var r selftest.AttackResult
		if err := answers.Decode(&r); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		report.Results = append(report.Results, r)
	}
	if len(report.Results) != len(selftest.Protections) {
		t.Fatalf("%d attacks were made, want %d: %s", len(report.Results), len(selftest.Protections), out)
	}
	for _, r := range report.BrokenProtections(selftest.ConfinementMode{Sandboxed: true}, isolation.DetectFeatures()) {
		t.Errorf("%s: %s", r.Protection, r.Got)
	}
}

func TestProgramsAttacksFail(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	at, dir := p.attackTargets()
	cmd := p.picoclaw("run", "--", hosttest.ProgramPath("bin/picoclaw"), hosts.SelfTestName, at)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = &out, &stderr, []*os.File{dir}
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	checkAttacks(t, out.Bytes())
}

func TestProgramsAttacksFailOnTerminal(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	at, _ := p.attackTargets()
	p.write("targets", at)
	c := p.shell()
	c.TypeKeys("picoclaw run -- sh -c '" + hosttest.ProgramPath("bin/picoclaw") + " " + hosts.SelfTestName + " \"$(cat targets)\" >result; echo do''ne'\n")
	c.Expect("done")
	checkAttacks(t, []byte(p.read("result")))
}
