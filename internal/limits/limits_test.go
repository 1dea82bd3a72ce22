package limits

import (
	"slices"
	"testing"
)

func TestReachedKeys(t *testing.T) {
	l := ProcessLimits{Processes: 1, Memory: 1, FileSize: 1, OpenFiles: 1, Section: "s"}
	for output, want := range map[string][]string{
		"OSError: [Errno 24] Too many open files: 'x'":            {"s.open_files"},
		"Error: EMFILE: too many open files, open 'x'":            {"s.open_files"},
		"Too many open files in system":                           nil,
		"sh: fork: retry: Resource temporarily unavailable":       {"s.processes"},
		"OSError: [Errno 27] File too large\nToo many open files": {"s.file_size", "s.open_files"},
		"s.memory is a key":                                       nil,
	} {
		if got := l.ReachedLimitKeys("", output); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", output, got, want)
		}
	}
	if got := l.ReachedLimitKeys("more than 1 MB of memory (s.memory)", "EMFILE"); !slices.Equal(got, []string{"s.memory", "s.open_files"}) {
		t.Errorf("a limit that ended it, and another: %q", got)
	}
	if got := (ProcessLimits{}).ReachedLimitKeys("", "EMFILE"); got != nil {
		t.Errorf("a limit that is not set: %q", got)
	}
}
