package killswitch

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/internal/filelock"
	"github.com/picoclaw/picoclaw/internal/owner"
)

// HostConfirmationFile is the locked file by which a host confirms stops, most recently at its modification time.
type HostConfirmationFile struct {
	file      *os.File
	confirmed StopsByAgent
}

// hostFilePattern matches the names of host files, which contain the PID.
const hostFilePattern = "host-*-*"

// RegisterHost creates the file of this process's host in <home>/run.
func RegisterHost(home string) (*HostConfirmationFile, error) {
	dir := filepath.Join(home, "run")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	_, _ = unconfirmedHosts(dir, time.Now().Add(-time.Minute)) // removes the files of killed hosts
	file, err := filelock.OpenLocked(filepath.Join(dir, fmt.Sprintf("host-%d-%s", os.Getpid(), rand.Text())), filelock.Lock)
	if err != nil {
		return nil, err
	}
	h := &HostConfirmationFile{file: file}
	if err = owner.GiveToHomeOwner(home, file.Name()); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// ConfirmStops records that no work of the stopped agents runs in this host.
func (h *HostConfirmationFile) ConfirmStops(stops StopsByAgent) {
	same := func(a, b *Stop) bool { return *a == *b }
	if now := time.Now(); !maps.EqualFunc(h.confirmed, stops, same) && os.Chtimes(h.file.Name(), now, now) == nil {
		h.confirmed = stops
	}
}

// Close removes the file.
func (h *HostConfirmationFile) Close() error {
	return errors.Join(os.Remove(h.file.Name()), h.file.Close())
}

// confirmTimeout is how long [AwaitHosts] waits. Hosts read a stop within propagationTime, and then end their work.
const confirmTimeout = 5 * time.Second

// AwaitHosts waits until all running hosts have confirmed a stop. It returns the PIDs of the hosts that did not, because
// they hang or are paused.
func AwaitHosts(home string, stop *Stop) (unconfirmed []string, err error) {
	for end := time.Now().Add(confirmTimeout); ; time.Sleep(5 * time.Millisecond) {
		unconfirmed, err = unconfirmedHosts(filepath.Join(home, "run"), stop.Time)
		if err != nil || len(unconfirmed) == 0 || time.Now().After(end) {
			return unconfirmed, err
		}
	}
}

// unconfirmedHosts returns the PIDs of running hosts that have not confirmed stops since a time. It removes the files of
// hosts that ended before.
func unconfirmedHosts(dir string, since time.Time) (pids []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, entry := range entries {
		isHost, _ := filepath.Match(hostFilePattern, entry.Name())
		info, infoErr := entry.Info()
		if !isHost || infoErr != nil || !info.ModTime().Before(since) {
			continue
		}
		path := filepath.Join(dir, entry.Name())
		file, lockErr := filelock.OpenLockedFlags(path, os.O_RDWR, filelock.Lock)
		if lockErr == nil { // its host has ended
			_ = os.Remove(path)
			_ = file.Close()
		} else if !errors.Is(lockErr, fs.ErrNotExist) {
			pids = append(pids, strings.Split(entry.Name(), "-")[1])
		}
	}
	return pids, err
}
