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

// No child can send a signal to a thread of this process, although one of them is in the child's domain.
func TestChildReachesNoThreadOfParent(t *testing.T) {
	iso := configured(t, Config{})
	r := outcome(t, iso, child("signals"), Profile{Name: "signals", Exec: true, Confine: true, ReadOnly: []string{os.Getenv(childEnv)}})
	if r.err != nil || !r.exit.Success() || r.stdout != "" {
		t.Errorf("%v %v %s\n%s", r.err, r.exit, r.stderr, r.stdout)
	}
}
