//go:build !windows

// The paths here are absolute everywhere but on Windows, where paths are not exposed.

package isolation

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExposeRules(t *testing.T) {
	got, err := normalizeExposedPaths([]ExposedPath{
		{Source: "/opt/go", Mode: "ro"},
		{Source: "/data/a", Target: "/shared", Mode: "ro"},
		{Source: "/opt/other/", Target: "/opt/../opt/go", Mode: "rw"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []ExposedPath{
		{Source: "/opt/other", Target: "/opt/go", Mode: "rw"},
		{Source: "/data/a", Target: "/shared", Mode: "ro"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestExposeRulesRefuse(t *testing.T) {
	for _, test := range []struct {
		rule ExposedPath
		key  string
		says string
	}{
		{ExposedPath{Source: "/a", Mode: "rx"}, "isolation.expose_paths[0].mode", `"rx" is not a mode`},
		{ExposedPath{Source: "/a"}, "isolation.expose_paths[0].mode", `"" is not a mode`},
		{ExposedPath{Source: "a/b", Mode: "ro"}, "isolation.expose_paths[0].source", `"a/b" is not an absolute path`},
		{ExposedPath{Mode: "ro"}, "isolation.expose_paths[0].source", `"" is not an absolute path`},
		{ExposedPath{Source: "/a", Target: "b", Mode: "ro"}, "isolation.expose_paths[0].target",
			`"b" is not an absolute path`},
		{ExposedPath{Source: "/a\x00b", Mode: "ro"}, "isolation.expose_paths[0].source", "NUL"},
	} {
		_, err := normalizeExposedPaths([]ExposedPath{test.rule})
		var wrong *ConfigError
		if !errors.As(err, &wrong) || wrong.Key != test.key || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%+v: got %v", test.rule, err)
		}
	}
}
