// Command score measures the guard on labelled command lines: files of JSON lines with the fields cmd and expect.
// It prints a table with a row a file, and with -v every line that came out wrong.
//
//	go run ./sdk/guard/internal/score [-v] [files]
//
// A file whose name begins with seed_strict is judged under that profile. To ask counts as to refuse.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// line is one labelled command.
type line struct {
	Cmd    string `json:"cmd"`
	Expect string `json:"expect"`
	Why    string `json:"why"`
}

func main() {
	verbose := flag.Bool("v", false, "print the lines that came out wrong")
	flag.Parse()
	files := flag.Args()
	if len(files) == 0 {
		files, _ = filepath.Glob("sdk/guard/testdata/corpus/*.jsonl")
	}
	if len(files) == 0 {
		fmt.Fprintln(os.Stderr, "score: no files: name some, or start it at the top of the repository")
		os.Exit(2)
	}
	fmt.Printf("%-24s %6s %6s %8s %10s %10s\n", "file", "lines", "right", "share", "p50", "p99")
	for _, file := range files {
		if err := score(file, *verbose); err != nil {
			fmt.Fprintln(os.Stderr, "score:", err)
			os.Exit(1)
		}
	}
}

// score judges the lines of one file.
func score(file string, verbose bool) error {
	lines, err := read(file)
	if err != nil {
		return err
	}
	policy := guard.Policy{Workspace: "/home/user/ws", Restrict: true, Kernel: os.Getenv("NOKERNEL") == "", Exec: guard.ExecPolicy{DenyPatterns: true}}
	if strings.HasPrefix(filepath.Base(file), guard.ProfileSeedStrict) {
		policy.Exec.Profile = guard.ProfileSeedStrict
	}
	g, err := guard.New(policy)
	if err != nil {
		return err
	}
	var wrong []string
	times := make([]time.Duration, len(lines))
	for i, l := range lines {
		start := time.Now()
		d := g.Command(guard.Command{Text: l.Cmd, Env: map[string]string{"HOME": "/home/user"}})
		times[i] = time.Since(start)
		if refused := d.Verdict != guard.Allow; refused != (l.Expect != "allow") {
			wrong = append(wrong, fmt.Sprintf("  expected %s, got %s %s: %q (%s)\n    %q", l.Expect, d.Verdict, d.Rule, l.Cmd, l.Why, d.Reason))
		}
	}
	slices.Sort(times)
	right := len(lines) - len(wrong)
	fmt.Printf("%-24s %6d %6d %7.2f%% %10s %10s\n", filepath.Base(file), len(lines), right, 100*float64(right)/float64(len(lines)),
		times[len(times)/2], times[len(times)*99/100])
	if verbose {
		for _, w := range wrong {
			fmt.Println(w)
		}
	}
	return nil
}

// read reads a file of labelled lines.
func read(file string) ([]line, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var lines []line
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var l line
		if err := json.Unmarshal(in.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", file, len(lines)+1, err)
		}
		lines = append(lines, l)
	}
	if len(lines) == 0 && in.Err() == nil {
		return nil, fmt.Errorf("%s: no lines", file)
	}
	return lines, in.Err()
}
