// Package pidfile prevents two daemons in one home, and tells others where the daemon serves.
//
// A daemon writes its process id with [AcquirePidFile] and holds a lock on the file as long as it lives. The kernel
// releases the lock, however the daemon ends. So the number alone never decides: a file without a lock is stale,
// whether its process has ended, its id was reused, it comes from another container (where it is always 1), or it is
// invalid.
//
// It must not know what a daemon does, nor how it is stopped.
package pidfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/picoclaw/picoclaw/internal/filelock"
	"github.com/picoclaw/picoclaw/internal/smallfile"
)

// FileName is the name of the pid file in PICOCLAW_HOME.
const FileName = "picoclaw.pid"

// maxFileBytes limits a pid file.
const maxFileBytes = 64 << 10

// DaemonInfo is the content of a pid file.
type DaemonInfo struct {
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	Address string    `json:"address,omitempty"` // where it serves
	Version string    `json:"version,omitempty"`
}

// RunningError means that another daemon uses the same PICOCLAW_HOME.
type RunningError struct {
	Home string
	Data DaemonInfo // zero if unreadable
}

func (e *RunningError) Error() string {
	who := ""
	if e.Data.PID != 0 {
		who = fmt.Sprintf(" (process %d)", e.Data.PID)
	}
	return fmt.Sprintf("another picoclaw%s runs on %s; stop it first, or set PICOCLAW_HOME to another directory", who,
		e.Home)
}

// StaleError means that a pid file belongs to no running daemon.
type StaleError struct {
	Path   string
	Reason string
}

func (e *StaleError) Error() string { return fmt.Sprintf("%s is stale: %s", e.Path, e.Reason) }

// PidFile is the locked pid file of this daemon.
type PidFile struct {
	file *os.File
	path string
}

// AcquirePidFile registers this process as the only daemon of a PICOCLAW_HOME, and replaces a stale file. If another
// daemon runs, the error is a *RunningError. The caller sets Address and Version of data. The result holds the lock
// until Close.
func AcquirePidFile(home string, data DaemonInfo) (*PidFile, error) {
	path := filepath.Join(home, FileName)
	file, err := filelock.OpenLocked(path, filelock.LockWithin(lockTimeout))
	if errors.Is(err, filelock.ErrLocked) {
		running, _ := readFile(path)
		return nil, &RunningError{Home: home, Data: running}
	}
	if err != nil {
		return nil, fmt.Errorf("write the pid file: %w", err)
	}
	data.PID, data.Started = os.Getpid(), time.Now().UTC().Truncate(time.Second)
	text, err := json.Marshal(data)
	if err == nil {
		err = replaceContent(file, append(text, '\n'))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("write the pid file: %w", err), file.Close())
	}
	return &PidFile{file: file, path: path}, nil
}

// lockTimeout limits the wait for the lock. Readers hold it more briefly, and a daemon longer.
const lockTimeout = 100 * time.Millisecond

func replaceContent(file *os.File, text []byte) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt(text, 0)
	return err
}

// Close removes the file and releases the lock.
func (p *PidFile) Close() error {
	err := os.Remove(p.path) // still locked, so it is ours
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, p.file.Close())
}

// ReadPidFileWithCheck returns the running daemon of a PICOCLAW_HOME. The error is fs.ErrNotExist without a file, and
// a *StaleError for an invalid file or a daemon that has ended.
func ReadPidFileWithCheck(home string) (DaemonInfo, error) {
	path := filepath.Join(home, FileName)
	data, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return DaemonInfo{}, err
	}
	switch held, lockErr := isLocked(path); {
	case lockErr != nil:
		return DaemonInfo{}, fmt.Errorf("check the pid file: %w", lockErr)
	case !held:
		return DaemonInfo{}, &StaleError{Path: path, Reason: "no running process owns it"}
	case err != nil:
		return DaemonInfo{}, &StaleError{Path: path, Reason: err.Error()}
	case data.PID == 1:
		// Process 1 of a container is another process here.
		return DaemonInfo{}, &StaleError{Path: path, Reason: "process 1 is the first one of every container"}
	}
	return data, nil
}

// readFile reads a pid file.
func readFile(path string) (DaemonInfo, error) {
	text, err := smallfile.Read(path, maxFileBytes)
	if err != nil {
		return DaemonInfo{}, err
	}
	var data DaemonInfo
	if err := json.Unmarshal(text, &data); err != nil || data.PID <= 0 {
		return DaemonInfo{}, errors.New("it does not contain a process ID")
	}
	return data, nil
}

// isLocked reports whether a process, perhaps this one, holds the lock of a file.
func isLocked(path string) (bool, error) {
	file, err := os.OpenFile(path, os.O_RDWR|filelock.NonBlock, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // released just now
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = file.Close() }()
	err = filelock.Lock(file)
	if errors.Is(err, filelock.ErrLocked) {
		return true, nil
	}
	return false, err
}
