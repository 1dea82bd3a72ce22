package pluginpb

import "testing"

func TestProgramName(t *testing.T) {
	for goos, want := range map[string]string{"linux": "grep", "darwin": "grep", "windows": "grep.exe"} {
		if got := ProgramName("grep", goos); got != want {
			t.Errorf("%s: %s, not %s", goos, got, want)
		}
	}
}
