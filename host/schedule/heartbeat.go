package schedule

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/internal/atomicfile"
	"github.com/picoclaw/picoclaw/internal/smallfile"
)

// HeartbeatID is the job id of heartbeats in run records.
const HeartbeatID = "heartbeat"

// HeartbeatOK is the answer of an agent that has nothing to report.
const HeartbeatOK = "HEARTBEAT_OK"

const (
	firstHeartbeat   = time.Second // delay after the scheduler starts
	maxHeartbeatFile = 64 << 10    // bytes of HEARTBEAT.md
	taskMarker       = "Add your heartbeat tasks below this line:"
)

const heartbeatTemplate = `# Heartbeat

At each heartbeat the agent is asked to look after the tasks in this file. A line is a task; one that begins with # and
an empty one are none. Without a task no model is asked.

` + taskMarker + `
`

// HeartbeatInterval converts the configured minutes: 0 or less means 30. The minimum is 5.
func HeartbeatInterval(minutes int64) time.Duration {
	switch {
	case minutes <= 0:
		minutes = 30
	case minutes < 5:
		minutes = 5
	}
	return time.Duration(minutes) * time.Minute
}

// HeartbeatPath returns the path of the file with an agent's heartbeat tasks.
func (s *Store) HeartbeatPath() string { return filepath.Join(s.dir, "HEARTBEAT.md") }

// heartbeatPrompt returns the prompt of a heartbeat; empty if HEARTBEAT.md has no tasks. It creates a missing file.
func (s *Store) heartbeatPrompt(now time.Time) (string, error) {
	text, err := smallfile.Read(s.HeartbeatPath(), maxHeartbeatFile)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(s.dir, 0o700); err == nil {
			err = atomicfile.WriteFile(s.HeartbeatPath(), []byte(heartbeatTemplate), 0o600)
		}
		return "", err
	}
	if errors.Is(err, smallfile.ErrLarger) {
		return "", fmt.Errorf("%s: %w: shorten it", s.HeartbeatPath(), err)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", s.HeartbeatPath(), err)
	}
	if !hasTasks(string(text)) {
		return "", nil
	}
	return fmt.Sprintf("# Heartbeat Check\n\nCurrent time: %s\n\n"+
		"This is a scheduled check. Look after the tasks in the file below, with your tools where they help.\n"+
		"If there is nothing that needs attention, respond ONLY with: %s\n\n%s",
		now.Format("2006-01-02 15:04:05 MST"), HeartbeatOK, text), nil
}

// hasTasks reports whether there is a task below the marker line. Without a marker, any line is a task.
func hasTasks(text string) bool {
	if _, below, found := strings.Cut(text, taskMarker); found {
		text = below
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return true
		}
	}
	return false
}

// isHeartbeatOK reports whether an answer is HEARTBEAT_OK, ignoring markup and punctuation.
func isHeartbeatOK(answer string) bool { return strings.Trim(answer, " \t\r\n.!*`\"'") == HeartbeatOK }
