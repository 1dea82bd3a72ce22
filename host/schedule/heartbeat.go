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

// HeartbeatID stands for the id of a job in the records of heartbeats.
const HeartbeatID = "heartbeat"

// HeartbeatOK is the answer of an agent that has nothing to say.
const HeartbeatOK = "HEARTBEAT_OK"

const (
	firstBeat    = time.Second // after the scheduler has begun
	maxHeartbeat = 64 << 10    // bytes of the file
	marker       = "Add your heartbeat tasks below this line:"
)

const heartbeatTemplate = `# Heartbeat

At each heartbeat the agent is asked to look after the tasks in this file. A line is a task; one that begins with # and
an empty one are none. Without a task no model is asked.

` + marker + `
`

// HeartbeatInterval is the time between heartbeats for a number of minutes in the configuration: 30 for 0, and 5 for
// less.
func HeartbeatInterval(minutes int64) time.Duration {
	switch {
	case minutes <= 0:
		minutes = 30
	case minutes < 5:
		minutes = 5
	}
	return time.Duration(minutes) * time.Minute
}

// HeartbeatFile is the path of the file with an agent's tasks.
func (s *Store) HeartbeatFile() string { return filepath.Join(s.dir, "HEARTBEAT.md") }

// heartbeat is the prompt of a heartbeat at a time; empty if there is nothing to do. It has nothing of what the agent
// has answered before. A file that is missing is made.
func (s *Store) heartbeat(now time.Time) (string, error) {
	text, err := smallfile.Read(s.HeartbeatFile(), maxHeartbeat)
	if errors.Is(err, fs.ErrNotExist) {
		return "", s.writeHeartbeat()
	}
	if errors.Is(err, smallfile.ErrLarger) {
		return "", fmt.Errorf("%s: %w: shorten it", s.HeartbeatFile(), err)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", s.HeartbeatFile(), err)
	}
	if !hasTasks(string(text)) {
		return "", nil
	}
	return fmt.Sprintf("# Heartbeat Check\n\nCurrent time: %s\n\n"+
		"This is a scheduled check. Look after the tasks in the file below, with your tools where they help.\n"+
		"If there is nothing that needs attention, respond ONLY with: %s\n\n%s",
		now.Format("2006-01-02 15:04:05 MST"), HeartbeatOK, text), nil
}

func (s *Store) writeHeartbeat() error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	return atomicfile.Write(s.HeartbeatFile(), []byte(heartbeatTemplate), 0o600)
}

// hasTasks reports whether a line below the marker, or without one any line, is a task.
func hasTasks(text string) bool {
	if _, below, found := strings.Cut(text, marker); found {
		text = below
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return true
		}
	}
	return false
}

// allWell reports whether an answer is that there is nothing to say, perhaps with a full stop or in bold.
func allWell(answer string) bool { return strings.Trim(answer, " \t\r\n.!*`\"'") == HeartbeatOK }
