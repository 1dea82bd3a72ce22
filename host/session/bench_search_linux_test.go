//go:build linux

package session_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/measure"
)

const (
	treeFiles   = 20_000
	filesPerDir = 16
	meanLength  = 3100 // of a file, in bytes: 20,000 files have 62 MB
	needle      = "NEEDLE_TOKEN"
	needles     = 50 // files with a needle, of 20,000
)

// BenchmarkSearch searches trees of two sizes, through host and isolated plugin and with ripgrep by itself.
func BenchmarkSearch(b *testing.B) {
	for _, size := range []int{1, 10} {
		b.Run(fmt.Sprintf("%d_files", treeFiles*size), func(b *testing.B) {
			_, s := openBench(b, hosttest.TempDir(b), "{}", true, nil)
			dir := s.Policy().WorkspacePath()
			if err := growTree(dir, size); err != nil {
				b.Fatal(err)
			}
			compareSearches(b, s, dir)
		})
	}
}

func compareSearches(b *testing.B, s *session.Session, dir string) {
	find := callTool(s, "find", `{"pattern":"**/*_target.go"}`)
	names := func() error { return ripgrep(dir, "--files", "-g", "**/*_target.go") }
	grep := func(pattern string) (tool, other func() error) {
		args, err := json.Marshal(map[string]any{"pattern": pattern})
		if err != nil {
			b.Fatal(err)
		}
		return callTool(s, "grep", string(args)), func() error { return ripgrep(dir, "-n", "-e", pattern) }
	}
	compare := func(name, beside, bound string, tool, other func() error) {
		b.Run(name, func(b *testing.B) {
			t := measure.RunInTurns(b, measure.BenchCase{Name: "tool", Run: tool}, measure.BenchCase{Name: beside, Run: other})
			b.ReportMetric(t[0].Median()/t[1].Median(), "tool_to_"+beside+"-ratio<="+bound)
		})
	}
	for _, c := range []struct{ name, pattern string }{
		{"literal", needle}, {"alternation", "FIRST_ONE|" + needle + "|LAST_ONE"}, {"any_case", "(?i)needle_token"},
		{"no_literal", `\bz\w{4}\s+q\w{6}\b`},
	} {
		tool, other := grep(c.pattern)
		compare(c.name, "ripgrep", "1.15", tool, other)
	}
	compare("find", "ripgrep", "1", find, names)
	compare("find_beside_walk", "walk", "3", find, func() error { return walkTree(dir) })
	b.Run("first_result", func(b *testing.B) {
		var first, whole measure.RunDurations
		for b.Loop() {
			began := time.Now()
			var once sync.Once
			r := s.Call(context.Background(), "grep", json.RawMessage(`{"pattern":"`+needle+`"}`), func(session.CallEvent) {
				once.Do(func() { first = append(first, time.Since(began)) })
			})
			whole = append(whole, time.Since(began))
			if r.Err != nil {
				b.Fatal(r.Err)
			}
		}
		first.ReportMedian(b, "first-ms")
		whole.ReportMedian(b, "last-ms")
	})
}

// ripgrep runs it as a person would, with its output going to a pipe.
func ripgrep(dir string, args ...string) error {
	cmd := exec.Command("rg", append([]string{"--no-config", "--no-require-git"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, out)
	return errors.Join(err, cmd.Wait())
}

// walkTree looks at every name in a tree, two directories at a time.
func walkTree(dir string) error {
	tops, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		return err
	}
	todo := make(chan string, len(tops))
	for _, top := range tops {
		todo <- top
	}
	close(todo)
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for top := range todo {
				_ = filepath.WalkDir(top, func(path string, _ fs.DirEntry, err error) error {
					_ = strings.HasSuffix(path, "_target.go")
					return err
				})
			}
		})
	}
	workers.Wait()
	return nil
}

// growTree writes a tree of source files that is the same every time: words in lines, a fifth of them in a directory
// that .gitignore names, and needles here and there.
func growTree(root string, size int) error {
	random := rand.New(rand.NewPCG(1, uint64(size)))
	if err := os.WriteFile(filepath.Join(root, ".gitignore"), []byte("node_modules/\n"), 0o600); err != nil {
		return err
	}
	kinds := []string{"go", "py", "js", "ts", "md"}
	files := treeFiles * size
	for i := range files {
		top := "src"
		if i%5 == 4 {
			top = "node_modules"
		}
		dir := filepath.Join(root, top, fmt.Sprintf("a%02d", i/filesPerDir%40), fmt.Sprintf("b%02d", i/filesPerDir/40%5),
			fmt.Sprintf("c%03d", i/filesPerDir/200))
		if i%filesPerDir < 5 { // the directory may be a new one
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return err
			}
		}
		name := fmt.Sprintf("f%06d.%s", i, kinds[i%len(kinds)])
		if i%250 == 0 {
			name = fmt.Sprintf("f%06d_target.go", i)
		}
		if err := os.WriteFile(filepath.Join(dir, name), source(random, i%(files/(needles*size)) == 1), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// source returns the contents of a file.
func source(random *rand.Rand, withNeedle bool) []byte {
	var b bytes.Buffer
	length := meanLength/2 + random.IntN(meanLength)
	for b.Len() < length {
		b.WriteString("\t\t"[:random.IntN(3)])
		for range 3 + random.IntN(8) {
			for range 2 + random.IntN(9) {
				b.WriteByte('a' + byte(random.IntN(26)))
			}
			b.WriteByte(' ')
		}
		b.WriteByte('\n')
		if withNeedle && b.Len() > length/2 {
			b.WriteString("\treturn " + needle + "(ctx, value)\n")
			withNeedle = false
		}
	}
	return b.Bytes()
}
