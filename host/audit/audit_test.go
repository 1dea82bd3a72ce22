package audit

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/picoclaw/picoclaw/host/redact"
)

func open(t *testing.T, path string, options LogOptions) *Log {
	t.Helper()
	log, err := OpenLog(path, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	return log
}

func record(tool string) Record {
	return Record{Time: time.Now().UTC(), Tool: tool, Decision: "allow", Args: map[string]any{"text": "line\nbreak"}}
}

func read(t *testing.T, path string) []Record {
	t.Helper()
	var all []Record
	broken, err := ReadLog(path, func(r Record) error {
		all = append(all, r)
		return nil
	})
	if err != nil || broken != 0 {
		t.Fatalf("%d lines are broken (%v)", broken, err)
	}
	return all
}

func TestLogFileModeAndFormat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "logs", "audit.jsonl")
	log := open(t, path, LogOptions{SyncEach: true})
	for range 10 {
		if err := log.Write(record("a.b")); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := 0
	for scan := bufio.NewScanner(f); scan.Scan(); lines++ {
		var r Record
		if err := json.Unmarshal(scan.Bytes(), &r); err != nil || r.Args["text"] != "line\nbreak" {
			t.Fatalf("line %d: %v, %s", lines, err, scan.Text())
		}
	}
	if lines != 10 {
		t.Errorf("%d of 10 records are there", lines)
	}
	if info, err := f.Stat(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the log is %v (%v)", info.Mode(), err)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("its directory is %v (%v)", info.Mode(), err)
	}
}

func TestLongArgumentsAreCut(t *testing.T) {
	args := map[string]any{
		"long": strings.Repeat("é", 1000), "short": "x", "n": int64(7),
		"list": make([]any, 100), "deep": map[string]any{"long": strings.Repeat("x", 1000)},
	}
	got := Record{Args: args}.RedactedAndShortened().Args
	long, _ := got["long"].(string)
	if len(long) > maxValue+32 || !utf8.ValidString(long) || !strings.Contains(long, "2000 bytes") {
		t.Errorf("a long argument became %q", long)
	}
	if list, _ := got["list"].([]any); len(list) > maxItems+1 {
		t.Errorf("a long list has %d items left", len(list))
	}
	deep, _ := got["deep"].(map[string]any)
	if text, _ := deep["long"].(string); len(text) > maxValue+32 {
		t.Errorf("a nested argument is %d bytes long", len(text))
	}
	if got["short"] != "x" || got["n"] != int64(7) {
		t.Errorf("short arguments became %v", got)
	}
	if len(args["long"].(string)) != 2000 {
		t.Error("the caller's arguments were changed")
	}
	var nested any = "x"
	for range 1000 {
		nested = map[string]any{"x": nested}
	}
	line, err := json.Marshal(Record{Args: map[string]any{"x": nested}}.RedactedAndShortened())
	if err != nil || len(line) > 1000 {
		t.Errorf("a deep argument is %d bytes (%v)", len(line), err)
	}
}

func TestSecretsAreRemoved(t *testing.T) {
	const secret = "hunter2hunter2"
	line, err := json.Marshal(Record{Error: "password=" + secret, Args: map[string]any{
		"env":     map[string]any{"API_TOKEN": secret},
		"command": "GITHUB_TOKEN=" + secret + " curl -H 'Authorization: Bearer " + secret + "' https://me:" + secret + "@x",
		// The secret lies across the place where the text is cut.
		"content": strings.Repeat("x", maxValue-20) + " password=" + secret + strings.Repeat(" y", 1000),
		"list":    []any{"ls", "password: " + secret},
	}}.RedactedAndShortened())
	if err != nil || strings.Contains(string(line), "hunter2") || strings.Count(string(line), redact.Mark) < 6 {
		t.Errorf("%v: %s", err, line)
	}
}
