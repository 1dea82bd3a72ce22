package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"

	"github.com/picoclaw/picoclaw/host/internal/crowd"
)

// playNATSArg and playWorkersArg make this program the server that measureFleetScale has, and a part of its workers.
const (
	playNATSArg    = "play-nats"
	playWorkersArg = "play-workers"
)

// playPart is what this program does for measureFleetScale in another process, if its arguments say so.
func playPart(args []string) (ours bool, err error) {
	switch {
	case len(args) == 2 && args[0] == playNATSArg:
		return true, playNATS(args[1])
	case len(args) == 7 && args[0] == playWorkersArg:
		return true, playWorkers(args[1], args[2], args[3], args[4], args[5], args[6])
	}
	return false, nil
}

// played is this program in another process.
type played struct {
	cmd  *exec.Cmd
	in   io.Closer
	said *bufio.Reader
}

// play starts it, and returns the first line that it says.
func play(args ...string) (p *played, first string, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	cmd := exec.Command(self, args...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, "", err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	p = &played{cmd, in, bufio.NewReader(out)}
	if first, err = p.said.ReadString('\n'); err != nil {
		p.end()
		return nil, "", fmt.Errorf("%s said nothing: %w", strings.Join(args, " "), err)
	}
	return p, strings.TrimSpace(first), nil
}

// end ends it at once: a hundred thousand agents are not given back one by one.
func (p *played) end() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// memory is its share of the machine's memory, in MiB.
func (p *played) memory() (float64, error) {
	all, err := memoryOf(p.cmd.Process.Pid)
	if err != nil {
		return 0, err
	}
	return all[0].pss, nil
}

// cpu is what it has had of the processors.
func (p *played) cpu() (time.Duration, error) {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid), "stat"))
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	words := strings.Fields(after)
	user, _ := strconv.Atoi(words[11]) // utime and stime, in hundredths of a second
	system, _ := strconv.Atoi(words[12])
	return time.Duration(user+system) * 10 * time.Millisecond, nil
}

func dialTo(address string) func() (net.Conn, error) {
	return func() (net.Conn, error) { return net.Dial("tcp", address) }
}

// playNATS is a NATS server until standard input ends.
func playNATS(home string) error {
	nats, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: -1, JetStream: true, NoSigs: true,
		StoreDir: filepath.Join(home, "nats")})
	if err != nil {
		return err
	}
	nats.Start()
	if !nats.ReadyForConnections(10 * time.Second) {
		return errors.New("the NATS server does not come up")
	}
	fmt.Println(nats.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// playWorkers is some of the workers. At the end of standard input it says what they have heard.
func playWorkers(home, bin, address, from, to, standby string) error {
	o := crowd.Options{Each: fleetAgents, Home: home, Dial: dialTo(address), Standby: standby == "true"}
	var err error
	if o.From, err = strconv.Atoi(from); err != nil {
		return err
	}
	if o.To, err = strconv.Atoi(to); err != nil {
		return err
	}
	if o.Host, err = crowd.Answering(filepath.Join(home, "host"+from), filepath.Join(bin, "plugins")); err != nil {
		return err
	}
	fmt.Println("begun")
	c, err := crowd.Start(o)
	if err != nil {
		return err
	}
	asked, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	if err := c.Wait(asked); err != nil {
		return err
	}
	fmt.Println("all")
	<-asked.Done()
	calls, foreign, one := c.Heard()
	if foreign > 0 {
		fmt.Fprintln(os.Stderr, "a message that is not for a worker's agents:", one)
	}
	return json.NewEncoder(os.Stdout).Encode([2]int64{calls, foreign})
}
