package lang

import (
	"slices"
	"testing"
)

func TestPathsCountFromWhereCodeIs(t *testing.T) {
	for _, c := range []struct{ language, code, want string }{
		{"python", "import os\nos.chdir('a')\nopen('../x')", "a/../x"},
		{"python", "import os; os.chdir('a'); os.chdir('b'); open('../../x')", "a/b/../../x"},
		{"python", "import os\nif y:\n    os.chdir('a')\nopen('../x')", "../x"},
		{"python", "import os\nif y:\n    os.chdir('a')\n    open('../x')", "a/../x"},
		{"python", "import os\nhere = os.getcwd()\nos.chdir('a')\nos.chdir(here)\nopen('../x')", "./../x"},
		{"python", "import os\nos.chdir(y)\nopen('../x')", "../x"},
		{"python", "import contextlib\nwith contextlib.chdir('a'):\n    pass\nopen('../x')", "../x"},
		{"python", "import os, tempfile\nos.chdir(tempfile.mkdtemp())\nopen('../x')", "../x"},
		{"python", "import os, tempfile\nos.chdir(tempfile.mkdtemp())\nos.chdir('a')\nopen('../x')", own + "/a/../x"},
		{"node", "process.chdir('a'); fs.readFileSync('../x')", "a/../x"},
		{"node", "if (y)\n  process.chdir('a')\nfs.readFileSync('../x')", "../x"},
		{"node", "f(); process.chdir('a'); function f() { fs.readFileSync('../x') }", "../x"},
		{"ruby", "Dir.chdir('a') { File.read('../x') }", "a/../x"},
		{"ruby", "Dir.chdir('a') { }; File.read('../x')", "../x"},
		{"perl", "chdir 'a' or die; open F, '<', '../x'", "a/../x"},
		{"perl", "chdir 'a'; open F, '<', '../x'", "../x"},
	} {
		named := func(e Effect) bool { return e.Kind == Path && e.Text == c.want }
		if effects := Effects(c.language, c.code); !slices.ContainsFunc(effects, named) {
			t.Errorf("%s: %q: no path %q: %v", c.language, c.code, c.want, effects)
		}
	}
}
