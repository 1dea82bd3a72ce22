package programs

import (
	"slices"
	"strings"
	"testing"
)

func TestChanges(t *testing.T) {
	for line, want := range map[string]string{
		"git -C a log":                "a",
		"git -C a -C b log":           "a b",
		"git -c core.x=y -C a log":    "a",
		"git log -C a":                "",
		"go -C a build":               "a",
		"go build -C a ./cmd":         "a",
		"go run ./cmd -C a":           "",
		"make -j4 -C a all":           "a",
		"make --directory=a all":      "a",
		"cargo -C a run -- -C b":      "a",
		"pnpm --dir a exec x --dir b": "a",
		"terraform -chdir=a plan":     "a",
		"terraform plan -chdir=a":     "",
		"meson test -C a":             "a",
		"meson devenv -C a x":         "",
		"uv run --directory a x":      "a",
		"uv run x --directory a":      "",
		"tar -C a -cf x .":            "",
		"git":                         "",
	} {
		words := strings.Fields(line)
		if got := Changes(words[0], words[1:]); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s: %q; want %q", line, got, want)
		}
	}
}
