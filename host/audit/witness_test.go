package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// witnessed is a log of so many records, of which a witness was told each few of; and where the witness is.
func witnessed(t *testing.T, count int, options LogOptions) (path, to string) {
	t.Helper()
	path, to = filepath.Join(t.TempDir(), "audit.jsonl"), filepath.Join(t.TempDir(), "witness.jsonl")
	for range 3 { // a process each
		witnessOf(t, path, to, count/3, options)
	}
	return path, to
}

func witnessOf(t *testing.T, path, to string, count int, options LogOptions) {
	t.Helper()
	log, err := OpenLog(path, options)
	if err != nil {
		t.Fatal(err)
	}
	complain := func(err error) { t.Error(err) }
	w := StartWitnessSender(path, WitnessOptions{To: to, Records: 2, Interval: time.Hour, OnFailure: complain})
	for range count {
		if err := log.Write(record("tool")); err != nil {
			t.Error(err)
		}
		w.CountEntry()
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	w.Close()
}

func testimony(t *testing.T, path, from string) *WitnessReport {
	t.Helper()
	notes, err := ReadWitnessNotes(context.Background(), from)
	if err != nil {
		t.Fatal(err)
	}
	_, said, err := notes.VerifyLog(path, "")
	if err != nil {
		t.Fatal(err)
	}
	return said
}

func TestWitnessTellsCutFromChange(t *testing.T) {
	cut := func(lines int) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			kept := bytes.Join(bytes.SplitAfter(text, []byte("\n"))[:lines], nil)
			if err := os.WriteFile(path, kept, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	forge := func(from int) func(*testing.T, string) {
		return func(t *testing.T, path string) { aForger(t, path, from) }
	}
	remove := func(t *testing.T, path string) {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	grow := func(t *testing.T, path string) {
		witnessOf(t, path, filepath.Join(t.TempDir(), "another"), 30, LogOptions{})
	}
	for name, c := range map[string]struct {
		alter   []func(*testing.T, string)
		verdict string
	}{
		"as it was written":         {nil, LogMatches},
		"with records since":        {[]func(*testing.T, string){grow}, LogMatches},
		"without the last":          {[]func(*testing.T, string){cut(29)}, LogCut},
		"without any":               {[]func(*testing.T, string){remove}, LogCut},
		"cut to nothing":            {[]func(*testing.T, string){cut(0)}, LogCut},
		"written anew from the 4th": {[]func(*testing.T, string){forge(4)}, LogChanged},
		"cut, and gone on with":     {[]func(*testing.T, string){cut(20), grow}, LogChanged},
		"removed and begun anew":    {[]func(*testing.T, string){remove, grow}, OtherLog},
		"written anew from the 1st": {[]func(*testing.T, string){forge(1)}, OtherLog},
	} {
		t.Run(name, func(t *testing.T) {
			path, to := witnessed(t, 30, LogOptions{})
			for _, alter := range c.alter {
				alter(t, path)
			}
			if said := testimony(t, path, to); said.Verdict != c.verdict || said.Notes < 3 {
				t.Errorf("it is %+v; want %s", said, c.verdict)
			}
		})
	}
}

func TestWitnessCountsRotatedFiles(t *testing.T) {
	path, to := witnessed(t, 90, LogOptions{MaxSize: 1000, MaxFiles: 4})
	said := testimony(t, path, to)
	if said.Verdict != LogMatches || said.Count != 90 || said.Note.Count != 90 || said.Checked < 1 {
		t.Errorf("it is %+v", said)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if said := testimony(t, path, to); said.Verdict != LogCut {
		t.Errorf("without the current file, it is %+v", said)
	}
}

func TestWitnessWithSeveralWriters(t *testing.T) {
	path, to := filepath.Join(t.TempDir(), "audit.jsonl"), filepath.Join(t.TempDir(), "witness.jsonl")
	var running sync.WaitGroup
	for range 3 {
		running.Go(func() { witnessOf(t, path, to, 50, LogOptions{MaxSize: 4000}) })
	}
	running.Wait()
	said := testimony(t, path, to)
	if said.Verdict != LogMatches || said.Note.Count != 150 || said.Checked != said.Notes {
		t.Errorf("it is %+v", said)
	}
}

func TestFailedWitnessIsReportedOnce(t *testing.T) {
	var mu sync.Mutex
	var lines bytes.Buffer
	broken, asked := true, make(chan struct{}, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case r.Method == http.MethodGet:
			_, _ = w.Write(lines.Bytes())
		case broken:
			w.WriteHeader(http.StatusInternalServerError)
			asked <- struct{}{}
		default:
			_, _ = lines.ReadFrom(r.Body)
			lines.WriteByte('\n')
		}
	}))
	defer server.Close()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log := open(t, path, LogOptions{})
	complaints := 0
	complain := func(err error) {
		complaints++
		if !strings.Contains(err.Error(), "answers 500") || strings.Contains(err.Error(), "hunter2") {
			t.Error(err)
		}
	}
	to := server.URL + "/?key=hunter2"
	w := StartWitnessSender(path, WitnessOptions{To: to, Records: 1, Interval: time.Hour, OnFailure: complain})
	for range 3 {
		if err := log.Write(record("tool")); err != nil {
			t.Fatal(err)
		}
		w.CountEntry()
		<-asked
	}
	mu.Lock()
	broken = false
	mu.Unlock()
	w.Close()
	said := testimony(t, path, server.URL)
	if complaints != 1 || said.Verdict != LogMatches || said.Notes != 1 || said.Note.Count != 3 {
		t.Errorf("%d complaints, and it is %+v", complaints, said)
	}
}

func TestCloseDespiteHangingWitness(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(release)
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log := open(t, path, LogOptions{})
	w := StartWitnessSender(path, WitnessOptions{To: server.URL, Records: 1, Interval: time.Hour, OnFailure: func(error) {}})
	for range 100 {
		if err := log.Write(record("tool")); err != nil {
			t.Fatal(err)
		}
		w.CountEntry()
	}
	w.Close()
	<-w.done
}

func FuzzNotes(f *testing.F) {
	sum := strings.Repeat("ab", 32)
	f.Add(fmt.Appendf(nil, `{"chain":"%s","count":3,"head":"%s","time":"2026-01-01T00:00:00Z"}`, sum, sum))
	f.Add([]byte("{}\n\n[1]\nx"))
	f.Fuzz(func(t *testing.T, text []byte) {
		notes, err := parseWitnessNotes(bytes.NewReader(text))
		if err != nil {
			return
		}
		for _, n := range notes.All {
			line, err := json.Marshal(n)
			if err != nil || n.Count < 1 || !isChainHash(n.Head) || !isChainHash(n.Chain) {
				t.Errorf("%+v: %v", n, err)
			}
			if again, err := parseWitnessNotes(bytes.NewReader(line)); err != nil || len(again.All) != 1 {
				t.Errorf("%s comes back as %+v, %v", line, again, err)
			}
		}
		(&WitnessReport{}).setVerdict(notes.All, map[string]int{sum: 1}, nil)
	})
}
