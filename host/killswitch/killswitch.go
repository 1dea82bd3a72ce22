// Package killswitch stores which agents an operator has stopped, in one file of the home, created at its first start.
// Every host of the home reads it at each call and while calls run. A missing or broken file stops all agents.
//
// The package must not know what a stop cancels.
package killswitch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/internal/filelock"
	"github.com/picoclaw/picoclaw/internal/fulldisk"
	"github.com/picoclaw/picoclaw/internal/owner"
	"github.com/picoclaw/picoclaw/internal/smallfile"
	"github.com/picoclaw/picoclaw/internal/statefiles"
)

const (
	fileName = "stopped.json"
	maxBytes = 1 << 20
)

// Stop is an operator's stop of one agent, or of all agents.
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

// CommandToResume returns the command that ends the stop.
func (s *Stop) CommandToResume() string {
	if s.Agent == "" {
		return "picoclaw start"
	}
	return "picoclaw start --agent " + s.Agent
}

// propagationTime is the maximum time until every host has read a new stop.
const propagationTime = time.Second

// WaitUntilHostsRead waits until every host has read the stop. A stop that ends earlier cancels no calls. A nil stop
// needs no wait.
func (s *Stop) WaitUntilHostsRead() {
	if s != nil {
		time.Sleep(min(time.Until(s.Time.Add(propagationTime)), propagationTime))
	}
}

// StopsByAgent are the current stops by agent. The stop of all agents has the empty name.
type StopsByAgent map[string]*Stop

// StopOfAgent returns the stop that applies to an agent; nil if the agent is not stopped.
func (s StopsByAgent) StopOfAgent(agent string) *Stop {
	if stop := s[""]; stop != nil {
		return stop
	}
	return s[agent]
}

// localStops are stops that apply in this process only, by home, because the file could not be written.
var localStops = struct {
	sync.Mutex
	homes map[string]StopsByAgent
}{homes: map[string]StopsByAgent{}}

// StopInProcess stops an agent in this process only, until [ResumeInProcess].
func StopInProcess(home string, stop Stop) {
	localStops.Lock()
	defer localStops.Unlock()
	if localStops.homes[home] == nil {
		localStops.homes[home] = StopsByAgent{}
	}
	localStops.homes[home][stop.Agent] = &stop
}

// ResumeInProcess ends a stop of [StopInProcess]. It reports whether there was a stop.
func ResumeInProcess(home, agent string) bool {
	localStops.Lock()
	defer localStops.Unlock()
	was := localStops.homes[home][agent] != nil
	delete(localStops.homes[home], agent)
	return was
}

// ReadStops returns the stops in a home and in this process.
func ReadStops(home string) StopsByAgent {
	stopped := readStopFile(home)
	localStops.Lock()
	defer localStops.Unlock()
	maps.Copy(stopped, localStops.homes[home])
	return stopped
}

// ReadStopOfAgent returns the stop that applies to an agent of a home; nil if the agent is not stopped.
func ReadStopOfAgent(home, agent string) *Stop { return ReadStops(home).StopOfAgent(agent) }

// stoppedFile is the content of stopped.json.
type stoppedFile struct {
	Stopped []*Stop `json:"stopped"`
}

func stoppedFilePath(home string) string { return filepath.Join(home, fileName) }

// isUsedHome reports whether a home has had a stop file: it has an audit log, or lists the file as a state file.
func isUsedHome(home string) bool {
	return audit.LogExists(home) || statefiles.CheckNotMissing(home, stoppedFilePath(home)) != nil
}

// readStopFile reads the stops from the file. An unreadable file stops all agents. A missing file does too, except in a
// home that was never used.
func readStopFile(home string) StopsByAgent {
	data, err := smallfile.Read(stoppedFilePath(home), maxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		if !isUsedHome(home) {
			return StopsByAgent{}
		}
		data, err = smallfile.Read(stoppedFilePath(home), maxBytes) // the first start creates it before the audit log
	}
	var s stoppedFile
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err == nil && s.Stopped == nil {
		err = errors.New("it contains no list of stops")
	}
	stopped := StopsByAgent{}
	for _, stop := range s.Stopped {
		if stop == nil {
			err = errors.New("a stop in it is null")
			break
		}
		stopped[stop.Agent] = stop
	}
	if err != nil {
		stopped[""] = &Stop{Why: fmt.Sprintf("the kill switch %s can't be read: %v; restore a copy of it, or let all agents "+
			"resume with `picoclaw start`", stoppedFilePath(home), err)}
	}
	return stopped
}

// CreateStopFile creates the file at the first start of a home, before the audit log exists. It reserves disk space, so
// that stops can be written on a full disk.
func CreateStopFile(home string) error {
	if _, err := os.Lstat(stoppedFilePath(home)); errors.Is(err, fs.ErrNotExist) && !isUsedHome(home) {
		if err := updateStops(home, func(StopsByAgent) {}); err != nil {
			return fmt.Errorf("make the kill switch: %w", err)
		}
	}
	return errors.Join(statefiles.AddToList(home, stoppedFilePath(home)), reserveSpace(home))
}

// StopAgent stops an agent, or all agents with an empty id. A stop of a stopped agent changes nothing.
func StopAgent(home string, stop Stop) error {
	err := updateStops(home, func(s StopsByAgent) {
		if lost := s[""]; lost != nil && lost.Time.IsZero() { // the file was missing or broken
			*lost = stop
			if stop.Agent != "" {
				lost.Why = "the kill switch was missing or damaged"
			}
		}
		if s[stop.Agent] == nil {
			s[stop.Agent] = &stop
		}
	})
	if err == nil {
		_ = statefiles.AddToList(home, stoppedFilePath(home)) // on a full disk, CreateStopFile has added it
	}
	return err
}

// ErrAllStopped is the error of ResumeAgent for one agent while all are stopped.
var ErrAllStopped = errors.New("all agents are stopped; `picoclaw start` starts them, and those that were stopped by name stay so")

// ResumeAgent ends the stop of an agent, or with an empty id the stop of all agents. It reports whether there was a
// stop.
func ResumeAgent(home, agent string) (bool, error) {
	if s := readStopFile(home); s[agent] == nil {
		if s[""] != nil {
			return false, ErrAllStopped
		}
		return false, nil
	}
	if err := updateStops(home, func(s StopsByAgent) { delete(s, agent) }); err != nil {
		return false, fmt.Errorf("start: %w", err)
	}
	return true, reserveSpace(home)
}

// updateStops changes the stops in the file, if possible under a lock. On a full disk it uses the reserved space, and
// omits the reasons if even that is missing.
func updateStops(home string, change func(StopsByAgent)) error {
	turn, err := openLockedReserveFile(home)
	if err == nil {
		defer func() { _ = turn.Close() }()
	}
	stopped := readStopFile(home)
	change(stopped)
	s := stoppedFile{Stopped: []*Stop{}}
	for agent, stop := range stopped {
		stop.Agent = agent
		s.Stopped = append(s.Stopped, stop)
	}
	if err = writeStopFile(home, s); fulldisk.IsFullDiskError(err) && turn.Truncate(0) == nil {
		err = writeStopFile(home, s)
	}
	if fulldisk.IsFullDiskError(err) {
		for _, stop := range s.Stopped {
			stop.Why = ""
		}
		err = writeStopFile(home, s)
	}
	return err
}

// writeStopFile replaces the file, or overwrites it if the home is not writable or has no inode left.
func writeStopFile(home string, s stoppedFile) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	path := stoppedFilePath(home)
	if err = replaceStopFile(home, append(text, '\n')); err != nil {
		if overwriteErr := overwriteFile(path, append(text, '\n')); !errors.Is(overwriteErr, fs.ErrNotExist) {
			err = overwriteErr
		}
	}
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w; run `chmod u+rwx %s` and `chmod u+rw %s`", err, home, path)
	}
	return err
}

// replaceStopFile replaces the file. The owner of the home owns the new file, to read it and to resume agents.
func replaceStopFile(home string, text []byte) error {
	file, err := os.CreateTemp(home, "."+fileName+".*")
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = owner.GiveToHomeOwner(home, file.Name())
	}
	if info, statErr := os.Lstat(stoppedFilePath(home)); err == nil && statErr == nil && info.IsDir() {
		err = os.Rename(stoppedFilePath(home), file.Name()+".replaced") // a file can't replace a directory
	}
	if err == nil {
		err = os.Rename(file.Name(), stoppedFilePath(home))
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

// overwriteFile writes a file in place. After an error it restores the previous text. A reader of a partial file stops
// all agents.
func overwriteFile(path string, text []byte) error {
	previous, _ := smallfile.Read(path, maxBytes)
	file, err := os.OpenFile(path, os.O_WRONLY|filelock.NonBlock|filelock.NoFollow, 0)
	if err != nil {
		return err
	}
	if _, err = file.WriteAt(text, 0); err != nil {
		_, _ = file.WriteAt(previous, 0)
		text = previous
	}
	return errors.Join(err, file.Truncate(int64(len(text))), file.Close())
}

// lockTimeout limits the wait for another process. If it holds the lock longer, agents are stopped without the lock.
const lockTimeout = time.Second

func lockBestEffort(file *os.File) error {
	_ = filelock.LockWithin(lockTimeout)(file)
	return nil
}

func openLockedReserveFile(home string) (*os.File, error) {
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	file, err := filelock.OpenLocked(reserveFilePath(home), lockBestEffort)
	if errors.Is(err, fs.ErrPermission) && os.Chmod(home, 0o700) == nil {
		file, err = filelock.OpenLocked(reserveFilePath(home), lockBestEffort) // without a sandbox, commands can change its mode
	}
	if err != nil {
		return nil, err
	}
	if err := owner.GiveToHomeOwner(home, file.Name()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
