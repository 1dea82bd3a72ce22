// Package halt keeps which agents an operator has stopped, in one file of the home that exists from its first start.
// Every host of the home reads it at each call and while calls run. A file that is missing or broken stops all agents.
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
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/internal/filelock"
	"github.com/picoclaw/picoclaw/internal/owner"
	"github.com/picoclaw/picoclaw/internal/smallfile"
)

const (
	fileName = "stopped.json"
	maxBytes = 1 << 20
)

// Stop describes one stop.
type Stop struct {
	Agent string    `json:"agent,omitempty"` // empty for all agents
	Time  time.Time `json:"time,omitzero"`
	By    string    `json:"by,omitempty"` // the user who stopped it
	Why   string    `json:"why,omitempty"`
}

// String describes the stop, such as "agent main is stopped since 12:00:00 by root: it loops".
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

// Cure returns the command that ends the stop.
func (s *Stop) Cure() string {
	if s.Agent == "" {
		return "picoclaw start"
	}
	return "picoclaw start --agent " + s.Agent
}

// seenWithin is how long after a stop every host has seen it.
const seenWithin = time.Second

// WaitUntilSeen waits until every host has seen the stop, since one that ends earlier ends no calls. A nil stop needs no
// wait.
func (s *Stop) WaitUntilSeen() {
	if s != nil {
		time.Sleep(min(time.Until(s.Time.Add(seenWithin)), seenWithin))
	}
}

// Stopped is the stops of one instant by agent; the one for all agents has the empty name.
type Stopped map[string]*Stop

// For returns the stop of an agent; nil if nothing stops it.
func (s Stopped) For(agent string) *Stop {
	if stop := s[""]; stop != nil {
		return stop
	}
	return s[agent]
}

// held are stops of this process alone, by home: those that could not be written.
var held struct {
	sync.Mutex
	homes map[string]Stopped
}

// Hold stops an agent in this process alone, until [Release].
func Hold(home string, stop Stop) {
	held.Lock()
	defer held.Unlock()
	if held.homes == nil {
		held.homes = map[string]Stopped{}
	}
	if held.homes[home] == nil {
		held.homes[home] = Stopped{}
	}
	held.homes[home][stop.Agent] = &stop
}

// Release ends the stop of an agent that [Hold] began, and reports whether there was one.
func Release(home, agent string) bool {
	held.Lock()
	defer held.Unlock()
	was := held.homes[home][agent] != nil
	delete(held.homes[home], agent)
	return was
}

// Read returns the stops of a home.
func Read(home string) Stopped {
	stopped := load(home)
	held.Lock()
	defer held.Unlock()
	for agent, stop := range held.homes[home] {
		stopped[agent] = stop
	}
	return stopped
}

// Of returns the stop of an agent of a home; nil if nothing stops it.
func Of(home, agent string) *Stop { return Read(home).For(agent) }

// state is the contents of the file.
type state struct {
	Stopped []*Stop `json:"stopped"`
}

func path(home string) string { return filepath.Join(home, fileName) }

// load reads the file. A home without an audit log needs none.
func load(home string) Stopped {
	data, err := smallfile.Read(path(home), maxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		if !audit.Exists(home) {
			return Stopped{}
		}
		data, err = smallfile.Read(path(home), maxBytes) // the first start writes it before the audit log
	}
	var s state
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err == nil && s.Stopped == nil {
		err = errors.New("it holds no list of stops")
	}
	stopped := Stopped{}
	for _, stop := range s.Stopped {
		if stop == nil {
			err = errors.New("a stop in it is null")
			break
		}
		stopped[stop.Agent] = stop
	}
	if err != nil {
		stopped[""] = &Stop{Why: fmt.Sprintf("the kill switch %s can't be read: %v; put back a copy of it, or let all agents "+
			"go on with `picoclaw start`", path(home), err)}
	}
	return stopped
}

// Prepare makes the state of a home at its first start, before the audit log exists, and sets space aside for changes
// on a full disk.
func Prepare(home string) error {
	if _, err := os.Lstat(path(home)); errors.Is(err, fs.ErrNotExist) && !audit.Exists(home) {
		if err := update(home, func(Stopped) {}); err != nil {
			return fmt.Errorf("make the kill switch %s: %w", path(home), err)
		}
	}
	return reserve(home)
}

// Put stops an agent, or all with an empty id. An agent that is stopped already keeps its stop.
func Put(home string, stop Stop) error {
	return update(home, func(s Stopped) {
		if s[stop.Agent] == nil {
			s[stop.Agent] = &stop
		}
	})
}

// ErrAll is the error of Take for one agent while all are stopped.
var ErrAll = errors.New("all agents are stopped; `picoclaw start` starts them, and those that were stopped by name stay so")

// Take starts an agent again, or with an empty id all that were stopped together. It reports whether it was stopped.
func Take(home, agent string) (bool, error) {
	if s := load(home); s[agent] == nil {
		if s[""] != nil {
			return false, ErrAll
		}
		return false, nil
	}
	if err := update(home, func(s Stopped) { delete(s, agent) }); err != nil {
		return false, fmt.Errorf("start: %w", err)
	}
	return true, reserve(home)
}

// update changes the file, while no other process does. On a full disk it gives up the reserve.
func update(home string, change func(Stopped)) error {
	turn, err := lockReserve(home)
	if err != nil {
		return err
	}
	defer func() { _ = turn.Close() }()
	stopped := load(home)
	change(stopped)
	s := state{Stopped: []*Stop{}}
	for agent, stop := range stopped {
		stop.Agent = agent
		s.Stopped = append(s.Stopped, stop)
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	if err = replace(home, append(text, '\n')); isFull(err) && turn.Truncate(0) == nil {
		err = replace(home, append(text, '\n'))
	}
	if isFull(err) { // no inode is left; a reader that finds half of it stops all agents
		err = overwrite(path(home), append(text, '\n'))
	}
	return err
}

// replace writes the file anew, for the owner of the home: who runs agents there has to read it, and to start them
// again.
func replace(home string, text []byte) error {
	file, err := os.CreateTemp(home, "."+fileName+".*")
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = owner.Give(home, file.Name())
	}
	if err == nil {
		err = os.Rename(file.Name(), path(home))
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

func overwrite(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(text, 0)
	return errors.Join(err, file.Truncate(int64(len(text))), file.Close())
}

// How long a change waits for another process. Who holds the lock longer does not keep anybody from stopping agents.
const (
	lockTimeout = time.Second
	lockPause   = 5 * time.Millisecond
)

func lockSoon(file *os.File) error {
	for end := time.Now().Add(lockTimeout); errors.Is(filelock.Lock(file), filelock.ErrLocked) && time.Now().Before(end); {
		time.Sleep(lockPause)
	}
	return nil
}

// lockReserve opens and locks the reserve.
func lockReserve(home string) (*os.File, error) {
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	file, err := filelock.Open(reservePath(home), lockSoon)
	if errors.Is(err, fs.ErrPermission) && os.Chmod(home, 0o700) == nil {
		file, err = filelock.Open(reservePath(home), lockSoon) // only a sandbox keeps commands from its mode
	}
	if err != nil {
		return nil, err
	}
	if err := owner.Give(home, file.Name()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
