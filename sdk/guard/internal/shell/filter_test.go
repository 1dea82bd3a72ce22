package shell

import "testing"

// A pattern means every file that it may match, and no other.
func TestMatches(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pattern, name string
		want          bool
	}{
		{"/w/*.sh", "/w/a.sh", true}, {"/w/*.sh", "/w/a.py", false}, {"/w/a.?h", "/w/a.sh", true}, {"/w/a.[st]h", "/w/a.sh", true},
		{"*", "/w/a", true}, {"*/a", "/w/b/a", true}, {"/w/a*b*c", "/w/axbxbxc", true}, {"/w/a*b*c", "/w/axcxb", false}, {"/w/a", "/w/ab", false},
		{"/w/ab", "/w/a", false}, {"/w/a**", "/w/a", true}, {"/w/[", "/w/[", true}, {"/w/[ab]", "/w/c/d", false},
	} {
		if got := matches(test.pattern, test.name); got != test.want {
			t.Errorf("%q matches %q: %v", test.pattern, test.name, got)
		}
	}
}
