package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"

	"github.com/picoclaw/picoclaw/host/session"
)

// measureCommands measures the decision on commands, and compares commands through host and plugin with the same ones
// that Go starts.
func measureCommands(bin string) error {
	for _, isolated := range []bool{false, true} {
		err := withHome(func(home string) error {
			h, s, err := newHost(bin, home, isolated)
			if err != nil {
				return err
			}
			defer func() { _ = h.Close(context.Background()) }()
			fmt.Printf("commands, isolation %t\n", isolated)
			return errors.Join(measureTrue(s), measureOutput(s), measureAtOnce(s))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// measureTrue is what the least command costs. The way to the plugin and back is measured by itself, and so is the
// shell that runs commands, which takes longer to start than /bin/sh may.
func measureTrue(s *session.Session) error {
	const rounds, warmup = 400, 50
	var confined, way, plain, same sample
	for i := range rounds + warmup {
		err := errors.Join(
			confined.timed(func() error { return call(s, "exec", `{"command":"true"}`) }),
			way.timed(func() error { return call(s, "process", `{"action":"list"}`) }),
			plain.timed(func() error { return plainly("/bin/sh", "-c", "true").Run() }),
			same.timed(func() error { return plainly("/bin/bash", "--noprofile", "--norc", "-c", "true").Run() }))
		if err != nil {
			return err
		}
		if i == warmup-1 {
			confined, way, plain, same = nil, nil, nil, nil
		}
	}
	fmt.Println("  sh -c true, started by Go       ", plain)
	fmt.Println("  bash -c true, started by Go     ", same)
	fmt.Println("  exec of true                    ", confined)
	fmt.Println("  the way to the plugin and back  ", way)
	fmt.Printf("  a confined true costs            %+.3f ms beside it (at most +1)\n",
		ms(confined.p50()-way.p50()-plain.p50()))
	return nil
}

// measureOutput is how fast much output passes.
func measureOutput(s *session.Session) error {
	const script = "head -c 100000000 /dev/zero"
	var through, pipe sample
	for i := range 6 {
		err := errors.Join(
			through.timed(func() error { return call(s, "exec", `{"command":"`+script+`"}`) }),
			pipe.timed(func() error { return readByGo(script) }))
		if err != nil {
			return err
		}
		if i == 0 {
			through, pipe = nil, nil
		}
	}
	fmt.Println("  100 MB through a pipe read by Go", pipe)
	fmt.Println("  100 MB through exec             ", through)
	fmt.Printf("  exec has %.2f times the speed    (at least 0.50)\n", float64(pipe.p50())/float64(through.p50()))
	return nil
}

// readByGo runs a script and reads its output from a pipe, as a program does that wants all of it.
func readByGo(script string) error {
	cmd := plainly("/bin/sh", "-c", script)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	_, err = io.CopyBuffer(io.Discard, struct{ io.Reader }{out}, make([]byte, 64<<10))
	return errors.Join(err, cmd.Wait())
}

// measureAtOnce is what 16 busy commands lose that run at the same time.
func measureAtOnce(s *session.Session) error {
	const script = "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done"
	args, err := json.Marshal(map[string]string{"command": script})
	if err != nil {
		return err
	}
	var through, plain sample
	for i := range 6 {
		err := errors.Join(
			through.timed(func() error { return atOnce(func() error { return call(s, "exec", string(args)) }) }),
			plain.timed(func() error {
				return atOnce(func() error { return plainly("/bin/bash", "--noprofile", "--norc", "-c", script).Run() })
			}))
		if err != nil {
			return err
		}
		if i == 0 {
			through, plain = nil, nil
		}
	}
	fmt.Println("  16 at once, started by Go       ", plain)
	fmt.Println("  16 at once through exec         ", through)
	fmt.Printf("  exec takes %.2f times as long    (nothing lost is 1)\n", float64(through.p50())/float64(plain.p50()))
	return nil
}

// plainly is a command with as small an environment as exec gives.
func plainly(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin"}
	return cmd
}

func atOnce(f func() error) error {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var all error
	for range 16 {
		wg.Go(func() {
			err := f()
			mu.Lock()
			all = errors.Join(all, err)
			mu.Unlock()
		})
	}
	wg.Wait()
	return all
}
