package isolation

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// domain is the Landlock domain of one child, seen through a thread that is inside it.
//
// Every process is born into the domain of its parent and can't leave it, whatever it detaches itself from: not by a
// session or group of its own, not by forking twice, not by another name or environment. And a thread inside can signal
// nobody outside. So the thread's kill(-1) reaches all descendants of the child and nobody else, in one step: the
// kernel walks the list of processes with forking held off.
type domain struct {
	jobs chan func()
	quit chan struct{} // closed to end the thread
	gone chan struct{} // closed when the thread works no more
	// scoped says that the kernel keeps signals inside; older ones do not.
	scoped bool
}

func newDomain(abi int) *domain {
	return &domain{jobs: make(chan func()), quit: make(chan struct{}), gone: make(chan struct{}),
		scoped: abi >= scopedSignals}
}

// scopedSignals is the first version of Landlock that keeps signals inside a domain.
const scopedSignals = LandlockScope

// checkScope returns an error if the calling thread can signal the parent of this process: kill(-1) on it would then
// end every process of this user.
func (d *domain) checkScope() error {
	if d.scoped && unix.Kill(os.Getppid(), 0) == nil {
		return errors.New("Landlock does not keep signals inside the domain of this process; nothing is started")
	}
	return nil
}

// work does the jobs on the thread that calls it, which has to be inside the domain.
func (d *domain) work() {
	defer close(d.gone)
	for {
		select {
		case job := <-d.jobs:
			job()
		case <-d.quit:
			return
		}
	}
}

// end ends the thread, and so whoever has it for a parent.
func (d *domain) end() { close(d.quit) }

// do runs job inside the domain and waits for it. It does nothing after the end.
func (d *domain) do(job func()) {
	done := make(chan struct{})
	select {
	case d.jobs <- func() { defer close(done); job() }:
		<-done
	case <-d.gone:
	}
}

// signal sends sig to everybody inside.
func (d *domain) signal(sig unix.Signal) {
	d.do(func() { _ = unix.Kill(-1, sig) }) // its error says nothing: it may be about somebody outside
}

// inside returns those of pids that are inside. The thread may signal its own process, which is not.
func (d *domain) inside(pids []int) []int {
	var found []int
	d.do(func() {
		for _, pid := range pids {
			if pid != os.Getpid() && unix.Kill(pid, 0) == nil {
				found = append(found, pid)
			}
		}
	})
	return found
}

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
