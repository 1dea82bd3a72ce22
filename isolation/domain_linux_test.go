package isolation

import (
	"os"
	"os/exec"
	"testing"
)

// A thread outside a domain must never send kill(-1). The check runs in a child, whose parent has the same user.
func TestScopeCheckRefusesUnconfinedThread(t *testing.T) {
	t.Parallel()
	const inChild = "PICOCLAW_TEST_SCOPE_CHILD"
	if os.Getenv(inChild) != "" {
		if newLandlockDomain(LandlockScope).checkSignalScope() == nil {
			t.Error("a thread outside a domain passes")
		}
		return
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), inChild+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
