package audit

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// chained makes a log of so many records and returns its path and its head.
func chained(t *testing.T, count int, options LogOptions) (path, head string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "audit.jsonl")
	log, err := OpenLog(path, options)
	if err != nil {
		t.Fatal(err)
	}
	for i := range count {
		if err := log.Write(record(fmt.Sprintf("tool%d", i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return path, verified(t, path).Head
}

func verified(t *testing.T, path string) *VerifyResult {
	t.Helper()
	v, err := VerifyLog(path, "")
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestConcurrentWritersShareChain(t *testing.T) {
	const writers, count, size = 4, 200, 4000
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	var waits []func() error
	for id := range writers {
		waits = append(waits, startWriter(t, path, size, count, id))
	}
	for _, wait := range waits {
		if err := wait(); err != nil {
			t.Fatal(err)
		}
	}
	v := verified(t, path)
	if v.Records != writers*count || !v.Whole || v.Files < 10 || v.Cut != 0 || v.Unchained != 0 ||
		len(v.Head) != chainLength {
		t.Errorf("the log is %+v", v)
	}
}

func TestVerifyDetectsTampering(t *testing.T) {
	lines := func(text []byte) [][]byte { return bytes.SplitAfter(text, []byte("\n")) }
	for name, c := range map[string]struct {
		alter func(text []byte) []byte
		line  int
		why   string
	}{
		"a record is changed": {func(b []byte) []byte { return bytes.Replace(b, []byte("tool4"), []byte("toolX"), 1) },
			5, "does not follow"},
		"the first decision": {func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"allow"`), []byte(`"deny" `),
				1)
		}, 1, "changed"},
		"a record is left out": {func(b []byte) []byte {
			l := lines(b)
			return bytes.Join(append(l[:3:3], l[4:]...),
				nil)
		}, 4, "others were removed"},
		"the first are left out": {func(b []byte) []byte { return bytes.Join(lines(b)[2:], nil) }, 1,
			"others were removed"},
		"a record is put in twice": {func(b []byte) []byte {
			l := lines(b)
			return bytes.Join(append(l[:3:3], l[2:]...),
				nil)
		}, 4, "inserted"},
		"two records are exchanged": {func(b []byte) []byte {
			l := lines(b)
			l[3], l[4] = l[4],
				l[3]
			return bytes.Join(l, nil)
		}, 4, "moved"},
		"a chain is taken off": {func(b []byte) []byte {
			l := lines(b)
			l[6] = append(l[6][:len(l[6])-chainMemberLength-1], "}\n"...)
			return bytes.Join(l, nil)
		}, 7, "has no hash"},
		"a chain is put on something": {func(b []byte) []byte {
			return bytes.Replace(b, []byte(`{"time":"2`),
				[]byte(`{"tame":"2`), 1)
		}, 1, "is no entry"},
	} {
		t.Run(name, func(t *testing.T) {
			path, _ := chained(t, 10, LogOptions{})
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, c.alter(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err = VerifyLog(path, "")
			var broken *ChainError
			if !errors.As(err, &broken) || broken.Line != c.line || !strings.Contains(broken.Why, c.why) {
				t.Errorf("%v; want line %d: %s", err, c.line, c.why)
			}
		})
	}
}

// aForger rewrites a log from its nth line on, with chains that fit.
func aForger(t *testing.T, path string, n int) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var last chainHash
	var forged []byte
	for i, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		record, c, ok := splitChainedLine(line)
		if !ok {
			t.Fatalf("line %d has no chain", i+1)
		}
		if i+1 >= n {
			record = bytes.Replace(record, []byte("tool"), []byte("fool"), 1)
			c = last.nextHash(record)
		}
		forged, last = append(forged, c.formatLine(record)...), c
	}
	if err := os.WriteFile(path, forged, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestVerifyFindsNotedHash(t *testing.T) {
	path, head := chained(t, 10, LogOptions{})
	log := open(t, path, LogOptions{})
	if err := log.Write(record("later")); err != nil {
		t.Fatal(err)
	}
	if v, err := VerifyLog(path, head); err != nil || !v.HasWanted || v.Head == head || v.Records != 11 {
		t.Fatalf("untouched, it is %+v, %v", v, err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	aForger(t, path, 4)
	if v, err := VerifyLog(path, head); err != nil || v.HasWanted {
		t.Errorf("forged, it is %+v, %v", v, err)
	}
	if err := os.WriteFile(path, bytes.Join(bytes.SplitAfter(whole, []byte("\n"))[:9], nil), 0o600); err != nil {
		t.Fatal(err)
	}
	if v, err := VerifyLog(path, head); err != nil || v.HasWanted {
		t.Errorf("without its last records, it is %+v, %v", v, err)
	}
}

func TestVerifyDetectsMissingFiles(t *testing.T) {
	path, _ := chained(t, 40, LogOptions{MaxSize: 1000})
	files, err := rotatedFilePaths(path)
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	if v := verified(t, path); !v.Whole || v.Records != 40 {
		t.Errorf("complete, it is %+v", v)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	if v := verified(t, path); v.Whole || v.Files != len(files) {
		t.Errorf("without the oldest file, it is %+v", v)
	}
	if err := os.Remove(files[3]); err != nil {
		t.Fatal(err)
	}
	var broken *ChainError
	if _, err := VerifyLog(path, ""); !errors.As(err, &broken) || broken.File != files[4] || broken.Line != 1 {
		t.Errorf("without one in the middle: %v", err)
	}
}

func TestVerifyDetectsRemovedLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	write := func(log *Log, count int) {
		t.Helper()
		for range count {
			if err := log.Write(record("tool")); err != nil {
				t.Fatal(err)
			}
		}
	}
	log, other := open(t, path, LogOptions{}), open(t, path, LogOptions{})
	write(log, 3)
	write(other, 2) // which the first has not seen
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write(log, 3)
	if v := verified(t, path); v.Records != 3 || v.Whole {
		t.Errorf("without files before it, it is %+v", v)
	}
	rotated := filepath.Join(t.TempDir(), "audit.jsonl")
	log = open(t, rotated, LogOptions{MaxSize: 1000})
	write(log, 12)
	files, err := rotatedFilePaths(rotated)
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	if err := os.Remove(rotated); err != nil {
		t.Fatal(err)
	}
	write(log, 1)
	var broken *ChainError
	if _, err := VerifyLog(rotated, ""); !errors.As(err, &broken) || broken.File != rotated || broken.Line != 1 {
		t.Errorf("with files before it: %v", err)
	}
}

func TestVerifyAcceptsOldEntries(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	const old = `{"time":"2026-01-01T00:00:00Z","tool":"old","decision":"allow"}` + "\n"
	if err := os.WriteFile(path, []byte(old+old), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, cut := range []string{"", `{"time":"2026-01-01T00:0`} {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(cut); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		log, err := OpenLog(path, LogOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := log.Write(record("new")); err != nil {
				t.Fatal(err)
			}
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if v := verified(t, path); v.Records != 8 || v.Unchained != 2 || v.Cut != 1 {
		t.Errorf("it is %+v", v)
	}
}

func TestVerifyAcceptsMissingLog(t *testing.T) {
	if v, err := VerifyLog(filepath.Join(t.TempDir(), "no", "audit.jsonl"), ""); err != nil || v.Records != 0 ||
		v.Head != "" {
		t.Errorf("it is %+v, %v", v, err)
	}
}

func FuzzVerify(f *testing.F) {
	f.Add([]byte(`{"time":"2026-01-01T00:00:00Z"}`), []byte("x"))
	f.Fuzz(func(t *testing.T, record, junk []byte) {
		v := &chainVerifier{}
		v.verifyLine(junk)
		if len(record) < 2 || record[len(record)-1] != '}' || bytes.ContainsRune(record, '\n') {
			return
		}
		c := chainHash("").nextHash(record)
		back, found, ok := splitChainedLine(bytes.TrimSuffix(c.formatLine(record), []byte("\n")))
		if !ok || found != c || !bytes.Equal(back, record) {
			t.Errorf("%q comes back as %q, %s, %t", record, back, found, ok)
		}
	})
}

func TestVerifyNamesEmptiedFile(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]func(size int) []byte{"emptied": func(int) []byte { return nil },
		"zeroed": func(size int) []byte { return make([]byte, size) }, "lines": func(size int) []byte { return bytes.Repeat([]byte("x\n"), size/2) },
	} {
		path, _ := chained(t, 200, LogOptions{MaxSize: 4 << 10})
		files, err := rotatedFilePaths(path)
		if err != nil || len(files) < 2 {
			t.Fatal(files, err)
		}
		info, err := os.Stat(files[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(files[0], content(int(info.Size())), 0o600); err != nil {
			t.Fatal(err)
		}
		var broken *ChainError
		if _, err := VerifyLog(path, ""); !errors.As(err, &broken) || broken.File != files[0] {
			t.Errorf("%s: %v", name, err)
		}
	}
}
