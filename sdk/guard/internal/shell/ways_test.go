package shell_test

import (
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// Branches that come to the same leave one way behind: what stands after them is followed once, not on each.
func TestBranchesThatComeToTheSameAreOneWay(t *testing.T) {
	const times, first = 40, 4 // the first of them may be followed more often
	for line, calls := range map[string]int{
		`if [ -f file ]; then echo "there"; else touch file; fi`: 3,
		`make && ls src || cat log`:                              3,
		`case $x in a) cat a;; *) echo b;; esac`:                 2,
		`for f in *.c; do gcc -c "$f" || echo "$f"; done`:        4, // of two rounds
		`(cd sub && make) || echo "$(date)"`:                     3,
		`cat log | grep x && ls`:                                 3,
	} {
		r := &counter{}
		shell.Interpret(strings.Repeat(line+"\n", times), shell.Options{Dir: "/ws", Env: map[string]string{"HOME": "/home/u"}}, r)
		if r.problem || r.decided > calls*times+first {
			t.Errorf("%s, %d times: %d calls are decided on, not %d", line, times, r.decided, calls*times)
		}
	}
}

// counter counts the calls of programs.
type counter struct {
	recorder
	decided int
}

func (c *counter) Call(call *shell.Call) {
	c.decided++
	c.recorder.Call(call)
}
