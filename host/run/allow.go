package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/picoclaw/picoclaw/host/egress"
	"github.com/picoclaw/picoclaw/internal/atomicfile"
)

// allowRequestPath returns the file with the host that the operator allows a run. The run's process deletes the file
// when the host is allowed. Programs in the sandbox can't reach the file.
func allowRequestPath(home, id string) string { return filepath.Join(runsDir(home), id, "allow") }

// allowTimeout limits the time until a run's process allows a host.
const allowTimeout = 10 * time.Second

// AllowHost allows a running run another host, written as in network.allow.
func AllowHost(home, id, host string) error {
	if _, err := egress.CompilePolicy(egress.PolicyRules{Allow: []string{host}}); err != nil {
		return err
	}
	all, err := ListRecords(home, "")
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(all, func(r RunRecord) bool { return r.ID == id && r.isRunning(home) }) {
		return fmt.Errorf("run %s does not run; the title of its window has its id", id)
	}
	path := allowRequestPath(home, id)
	if err := atomicfile.WriteFile(path, []byte(host), 0o600); err != nil {
		return err
	}
	for end := time.Now().Add(allowTimeout); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	return errors.Join(fmt.Errorf("run %s does not answer, or can't write its audit log", id), os.Remove(path))
}
