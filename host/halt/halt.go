// Package halt keeps which agents an operator has stopped: one file each below the instance root, there until the
// operator starts the agent again. Every host of the instance root looks there, at each call and while calls run.
//
// It must not know what is ended, nor how.
package halt

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/internal/owner"
)

// dirName is the directory below the instance root, all the file that stands for every agent. No agent has such an id.
const (
	dirName = "stopped"
	all     = "@all"
	suffix  = ".json"
)

// Stop is what is known of one.
type Stop struct {
	Agent string    `json:"agent,omitempty"` // empty for all agents
	Time  time.Time `json:"time"`
	By    string    `json:"by,omitempty"` // the user who has stopped it
	Why   string    `json:"why,omitempty"`
}

// String says it in a sentence's end, such as "agent main is stopped since 12:00:00 by root: it loops".
func (s *Stop) String() string {
	text := "all agents are stopped"
	if s.Agent != "" {
		text = "agent " + s.Agent + " is stopped"
	}
	if !s.Time.IsZero() {
		text += " since " + s.Time.Local().Format(time.DateTime)
	}
	if s.By != "" {
		text += " by " + s.By
	}
	if s.Why != "" {
		text += ": " + s.Why
	}
	return text
}

// Cure is the command that takes it back.
func (s *Stop) Cure() string {
	if s.Agent == "" {
		return "picoclaw start"
	}
	return "picoclaw start --agent " + s.Agent
}

// seenWithin is how long after a stop every host has seen it.
const seenWithin = time.Second

// WaitUntilSeen waits until every host has seen a stop: one that is taken back before would have ended nothing. No stop
// was seen.
func (s *Stop) WaitUntilSeen() {
	if s != nil {
		time.Sleep(min(time.Until(s.Time.Add(seenWithin)), seenWithin))
	}
}

// Stopped is what is stopped at one instant.
type Stopped map[string]*Stop

// For returns what stops an agent; nil if nothing does.
func (s Stopped) For(agent string) *Stop {
	if stop := s[all]; stop != nil {
		return stop
	}
	return s[agent]
}

// Read returns what is stopped on an instance root. A directory that may not be read stops all, as with [Of].
func Read(home string) (Stopped, error) {
	entries, err := os.ReadDir(filepath.Join(home, dirName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if errors.Is(err, fs.ErrPermission) {
		return Stopped{all: {Why: err.Error()}}, nil
	}
	if err != nil {
		return nil, err
	}
	stopped := Stopped{}
	for _, entry := range entries {
		if name, ok := strings.CutSuffix(entry.Name(), suffix); ok {
			if stop := read(home, name); stop != nil {
				stopped[name] = stop
			}
		}
	}
	return stopped, nil
}

// Of returns what stops an agent on an instance root; nil if nothing does. What can't be told stops it.
func Of(home, agent string) *Stop {
	for _, name := range []string{all, agent} {
		if stop := read(home, name); stop != nil {
			return stop
		}
	}
	return nil
}

// read reads one file. One that can't be read stops all the same: somebody has put it there.
func read(home, name string) *Stop {
	text, err := os.ReadFile(path(home, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	stop := &Stop{}
	if err == nil {
		err = json.Unmarshal(text, stop)
	}
	if err != nil {
		stop = &Stop{Why: err.Error()}
	}
	if stop.Agent = name; name == all {
		stop.Agent = ""
	}
	return stop
}

func path(home, name string) string { return filepath.Join(home, dirName, name+suffix) }

// Put stops an agent, or all with an empty one. What is stopped already stays so, with what was known of it.
func Put(home string, stop Stop) error {
	name := stop.Agent
	if name == "" {
		name = all
	}
	text, err := json.Marshal(stop)
	if err != nil {
		return err
	}
	dir := filepath.Join(home, dirName)
	err = os.MkdirAll(dir, 0o700)
	if errors.Is(err, fs.ErrPermission) && os.Chmod(home, 0o700) == nil {
		err = os.MkdirAll(dir, 0o700) // nothing but a sandbox keeps commands from changing the mode of the root
	}
	if err != nil {
		return err
	}
	// Whoever runs agents there has to be able to read it, and to take it back, whoever has stopped them.
	if err := owner.Give(home, dir); err != nil {
		return err
	}
	// The content is there before the name is: whoever reads it has all of it.
	file, err := os.CreateTemp(dir, "new-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	// On a disk that is full the name alone stops: only who has stopped it, and why, is lost.
	_, err = file.Write(append(text, '\n'))
	if err := errors.Join(err, file.Close()); err != nil && !full(err) {
		return err
	}
	if err := owner.Give(home, file.Name()); err != nil {
		return err
	}
	if err := os.Link(file.Name(), path(home, name)); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// ErrAll is the error of Take for one agent while all are stopped.
var ErrAll = errors.New("all agents are stopped; `picoclaw start` starts them, and those that were stopped by name stay so")

// Take starts an agent again, or with an empty one all that were stopped together. It reports whether it was stopped.
func Take(home, agent string) (bool, error) {
	name := agent
	if name == "" {
		name = all
	} else if read(home, all) != nil && read(home, agent) == nil {
		return false, ErrAll
	}
	err := os.Remove(path(home, name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("start: %w", err)
	}
	return true, nil
}
