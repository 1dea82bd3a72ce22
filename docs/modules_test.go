package docs_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a plugin author's module needs because of the SDK is a short list, which grows only on purpose. A new plugin's
// go.mod is made of it.
func TestTheSDKNeedsNoMoreThanItsList(t *testing.T) {
	list, err := os.ReadFile("../sdk/modules.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Fields(string(list))
	var got []string
	for _, system := range []string{"linux", "darwin", "windows"} {
		cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", "./sdk",
			"./sdk/sdktest")
		cmd.Dir = ".."
		cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		got = append(got, strings.Fields(string(out))...)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
		t.Errorf("sdk/modules.txt differs from what sdk and sdk/sdktest import (-listed +imported):\n%s", diff)
	}
}
