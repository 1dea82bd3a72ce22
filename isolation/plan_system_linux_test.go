package isolation

import (
	"os/exec"
	"slices"
	"testing"
)

// Files and links are made in the sandbox's own directories and in none of the host's, whatever is exposed there.
func TestHostDirectoriesStayUnchanged(t *testing.T) {
	for _, rules := range [][]ExposedPath{
		nil,
		{{Source: "/etc", Target: "/etc", Mode: ModeReadWrite}},
		{{Source: "/usr/share", Target: "/etc", Mode: ModeReadOnly}},
		{{Source: "/etc/ssl", Target: "/etc/ssl", Mode: ModeReadWrite}},
	} {
		v, err := newMountPlanner(Profile{Exec: true}, rules, nil)
		if err != nil {
			t.Fatal(err)
		}
		v.convertCopiesToBinds()
		own := 0
		for _, m := range v.mounts {
			outer, held := v.innermostMount(m.target)
			if made := m.kind == copied || m.kind == symlink; made && held && outer.isBind() {
				t.Errorf("%v: %s is made as a %s in %s", rules, m.target, m.kind, outer.source)
			} else if made {
				own++
			}
		}
		if own == 0 {
			t.Errorf("%v: nothing is made at all", rules)
		}
	}
	v, err := newMountPlan(exec.Command("/bin/true"), Profile{Exec: true}, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(v.mounts, func(m plannedMount) bool { return m.kind == copied && m.target == "/etc/nsswitch.conf" }) {
		t.Error("/etc/nsswitch.conf is not copied")
	}
}
