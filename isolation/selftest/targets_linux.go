package selftest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/picoclaw/picoclaw/internal/proctable"
)

// attackTargets are the objects that attacks try to reach. All are created for the test, except the host process.
type attackTargets struct {
	Outside  string `json:"outside"`  // a directory that is not granted, with a canary
	Host     int    `json:"host"`     // the process id of the host
	Started  int64  `json:"started"`  // when it was started: another process may have its id inside
	TCP      string `json:"tcp"`      // the address of a server
	Abstract string `json:"abstract"` // and of one without a path
}

// canary is the name of a file that no process in the sandbox may see.
const canary = "canary"

// createAttackTargets creates the attack targets below dir. done closes their sockets.
func createAttackTargets(dir string) (at attackTargets, done func(), err error) {
	host, _ := proctable.Read(os.Getpid())
	at = attackTargets{Outside: filepath.Join(dir, "outside"), Host: host.PID, Started: host.Started}
	if err = os.Mkdir(at.Outside, 0o700); err != nil {
		return at, nil, err
	}
	if err = os.WriteFile(filepath.Join(at.Outside, canary), []byte("canary"), 0o600); err != nil {
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
