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
	"github.com/picoclaw/picoclaw/internal/statefiles"
)

// RunRecord is the log entry of a job's run.
type RunRecord struct {
	Time   time.Time `json:"time"` // start, or time of the decision to skip
	Job    string    `json:"job"`  // job id; "heartbeat" for a heartbeat
	Name   string    `json:"name"`
	Millis int64     `json:"ms"`
	Status RunStatus `json:"status"`
	Text   string    `json:"text,omitzero"`  // output, shortened
	Error  string    `json:"error,omitzero"` // reason of a failed or skipped run
}

const (
	maxLog  = 2 << 20  // size at which the log is rotated
	maxText = 16 << 10 // bytes of a text that are logged
	maxLine = 1 << 20  // bytes of a line, more than two texts need
)

// logPaths returns the paths of the rotated and the current log.
func (s *Store) logPaths() (rotated, current string) {
	return filepath.Join(s.dir, "runs.1.jsonl"), filepath.Join(s.dir, "runs.jsonl")
}

// appendRecord appends a record without secrets to the log. Only one process at a time may call it.
func (s *Store) appendRecord(r RunRecord) error {
	r.Time = r.Time.UTC()
	r.Text, r.Error = redactLogText(r.Text), redactLogText(r.Error)
	line, err := jsonv2.Marshal(r, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return err
	}
	if err = os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	rotated, current := s.logPaths()
	if info, statErr := os.Stat(current); statErr == nil && info.Size() > maxLog {
		if err = os.Rename(current, rotated); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(current, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close(), statefiles.AddToList(s.home, current))
}

// redactLogText removes secrets from text and shortens it for the log.
func redactLogText(text string) string {
	text = redact.RedactText(text)
	if len(text) <= maxText {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:maxText], ""), len(text))
}

// RecentRuns returns up to limit records of the job with an id or name, or of all jobs if job is empty, oldest first.
// With an error it returns the readable records.
func (s *Store) RecentRuns(job string, limit int) ([]RunRecord, error) {
	rotated, current := s.logPaths()
	var runs []RunRecord
	broken := statefiles.CheckNotMissing(s.home, current)
	for _, path := range []string{rotated, current} {
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
			var r RunRecord
			if text := bytes.TrimSpace(lines.Bytes()); jsonv2.Unmarshal(text, &r) != nil {
				broken = fmt.Errorf("%s has unreadable lines, for example after a power failure; restore a copy, or remove them", path)
			} else if job == "" || r.Job == job || r.Name == job {
				runs = append(runs, r)
			}
		}
		if err := errors.Join(lines.Err(), f.Close()); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
	}
	return runs[max(len(runs)-limit, 0):], broken
}
