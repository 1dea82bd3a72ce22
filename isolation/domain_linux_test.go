package isolation

import (
	"os"
	"slices"
	"testing"
)

// This process is in none of the domains that it makes, although the thread of one may signal it.
func TestADomainIsNotOurs(t *testing.T) {
	if landlockABI() < scopedSignals {
		return // there is no domain to tell by
	}
	i := configured(t, Config{})
	proc := start(t, i, "sleep 60", Profile{Exec: true, Confine: true})
	inside := proc.tree.(domainTree).among([]int{os.Getpid(), os.Getppid(), proc.Pid()})
	if !slices.Equal(inside, []int{proc.Pid()}) {
		t.Errorf("%d are inside, and only %d should be", inside, proc.Pid())
	}
}
