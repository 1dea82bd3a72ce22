package schedule

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/picoclaw/picoclaw/host/redact"
)

// Record is what became of a run.
type Record struct {
	Time   time.Time `json:"time"` // when it began, or was left out
	Job    string    `json:"job"`  // its id; "heartbeat" for a heartbeat
	Name   string    `json:"name"`
	Millis int64     `json:"ms"`
	Status Status    `json:"status"`
	Text   string    `json:"text,omitzero"`  // what it had to say, as far as it is kept
	Error  string    `json:"error,omitzero"` // why it failed, or was left out
}

const (
	maxLog  = 2 << 20  // bytes, after which the log is put aside and another begun
	maxText = 16 << 10 // bytes of a text that are kept
	maxLine = 1 << 20  // bytes of a line that is read: more than one with two texts has
)

func (s *Store) logs() (former, current string) {
	return filepath.Join(s.dir, "runs.1.jsonl"), filepath.Join(s.dir, "runs.jsonl")
}

// record appends a line to the log, without what looks like a secret. One process at a time does.
func (s *Store) record(r Record) error {
	r.Time = r.Time.UTC()
	r.Text, r.Error = kept(r.Text), kept(r.Error)
	line, err := jsonv2.Marshal(r, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	former, current := s.logs()
	if info, err := os.Stat(current); err == nil && info.Size() > maxLog {
		if err := os.Rename(current, former); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(current, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// kept is the beginning of a text, as it is kept.
func kept(text string) string {
	text = redact.Text(text)
	if len(text) <= maxText {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:maxText], ""), len(text))
}

// Runs returns the last runs of the jobs with an id or a name, or with an empty one of all, the oldest first.
func (s *Store) Runs(job string, most int) ([]Record, error) {
	former, current := s.logs()
	var runs []Record
	for _, path := range []string{former, current} {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, maxLine)
		for lines.Scan() {
			var r Record
			// a line that a power failure has left without its end is none
			if jsonv2.Unmarshal(bytes.TrimSpace(lines.Bytes()), &r) == nil && (job == "" || r.Job == job || r.Name == job) {
				runs = append(runs, r)
			}
		}
		if err := errors.Join(lines.Err(), f.Close()); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
	}
	return runs[max(len(runs)-most, 0):], nil
}
