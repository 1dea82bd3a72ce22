package protect

import "testing"

func TestFilesRunByTools(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"/p/Makefile": true, "/p/sub/package.json": true, "/p/vite.config.ts": true, "/p/tools/hk/pre-commit": true,
		"/p/node_modules/a/package.json": false, "/p/main.go": false, "/p/README.md": false, "/p/.eslintrc.js": true, "/p/Makefile.txt": false,
		"/p/.yarn/releases/yarn-4.1.cjs": true, "/p/Directory.Build.props": true, "/p/phpunit.xml.dist": true, "/p/WORKSPACE": true, "/p/workspace": false} {
		if got := IsRunByTools(name); got != want {
			t.Errorf("%s: %v; want %v", name, got, want)
		}
	}
}
