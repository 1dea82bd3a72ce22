package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

func opened(t testing.TB, path string) *journal {
	t.Helper()
	j, err := openJournal(path, "this boot")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.close() })
	return j
}

func TestAJournalKnowsWhatHasBegunAndWhatHasEnded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j := opened(t, path)
	if err := j.took(tenure{7, "life"}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b"} {
		if err := j.begin(id, "digest of "+id); err != nil {
			t.Fatal(err)
		}
	}
	answer := []byte("{}\nwith\n{lines}\n")
	if err := j.done("a", answer); err != nil {
		t.Fatal(err)
	}
	for _, j := range []*journal{j, opened(t, path)} {
		if c, got, err := j.find("a"); err != nil || c == nil || !c.done || c.digest != "digest of a" ||
			!bytes.Equal(got, answer) {
			t.Errorf("a: %+v %q %v", c, got, err)
		}
		if c, got, err := j.find("b"); err != nil || c == nil || c.done || got != nil {
			t.Errorf("b: %+v %q %v", c, got, err)
		}
		if c, _, err := j.find("c"); err != nil || c != nil {
			t.Errorf("c: %+v %v", c, err)
		}
		if !j.had(tenure{7, "life"}) || j.had(tenure{8, "life"}) || j.had(tenure{7, "another"}) {
			t.Error("the tenures are others")
		}
	}
}

func TestAJournalThatWasCutOffKeepsWhatIsWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j := opened(t, path)
	if err := j.begin("a", "x"); err != nil {
		t.Fatal(err)
	}
	if err := j.done("a", []byte("the answer")); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begun := bytes.IndexByte(whole, '\n') + 1
	for n := range whole {
		cut := filepath.Join(t.TempDir(), "journal")
		if err := os.WriteFile(cut, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		j := opened(t, cut)
		if c, _, err := j.find("a"); err != nil || (c != nil) != (n >= begun) || c != nil && c.done {
			t.Fatalf("after %d bytes of %d: %+v %v", n, len(whole), c, err)
		}
		if err := j.begin("b", "y"); err != nil {
			t.Fatal(err)
		}
		if c, _, _ := opened(t, cut).find("b"); c == nil {
			t.Fatalf("after %d bytes what is written is not found", n)
		}
	}
}

// A machine that loses power may keep a file's length and not what was written last.
func TestAnAnswerOfWhichThereIsNotAllIsNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j := opened(t, path)
	for _, id := range []string{"a", "b"} {
		if err := j.begin(id, "x"); err != nil {
			t.Fatal(err)
		}
		if err := j.done(id, []byte("the answer of "+id)); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lost := bytes.Replace(whole, []byte("the answer of a"), []byte("the answer \x00\x00\x00\x00"), 1)
	if err := os.WriteFile(path+"2", lost, 0o600); err != nil {
		t.Fatal(err)
	}
	j = opened(t, path+"2")
	if c, answer, err := j.find("a"); err != nil || c == nil || c.done || answer != nil {
		t.Errorf("a: %+v %q %v", c, answer, err)
	}
	if _, answer, err := j.find("b"); err != nil || string(answer) != "the answer of b" {
		t.Errorf("b: %q %v", answer, err)
	}
}

// What was written before the machine started anew may be there or not: what is there counts, and of what is not there
// nobody says that it never was.
func TestAJournalOfAnEarlierBootHasHadNoAgent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j := opened(t, path)
	if err := j.took(tenure{7, "life"}); err != nil {
		t.Fatal(err)
	}
	if err := j.begin("a", "x"); err != nil {
		t.Fatal(err)
	}
	if err := j.done("a", []byte("the answer")); err != nil {
		t.Fatal(err)
	}
	for _, boot := range []string{"this boot", "another", "a third"} {
		j, err := openJournal(path, boot)
		if err != nil {
			t.Fatal(err)
		}
		if j.had(tenure{7, "life"}) != (boot == "this boot") {
			t.Errorf("in %s the journal has had epoch 7: %t", boot, j.had(tenure{7, "life"}))
		}
		if _, answer, err := j.find("a"); err != nil || string(answer) != "the answer" {
			t.Errorf("in %s: %q %v", boot, answer, err)
		}
		if err := errors.Join(j.took(tenure{8, "life"}), j.close()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAJournalStaysShortAndForgetsNoCall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j := opened(t, path)
	if err := j.took(tenure{3, "life"}); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 1<<20)
	const calls = 80
	for i := range calls {
		id := fmt.Sprint(i)
		if err := j.begin(id, "d"+id); err != nil {
			t.Fatal(err)
		}
		if i%10 != 5 {
			if err := j.done(id, answer); err != nil {
				t.Fatal(err)
			}
		}
	}
	if info, err := os.Stat(path); err != nil || info.Size() > journalBytes+2<<20 {
		t.Errorf("%v %v", info, err)
	}
	for _, j := range []*journal{j, opened(t, path)} {
		kept := 0
		for i := range calls {
			c, got, err := j.find(fmt.Sprint(i))
			if err != nil || c == nil || c.digest != fmt.Sprint("d", i) || c.done != (i%10 != 5) {
				t.Fatalf("%d: %+v %v", i, c, err)
			}
			if bytes.Equal(got, answer) {
				kept++
			}
		}
		if kept < 10 || !j.had(tenure{3, "life"}) {
			t.Errorf("only %d answers are kept", kept)
		}
	}
	if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 1 {
		t.Errorf("%v %v", files, err)
	}
}

// A call that still runs is not forgotten, however long ago it has begun and however many have come since; nor is one
// that has just ended.
func TestAJournalForgetsNoCallThatRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j := opened(t, path)
	for _, id := range []string{"runs", "long", "old"} {
		if err := j.begin(id, id); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.done("old", []byte("x")); err != nil {
		t.Fatal(err)
	}
	j.mu.Lock()
	for _, c := range j.calls {
		c.at = time.Now().Add(-2 * journalAge)
	}
	for i := range journalCalls { // as if they had come since
		id := fmt.Sprint(i)
		j.apply(journalLine{Begun: id}, 0, time.Now())
		j.apply(journalLine{Done: id}, 0, time.Now())
	}
	j.mu.Unlock()
	if err := j.done("long", []byte("y")); err != nil {
		t.Fatal(err)
	}
	if err := j.begin("new", "d"); err != nil {
		t.Fatal(err)
	}
	for _, j := range []*journal{j, opened(t, path)} {
		for id, want := range map[string]bool{"runs": true, "long": true, "new": true, "old": false, "0": false} {
			if c, _, err := j.find(id); err != nil || (c != nil) != want {
				t.Errorf("%s: %+v %v", id, c, err)
			}
		}
		if n := len(j.calls); n > journalCalls/2+2 {
			t.Errorf("%d calls are kept", n)
		}
	}
}

func TestCallsBeginAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j := opened(t, path)
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			id := fmt.Sprint(i)
			if err := j.begin(id, id); err != nil {
				t.Error(err)
			}
			if err := j.done(id, []byte("answer of "+id)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	j = opened(t, path)
	for i := range 200 {
		if _, got, err := j.find(fmt.Sprint(i)); err != nil || string(got) != fmt.Sprint("answer of ", i) {
			t.Fatalf("%d: %q %v", i, got, err)
		}
	}
}

func FuzzJournal(f *testing.F) {
	f.Add([]byte(`{"begun":"a","digest":"d"}` + "\n" + `{"done":"a","length":3}` + "\nabc" + `{"epoch":4}` + "\n"))
	f.Add([]byte(`{"done":"a","length":99}` + "\nabc"))
	f.Add([]byte(`{"begun":"a","length":-1}` + "\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "journal")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		j := opened(t, path)
		if err := j.begin("new", "d"); err != nil {
			t.Fatal(err)
		}
		again := opened(t, path)
		for id, c := range j.calls {
			if got := again.calls[id]; got == nil || got.digest != c.digest || got.done != c.done {
				t.Errorf("%q: %+v, and then %+v", id, c, got)
			}
		}
	})
}

func FuzzMessages(f *testing.F) {
	f.Add([]byte(`{"v":1,"kind":"answer","result":{"structured":{"a":"<"}}}` + "\ntext"))
	f.Add([]byte(`{"v":1,"id":"x","epoch":3}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, body, err := decode[reply](data)
		if err != nil {
			return
		}
		text, err := encode(r, body)
		if err != nil {
			t.Fatal(err)
		}
		if _, again, err := decode[reply](text); err != nil || !bytes.Equal(body, again) {
			t.Errorf("%q %v", again, err)
		}
		_, _, _ = decode[request](data)
	})
}
