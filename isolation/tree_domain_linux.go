package isolation

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// domainTree is a child in a Landlock domain that keeps signals inside.
type domainTree struct {
	leader int
	domain *domain
}

func (t domainTree) signal(sig os.Signal) error {
	number, ok := sig.(unix.Signal)
	if !ok {
		return fmt.Errorf("send %v: not a signal of this system", sig)
	}
	t.domain.signal(number)
	return nil
}

func (t domainTree) kill() { t.domain.signal(unix.SIGKILL) }

func (t domainTree) among(pids []int) []int { return t.domain.inside(pids) }
