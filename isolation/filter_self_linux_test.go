package isolation

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// filteredEnv has this test binary play a process that starts a child without giving it a filter: one that has put
// itself behind the filter first ("self"), or not ("none").
const filteredEnv = "PICOCLAW_TEST_FILTERED"

// playFiltered runs the child that tries the doors into the kernel, and then says on how many of its own threads each
// number of filters is.
func playFiltered(which string) int {
	hold := make(chan struct{})
	defer close(hold)
	for range 4 { // threads that were there before
		locked := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			close(locked)
			<-hold
		}()
		<-locked
	}
	i, err := NewStarter(Config{}, nil)
	if err != nil {
		return fail(err)
	}
	p := Profile{Name: "calls", Exec: true, Network: true, Confine: true, Terminals: true}
	if which == "self" {
		if err := i.ApplyChildFilterToSelf(p); err != nil {
			return fail(err)
		}
	}
	i.starter.filter = withoutFilter
	cmd := child("calls")
	cmd.Stdout = os.Stdout
	if err := i.Run(context.Background(), cmd, p); err != nil {
		return fail(err)
	}
	tasks, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil {
		return fail(err)
	}
	filters := map[string]int{}
	for _, task := range tasks {
		status, err := os.ReadFile(task)
		if err != nil {
			continue // the thread has ended
		}
		_, after, _ := strings.Cut(string(status), "\nSeccomp_filters:")
		number, _, _ := strings.Cut(after, "\n")
		filters[strings.TrimSpace(number)]++
	}
	fmt.Fprintln(os.Stderr, len(filters), filters)
	return 0
}

// Who is behind the filter hands it down to children that are given none, and so to all they start; all its threads are
// behind it, those too that were there before.
func TestChildrenInheritSelfFilter(t *testing.T) {
	if auditArch == 0 {
		t.Skip("this architecture has no filter")
	}
	play := func(which string) (calls map[string]string, threads string) {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), filteredEnv+"="+which)
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v: %s", which, err, errs.String())
		}
		calls = map[string]string{}
		for line := range strings.Lines(string(out)) {
			name, end, _ := strings.Cut(strings.TrimSpace(line), ": ")
			calls[name] = end
		}
		return calls, errs.String()
	}
	held, threads := play("self")
	free, _ := play("none")
	if len(held) < 25 {
		t.Fatalf("only %d attempts were made", len(held))
	}
	for attempt, end := range held {
		if end != "EPERM" && end != "EAFNOSUPPORT" && end != "ENOSYS" {
			t.Errorf("%s: %s", attempt, end)
		}
		if free[attempt] == end {
			t.Errorf("%s: without the filter it is %s as well, so nothing is shown", attempt, end)
		}
	}
	if strings.Contains(threads, "map[0:") { // a thread that starts a child has two
		t.Errorf("threads by the number of their filters: %s", threads)
	}
}
