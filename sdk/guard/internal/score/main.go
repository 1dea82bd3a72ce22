// Command score measures the guard on labelled command lines: files of JSON lines with the fields cmd, expect and why.
// It prints a table with a row a file, and with -v every line that came out wrong.
//
//	go run ./sdk/guard/internal/score [-v] [-kernel=false] [files]
//
// A file whose name begins with seed_strict is judged under that profile. To ask counts as to refuse. A line with the
// field left says what the guard leaves to the kernel, and is right whichever way it comes out:
//
//	code     what happens is computed by code of another language
//	file     it happens in a file that the command writes and another program reads
//	shell    the shell computes it in a way that the guard doesn't follow
//	program  only the language or the configuration of that one program says it
//
// The exit code is 1 when a file's share of right lines is below its aim.
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
	Left   string `json:"left"`
}

// aims is the least share of right lines, in percent, by the name of the file.
var aims = map[string]float64{
	"deny_direct.jsonl":  98.5,
	"path_escape.jsonl":  97,
	"seed_strict.jsonl":  100,
	"allow_benign.jsonl": 99.5,
	"everyday.jsonl":     99,
	"outside.jsonl":      99,
	"harmful.jsonl":      99,
}

func main() {
	verbose := flag.Bool("v", false, "print the lines that came out wrong")
	kernel := flag.Bool("kernel", true, "judge for a machine whose kernel confines what a command does")
	flag.Parse()
	files := flag.Args()
	if len(files) == 0 {
		files, _ = filepath.Glob("sdk/guard/testdata/corpus/*.jsonl")
	}
	if len(files) == 0 {
		fmt.Fprintln(os.Stderr, "score: no files: name some, or start it at the top of the repository")
		os.Exit(2)
	}
	fmt.Printf("%-20s %6s %6s %6s %8s %6s %10s %10s\n", "file", "lines", "left", "right", "share", "aim", "p50", "p99")
	below := false
	for _, file := range files {
		share, err := score(file, *kernel, *verbose)
		if err != nil {
			fmt.Fprintln(os.Stderr, "score:", err)
			os.Exit(2)
		}
		below = below || share < aims[filepath.Base(file)]
	}
	if below {
		os.Exit(1)
	}
}

// score judges the lines of one file, prints its row, and returns the share of right lines in percent.
func score(file string, kernel, verbose bool) (float64, error) {
	lines, err := read(file)
	if err != nil {
		return 0, err
	}
	policy := guard.Policy{Workspace: "/home/user/ws", Restrict: true, Kernel: kernel}
	policy.Exec.DenyPatterns = true
	base := filepath.Base(file)
	if strings.HasPrefix(base, guard.ProfileSeedStrict) {
		policy.Exec.Profile = guard.ProfileSeedStrict
	}
	g, err := guard.New(policy)
	if err != nil {
		return 0, err
	}
	var wrong []string
	left := 0
	times := make([]time.Duration, len(lines))
	for i, l := range lines {
		start := time.Now()
		d := g.Command(guard.Command{Text: l.Cmd, Env: map[string]string{"HOME": "/home/user"}})
		times[i] = time.Since(start)
		if l.Left != "" {
			left++
		} else if refused := d.Verdict != guard.Allow; refused != (l.Expect != "allow") {
			wrong = append(wrong, fmt.Sprintf("  expected %s, got %s %s: %q (%s)\n    %q",
				l.Expect, d.Verdict, d.Rule, l.Cmd, l.Why, d.Reason))
		}
	}
	slices.Sort(times)
	right := len(lines) - len(wrong)
	share := 100 * float64(right) / float64(len(lines))
	fmt.Printf("%-20s %6d %6d %6d %7.2f%% %6g %10s %10s\n", base, len(lines), left, right, share, aims[base],
		times[len(times)/2], times[len(times)*99/100])
	if verbose {
		for _, w := range wrong {
			fmt.Println(w)
		}
	}
	return share, nil
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
