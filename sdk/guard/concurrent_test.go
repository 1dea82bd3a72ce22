package guard

import (
	"fmt"
	"reflect"
	"sync"
	"testing"
)

// What is decided at the same time on other commands, by the same guard, changes nothing.
func TestDecisionsAtTheSameTime(t *testing.T) {
	g := mustNew(t, everything())
	var lines []string
	for i := range 64 {
		lines = append(lines, fmt.Sprintf("printf '%%s %d' 'rm -rf x%d' | bash", i, i),
			fmt.Sprintf("printf 'ls %%s' dir%d | bash", i),
			fmt.Sprintf("x=$(printf %%05d %d); cat ../$x", i), fmt.Sprintf("git -c alias.a='!sudo ls %d' a", i),
			fmt.Sprintf("python3 -c 'open(\"/etc/%d\")'", i))
	}
	want := make([]Decision, len(lines))
	for i, line := range lines {
		want[i] = decide(g, line)
	}
	var group sync.WaitGroup
	for n := range 4 {
		group.Go(func() {
			for round := range 10 {
				for i := range lines {
					i = (i + 31*n + round) % len(lines)
					if got := decide(g, lines[i]); !reflect.DeepEqual(got, want[i]) {
						t.Errorf("%q: alone %+v; among others %+v", lines[i], want[i], got)
						return
					}
				}
			}
		})
	}
	group.Wait()
}
