package cgroup

import (
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestHierarchies(t *testing.T) {
	for name, c := range map[string]struct {
		in, at string
		want   []hierarchy
	}{
		"version 2": {
			"0::/system.slice/picoclaw.service\n",
			"31 23 0:27 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n",
			[]hierarchy{{version: 2, controllers: []string{""}, ownGroup: "/sys/fs/cgroup/system.slice/picoclaw.service"}},
		},
		"both": {
			"8:pids:/\n4:memory:/a\n2:cpu,cpuacct:/b:c\n1:name=systemd:/\n0::/\n",
			"31 23 0:27 / /cg/unified rw - cgroup2 cgroup2 rw\n32 23 0:28 / /cg/pids rw shared:1 - cgroup cgroup rw,pids\n" +
				"33 23 0:29 / /cg/memory ro - cgroup cgroup rw,memory\n34 23 0:30 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n",
			[]hierarchy{
				{version: 1, controllers: []string{"pids"}, ownGroup: "/cg/pids"},
				{version: 1, controllers: []string{"memory"}, ownGroup: "/cg/memory/a", readOnly: true},
				{version: 1, controllers: []string{"cpu", "cpuacct"}, ownGroup: "/cg/cpu/b:c"},
				{version: 2, controllers: []string{""}, ownGroup: "/cg/unified"},
			},
		},
		"part of it is mounted": {
			"0::/docker/1234/inner\n",
			"31 23 0:27 /docker/1234 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
			[]hierarchy{{version: 2, controllers: []string{""}, ownGroup: "/sys/fs/cgroup/inner"}},
		},
		"another part is mounted": {"0::/docker/1234\n",
			"31 23 0:27 /docker/12 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", nil},
		"outside of its own namespace": {"0::/../other\n", "31 23 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", nil},
		"a name with a space": {"0::/\n", "31 23 0:27 / /sys/c\\040g rw - cgroup2 cgroup2 rw\n",
			[]hierarchy{{version: 2, controllers: []string{""}, ownGroup: "/sys/c g"}}},
		"none": {"", "31 23 0:27 / /proc rw - proc proc rw\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []hierarchy
			for _, h := range matchHierarchies(parseMemberships(strings.NewReader(c.in)), parseMounts(strings.NewReader(c.at))) {
				got = append(got, *h)
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("%+v\nwant %+v", got, c.want)
			}
		})
	}
}

// Whatever the two files hold, a group is below a mount.
func FuzzHierarchies(f *testing.F) {
	f.Add("0::/a\n4:memory:/b\n", "31 23 0:27 / /cg rw - cgroup2 cgroup2 rw\n32 23 0:28 /b /m rw - cgroup cgroup rw,memory\n")
	f.Add("0::/../..\n", "31 23 0:27 /.. /cg\\134 ro - cgroup2 x y\n")
	f.Fuzz(func(t *testing.T, in, at string) {
		places := parseMounts(strings.NewReader(at))
		for _, h := range matchHierarchies(parseMemberships(strings.NewReader(in)), places) {
			below := false
			for _, m := range places {
				rest, ok := strings.CutPrefix(h.ownGroup, strings.TrimRight(m.point, "/"))
				below = below || ok && (rest == "" || rest[0] == '/')
			}
			if !below {
				t.Errorf("%q is below none of %+v", h.ownGroup, places)
			}
		}
	})
}

// Whoever is told no is told why and what would help.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		h     hierarchy
		err   error
		says  string
		helps string
	}{
		{hierarchy{version: 2, ownGroup: "/cg/a"}, unix.EACCES, "/cg/a is not delegated to", ""},
		{hierarchy{version: 2, ownGroup: "/cg/a"}, unix.EROFS, "/cg/a is mounted read-only", "ProtectControlGroups"},
		{hierarchy{version: 2, ownGroup: "/cg/a"}, errSharedGroup, "other programs are in it too", ""},
		{hierarchy{version: 1, ownGroup: "/cg/pids/a"}, unix.EACCES, "version 1", "unified_cgroup_hierarchy=1"},
	} {
		p := c.h.newUnavailableReason(c.err)
		if !strings.Contains(p.Cause, c.says) || p.Cure == "" || !strings.Contains(p.Cure, c.helps) {
			t.Errorf("%v: %+v", c.err, p)
		}
	}
}
