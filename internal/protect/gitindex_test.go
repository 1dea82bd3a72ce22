package protect

import (
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// newIndex returns an index of version 2 with the names.
func newIndex(names ...string) string {
	data := binary.BigEndian.AppendUint32([]byte("DIRC\x00\x00\x00\x02"), uint32(len(names)))
	for _, name := range names {
		entry := append(make([]byte, 60), byte(len(name)>>8), byte(len(name)))
		binary.BigEndian.PutUint32(entry[24:], 0o100644)
		entry = append(entry, name...)
		data = append(data, append(entry, make([]byte, 8-len(entry)%8)...)...)
	}
	sum := sha1.Sum(data)
	return string(append(data, sum[:]...))
}

// appendExtension inserts an extension before the checksum of an index.
func appendExtension(index, name, body string) string {
	end := len(index) - 20
	return index[:end] + name + string(binary.BigEndian.AppendUint32(nil, uint32(len(body)))) + body + index[end:]
}

func TestRiskyIndexPaths(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".git", ".GIT/config", "a/.git/hooks/x", "../x", "a/../../x", "/etc/x", "a//b", "./x", "a/.", ".git /x"} {
		if risky := findRiskyIndexPaths([]byte(newIndex("f", name)), 20); !slices.Equal(risky, []string{name}) {
			t.Errorf("%s: %q", name, risky)
		}
	}
	plain := newIndex("f")
	other := strings.ReplaceAll(plain, "\x00f\x00", "\x00f\x00"+"")
	for name, index := range map[string]string{
		"truncated": plain[:40], "version": strings.Replace(plain, "\x02", "\x05", 1), "name with a zero byte": newIndex("a\x00b"),
		"parts elsewhere":      appendExtension(plain, "IEOT", "\x00\x00\x00\x01\x00\x00\x00\x50\x00\x00\x00\x01"),
		"missing parts":        appendExtension(plain, "IEOT", "\x00\x00\x00\x01"),
		"extensions elsewhere": appendExtension(plain, "EOIE", "\x00\x00\x00\x0c"+strings.Repeat("x", 20)),
		"bytes after it":       other[:len(other)-20] + "x" + other[len(other)-20:],
	} {
		if risky := findRiskyIndexPaths([]byte(index), 20); !slices.Equal(risky, []string{invalidIndex}) {
			t.Errorf("%s: %q", name, risky)
		}
	}
}

// The entries are those that git lists, in each format that git writes.
func TestIndexesOfGit(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"version 2":   `git init -q . && mkdir -p a/b && touch a/b/c a/d e "$(printf 'x%.0s' $(seq 200))" && git add .`,
		"version 3":   `git init -q . && touch a b && git add a && git add -N b`,
		"version 4":   `git init -q . && git config index.version 4 && mkdir -p a/b && touch a/b/c a/b/cd a/d e && git add . && touch f && git add f`,
		"SHA-256":     `git init -q --object-format=sha256 . && mkdir -p a/b && touch a/b/c a/d e && git add .`,
		"no checksum": `git init -q . && git config index.skipHash true && touch a && git add .`,
		"split":       `git init -q . && touch a b && git add . && git update-index --split-index && touch c && git add c && rm a && git add .`,
		"in parts": `git init -q . && git config index.threads 2 && b=$(echo x | git hash-object -w --stdin) &&
			seq -f "100644 $b	dir/%05.0f" 25000 | git update-index --index-info`,
		"in parts, version 4": `git init -q . && git config index.threads 2 && git config index.version 4 && b=$(echo x | git hash-object -w --stdin) &&
			seq -f "100644 $b	dir/%05.0f" 25000 | git update-index --index-info`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd := exec.Command("sh", "-ec", script+` && git -c core.quotepath=off ls-files`)
			cmd.Dir = dir
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			git := filepath.Join(dir, GitDir)
			var names []string
			indexes, _ := filepath.Glob(filepath.Join(git, "*index*"))
			for _, path := range indexes {
				data, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				x := &gitIndex{data: data, hashSize: indexHashSize(git)}
				if !x.readEntries(func(name string, _ uint32) { names = append(names, name) }) {
					t.Errorf("%s is invalid", filepath.Base(path))
				}
			}
			want := strings.Split(strings.TrimSpace(string(out)), "\n")
			slices.Sort(names)
			if name == "split" { // replaced and deleted entries stay in the shared index
				names = slices.Compact(slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(want, name) }))
			}
			if !slices.Equal(names, want) {
				t.Errorf("%d names, want %d: %.200s", len(names), len(want), fmt.Sprint(names))
			}
		})
	}
}

func FuzzIndex(f *testing.F) {
	f.Add([]byte(newIndex("a", "b/c")), true)
	f.Add([]byte(strings.Replace(newIndex("a", "b/c"), "\x02", "\x04", 1)), false)
	f.Fuzz(func(t *testing.T, data []byte, long bool) {
		size := 20
		if long {
			size = 32
		}
		x := &gitIndex{data: data, hashSize: size}
		x.readEntries(func(name string, _ uint32) {
			if strings.Contains(name, "\x00") {
				t.Errorf("%q", name)
			}
		})
	})
}
