package guard

import (
	"bufio"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// labelled is a command with what is expected of it, as the files of testdata/corpus have it.
type labelled struct {
	Cmd    string `json:"cmd"`
	Expect string `json:"expect"`
	Why    string `json:"why"`

	// Left says why the guard may leave the line to the kernel: code, file, shell or program.
	Left string `json:"left"`
}

// corpus reads files of labelled commands: the repository's by their names, others by their absolute paths.
func corpus(t testing.TB, names ...string) []labelled {
	t.Helper()
	var lines []labelled
	for _, name := range names {
		file := name
		if !filepath.IsAbs(file) {
			file = filepath.Join("testdata", "corpus", name+".jsonl")
		}
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		in := bufio.NewScanner(f)
		in.Buffer(nil, 1<<20)
		for in.Scan() {
			var l labelled
			if err := json.Unmarshal(in.Bytes(), &l); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			lines = append(lines, l)
		}
		if err := in.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return lines
}

var corpusFiles = flag.String("corpus", "", "absolute `paths` of corpora to judge in place of the repository's")

// aims are the least shares of right lines, in percent.
var aims = map[string]float64{
	"deny_direct": 98.5, "path_escape": 97, "allow_benign": 99.5, "seed_strict": 100,
	"harmful": 99, "outside": 99, "everyday": 99,
}

// The share of lines that must come out as labelled. To ask counts as to refuse, and what is left to the kernel counts
// as right.
func TestCorpus(t *testing.T) {
	t.Parallel()
	files := slices.Sorted(maps.Keys(aims))
	if *corpusFiles != "" {
		files = strings.Fields(*corpusFiles)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		p := everything()
		p.Kernel = true
		if strings.HasPrefix(name, ProfileSeedStrict) {
			p.Exec.Profile = ProfileSeedStrict
		}
		g := mustNew(t, p)
		lines := corpus(t, file)
		right, left := 0, 0
		for _, l := range lines {
			d := decide(g, l.Cmd)
			if l.Left != "" {
				left++
			}
			if (d.Verdict == Allow) == (l.Expect == "allow") || l.Left != "" {
				right++
			} else {
				t.Logf("%s: %q (%s): %s %s %q", name, l.Cmd, l.Why, d.Verdict, d.Rule, d.Reason)
			}
			if d.Verdict != Allow && (d.Rule == "" || d.Hint == "" || !strings.HasPrefix(d.Reason,
				"Command blocked by safety guard (")) {
				t.Errorf("%q is refused without a rule, a hint or the first line: %+v", l.Cmd, d)
			}
		}
		share := 100 * float64(right) / float64(len(lines))
		t.Logf("%-12s %4d lines, %4d left, %4d right: %6.2f %%; aim %g %%", name, len(lines), left, right, share, aims[name])
		if share < aims[name] {
			t.Errorf("%s: %.2f %% right; want %g %%", name, share, aims[name])
		}
	}
}
