// Package pidfile keeps two daemons off one instance root, and tells others where the one is that runs.
//
// A daemon writes its process id down with [WritePidFile] and holds a lock on the file for as long as it lives. The
// kernel gives the lock back, however the daemon ends. So whether one runs is never guessed from the number: what is
// recorded without a lock is stale, be it of a process that has ended, of another that has got its id since, of the
// first process of a container that was there before (always 1), or no number at all.
//
// It must not know what a daemon does, nor how it is told to stop.
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

// Name is the file below the instance root.
const Name = "picoclaw.pid"

// maxBytes is more than a pid file has.
const maxBytes = 64 << 10

// Data is what a pid file says of the daemon that wrote it.
type Data struct {
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	Address string    `json:"address,omitempty"` // where it serves
	Version string    `json:"version,omitempty"`
}

// RunningError says that another daemon has the instance root.
type RunningError struct {
	Home string
	Data Data // what it has written down of itself; zero if that can't be read
}

func (e *RunningError) Error() string {
	who := ""
	if e.Data.PID != 0 {
		who = fmt.Sprintf(" (process %d)", e.Data.PID)
	}
	return fmt.Sprintf("another picoclaw%s runs on %s; stop it first, or set PICOCLAW_HOME to another directory", who,
		e.Home)
}

// StaleError says that a pid file is no running daemon's.
type StaleError struct {
	Path   string
	Reason string
}

func (e *StaleError) Error() string { return fmt.Sprintf("%s is stale: %s", e.Path, e.Reason) }

// PidFile is the file of this process, which is the daemon.
type PidFile struct {
	file *os.File
	path string
}

// WritePidFile records this process as the one daemon of an instance root, which has to exist. A stale file is
// replaced. If another daemon runs the error is a *RunningError. Address and Version of data are the caller's; the rest
// is filled in. Keep the result until the end: the lock goes with it.
func WritePidFile(home string, data Data) (*PidFile, error) {
	path := filepath.Join(home, Name)
	file, err := filelock.Open(path, lockSoon)
	if errors.Is(err, filelock.ErrLocked) {
		running, _ := read(path)
		return nil, &RunningError{Home: home, Data: running}
	}
	if err != nil {
		return nil, fmt.Errorf("write the pid file: %w", err)
	}
	data.PID, data.Started = os.Getpid(), time.Now().UTC().Truncate(time.Second)
	text, err := json.Marshal(data)
	if err == nil {
		err = replace(file, append(text, '\n'))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("write the pid file: %w", err), file.Close())
	}
	return &PidFile{file: file, path: path}, nil
}

// Whoever reads holds the lock for a moment. A daemon holds it longer than this.
const (
	lockTries = 20
	lockPause = 5 * time.Millisecond
)

func lockSoon(file *os.File) error {
	err := filelock.Lock(file)
	for try := 1; errors.Is(err, filelock.ErrLocked) && try < lockTries; try++ {
		time.Sleep(lockPause)
		err = filelock.Lock(file)
	}
	return err
}

func replace(file *os.File, text []byte) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt(text, 0)
	return err
}

// Close takes the file away and gives the instance root up.
func (p *PidFile) Close() error {
	err := os.Remove(p.path) // while it is locked: nobody else's can be there
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, p.file.Close())
}

// ReadPidFileWithCheck returns what the running daemon of an instance root has recorded. Without a file the error is an
// fs.ErrNotExist; a file that no running daemon holds, or that says nothing of use, is a *StaleError.
func ReadPidFileWithCheck(home string) (Data, error) {
	path := filepath.Join(home, Name)
	data, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Data{}, err
	}
	switch held, lockErr := heldByAnother(path); {
	case lockErr != nil:
		return Data{}, fmt.Errorf("check the pid file: %w", lockErr)
	case !held:
		return Data{}, &StaleError{Path: path, Reason: "no running process holds it"}
	case err != nil:
		return Data{}, &StaleError{Path: path, Reason: err.Error()}
	case data.PID == 1:
		// The first process of some container: here that number is somebody else's.
		return Data{}, &StaleError{Path: path, Reason: "process 1 is the first one of every container"}
	}
	return data, nil
}

// read reads what a file says.
func read(path string) (Data, error) {
	text, err := smallfile.Read(path, maxBytes)
	if err != nil {
		return Data{}, err
	}
	var data Data
	if err := json.Unmarshal(text, &data); err != nil || data.PID <= 0 {
		return Data{}, errors.New("it does not hold a process id")
	}
	return data, nil
}

// heldByAnother reports whether somebody has the lock. This process's own counts: it is a daemon that runs.
func heldByAnother(path string) (bool, error) {
	file, err := os.OpenFile(path, os.O_RDWR|filelock.NonBlock, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // given up just now
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
