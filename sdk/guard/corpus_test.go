package guard

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
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

// corpus reads files of labelled commands.
func corpus(t testing.TB, names ...string) []labelled {
	t.Helper()
	var lines []labelled
	for _, name := range names {
		f, err := os.Open(filepath.Join("testdata", "corpus", name+".jsonl"))
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

// The share of lines that must come out as labelled. To ask counts as to refuse, and what is left to the kernel counts
// as right.
func TestCorpus(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]float64{
		"deny_direct": 0.98, "path_escape": 0.97, "allow_benign": 0.99, "seed_strict": 1,
		"harmful": 0.99, "outside": 0.99, "everyday": 0.99,
	} {
		p := everything()
		p.Kernel = true
		if strings.HasPrefix(name, ProfileSeedStrict) {
			p.Exec.Profile = ProfileSeedStrict
		}
		g := mustNew(t, p)
		lines := corpus(t, name)
		right := 0
		for _, l := range lines {
			d := decide(g, l.Cmd)
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
		if share := float64(right) / float64(len(lines)); share < want {
			t.Errorf("%s: %.2f %% right; want %.0f %%", name, 100*share, 100*want)
		}
	}
}
