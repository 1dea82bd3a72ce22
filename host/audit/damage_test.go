package audit

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestLogWithoutEntriesIsRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"lines": "xx\nxx\n", "part of a line": "xx", "objects": "{}\n{}\n",
		"zeros": strings.Repeat("\x00", 100_000), "zero lines": strings.Repeat("\x00\n", 50_000)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "audit.jsonl")
			running := open(t, path, LogOptions{})
			if err := running.Write(record("x")); err != nil {
				t.Fatal(err)
			}
			whole, err := os.ReadFile(path)
			if err = errors.Join(err, os.WriteFile(path, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				for what, err := range map[string]error{"running": running.Write(record("x")), "opened": openError(path)} {
					if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "restore a copy") {
						t.Errorf("%s: %v; want an error with the file and the remedy", what, err)
					}
				}
				if broken := (*ChainError)(nil); !errors.As(verifyError(path), &broken) || broken.Line != 1 {
					t.Errorf("verify: %v; want a fault in line 1", verifyError(path))
				}
			}
			if now, err := os.ReadFile(path); err != nil || string(now) != text {
				t.Errorf("the file was changed: %v", err)
			}
			if err := os.WriteFile(path, whole, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := running.Write(record("x")); err != nil {
				t.Errorf("after the copy was restored: %v", err)
			}
			verified(t, path)
		})
	}
}

func openError(path string) error {
	log, err := OpenLog(path, LogOptions{})
	if err == nil {
		err = log.Close()
	}
	return err
}

func verifyError(path string) error {
	_, err := VerifyLog(path, "")
	return err
}

func TestVerifyNamesInvalidLines(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log := open(t, path, LogOptions{})
	var lines []string
	for range 3 {
		if err := log.Write(record("x")); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines = strings.SplitAfter(string(text), "\n")
	write := func(lines ...string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(lines[0], "xx\n", lines[1], lines[2], "\x00\x00")
	if v := verified(t, path); v.Cut != 2 || !slices.Equal(v.CutLines, []string{path + ":2", path + ":5"}) {
		t.Errorf("it is %+v; want the lines 2 and 5", v)
	}
	write("xx\n", lines[0], lines[1], lines[2]) // a log that begins anew over a damaged one
	if broken := (*ChainError)(nil); !errors.As(verifyError(path), &broken) || broken.Line != 1 {
		t.Errorf("a damaged beginning: %v", verifyError(path))
	}
}

func TestEmptiedLogIsRefused(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	log := open(t, LogPath(home), LogOptions{})
	if err := log.Write(record("x")); err != nil {
		t.Fatal(err)
	}
	list := `{"files":["logs/audit.jsonl"]}`
	if err := errors.Join(os.WriteFile(filepath.Join(home, "files.json"), []byte(list), 0o600), os.Truncate(LogPath(home), 0)); err != nil {
		t.Fatal(err)
	}
	if err := log.Write(record("x")); err == nil || !strings.Contains(err.Error(), "missing or empty") {
		t.Errorf("a write to an emptied log: %v", err)
	}
	if err := os.RemoveAll(filepath.Dir(LogPath(home))); err != nil {
		t.Fatal(err)
	}
	_, readErr := ReadLog(LogPath(home), func(Record) error { return nil })
	_, searchErr := SearchLog(LogPath(home), LogQuery{Limit: 1})
	for what, err := range map[string]error{"verify": verifyError(LogPath(home)), "read": readErr, "search": searchErr} {
		if err == nil || !strings.Contains(err.Error(), "missing or empty") {
			t.Errorf("%s without the directory of the log: %v", what, err)
		}
	}
	if err := errors.Join(os.Remove(filepath.Join(home, "files.json")), os.Mkdir(filepath.Dir(LogPath(home)), 0o700)); err != nil {
		t.Fatal(err)
	}
}
