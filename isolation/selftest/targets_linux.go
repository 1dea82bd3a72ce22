package selftest

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// targets are what an attack may aim at. All of it is made for it, but for the host itself.
type targets struct {
	Outside  string `json:"outside"`  // a directory that is not granted, with a canary
	Host     int    `json:"host"`     // the process id of the host
	Started  string `json:"started"`  // when it was started: another process may have its id inside
	TCP      string `json:"tcp"`      // the address of a server
	Abstract string `json:"abstract"` // and of one without a path
}

// canary is the file that nobody inside may see.
const canary = "canary"

// newTargets makes them below dir. Call the function to give them up.
func newTargets(dir string) (at targets, done func(), err error) {
	at = targets{Outside: filepath.Join(dir, "outside"), Host: os.Getpid(), Started: startOf(os.Getpid())}
	if err := os.Mkdir(at.Outside, 0o700); err != nil {
		return at, nil, err
	}
	if err := os.WriteFile(filepath.Join(at.Outside, canary), []byte("canary"), 0o600); err != nil {
		return at, nil, err
	}
	abstract, err := net.Listen("unix", "@picoclaw-selftest-"+rand.Text())
	if err != nil {
		return at, nil, fmt.Errorf("listen on an abstract socket: %w", err)
	}
	at.Abstract = abstract.Addr().String()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return at, nil, errors.Join(fmt.Errorf("listen on the loopback interface: %w", err), abstract.Close())
	}
	at.TCP = tcp.Addr().String()
	return at, func() { _ = tcp.Close(); _ = abstract.Close() }, nil
}

// startOf says when a process was started, in the kernel's terms; empty if it can't be seen.
func startOf(pid int) string {
	const place = 19 // behind the name, which may have anything in it
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if err != nil || len(fields) <= place {
		return ""
	}
	return string(fields[place])
}
