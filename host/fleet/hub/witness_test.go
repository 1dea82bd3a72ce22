package hub_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/fleet/identity"
	"github.com/picoclaw/picoclaw/host/fleet/witness"
)

// What a worker has told the hub finds out a log that was cut.
func TestTheHubHasSeenWhatWasCutOff(t *testing.T) {
	h := newHub(t)
	serve(t, h)
	worker := connect(t, add(t, h, "main", identity.Worker, "w1", "a"))
	gateway := connect(t, add(t, h, "main", identity.Gateway, "g1"))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var notes bytes.Buffer
	if err := witness.Dump(ctx, gateway, "main", "w1", &notes); err == nil ||
		!strings.Contains(err.Error(), "told nothing") {
		t.Errorf("before it has told anything: %v", err)
	}

	path := filepath.Join(t.TempDir(), "logs", "audit.jsonl")
	log, err := audit.OpenLog(path, audit.LogOptions{})
	if err != nil {
		t.Fatal(err)
	}
	tell, err := witness.Teller(worker, "main", "w1")
	if err != nil {
		t.Fatal(err)
	}
	told := audit.StartWitnessSender(path, audit.WitnessOptions{Records: 1, Interval: time.Hour, Send: tell,
		OnFailure: func(err error) { t.Error(err) }})
	for range 3 {
		if err := log.Write(audit.Record{Time: time.Now(), Agent: "a", Tool: "x"}); err != nil {
			t.Fatal(err)
		}
		told.CountEntry()
	}
	told.Close()
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}

	file := filepath.Join(t.TempDir(), "notes.jsonl")
	verdict := func() string {
		t.Helper()
		notes.Reset()
		if err := witness.Dump(ctx, gateway, "main", "w1", &notes); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, notes.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		read, err := audit.ReadWitnessNotes(ctx, file)
		if err != nil {
			t.Fatal(err)
		}
		_, testimony, err := read.VerifyLog(path, "")
		if err != nil {
			t.Fatal(err)
		}
		return testimony.Verdict
	}
	if got := verdict(); got != audit.LogMatches {
		t.Errorf("as it was written: %s", got)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	if err := os.WriteFile(path, bytes.Join(lines[:2], nil), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := verdict(); got != audit.LogCut {
		t.Errorf("after the last record was cut off: %s", got)
	}
}
