package audit

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

func TestEveryRecordIsALineOfItsOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "logs", "audit.jsonl")
	var wg sync.WaitGroup
	for range 2 { // two hosts share a file
		log, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := log.Close(); err != nil {
				t.Error(err)
			}
		})
		for range 4 {
			wg.Go(func() {
				for range 100 {
					if err := log.Write(Record{Tool: "t", Args: map[string]any{"text": "line\nbreak"}}); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	lines := 0
	for scan := bufio.NewScanner(f); scan.Scan(); lines++ {
		var r Record
		if err := json.Unmarshal(scan.Bytes(), &r); err != nil || r.Args["text"] != "line\nbreak" {
			t.Fatalf("line %d: %v, %s", lines, err, scan.Text())
		}
	}
	if lines != 800 {
		t.Errorf("%d of 800 records are there", lines)
	}
	if info, err := f.Stat(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the log is %v (%v)", info.Mode(), err)
	}
}

func TestLongArgumentsAreCut(t *testing.T) {
	args := map[string]any{
		"long": strings.Repeat("é", 1000), "short": "x", "n": int64(7),
		"list": make([]any, 100), "deep": map[string]any{"long": strings.Repeat("x", 1000)},
	}
	got := cut(args)
	long, _ := got["long"].(string)
	if len(long) > maxValue+32 || !utf8.ValidString(long) || !strings.Contains(long, "2000 bytes") {
		t.Errorf("a long argument became %q", long)
	}
	if list, _ := got["list"].([]any); len(list) > 17 {
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
}
