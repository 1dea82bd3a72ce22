package cgroup

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Whoever is told no is told why and what would help.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		h     hierarchy
		err   error
		says  string
		helps string
	}{
		{hierarchy{version: 2, own: "/cg/a"}, unix.EACCES, "/cg/a is not delegated to", ""},
		{hierarchy{version: 2, own: "/cg/a"}, unix.EROFS, "/cg/a is mounted read-only", "ProtectControlGroups"},
		{hierarchy{version: 2, own: "/cg/a"}, errNotAlone, "other programs are in it too", ""},
		{hierarchy{version: 1, own: "/cg/pids/a"}, unix.EACCES, "version 1", "unified_cgroup_hierarchy=1"},
	} {
		p := c.h.refused(c.err)
		if !strings.Contains(p.Cause, c.says) || p.Cure == "" || !strings.Contains(p.Cure, c.helps) {
			t.Errorf("%v: %+v", c.err, p)
		}
	}
}
