package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
)

// tempFile is a temporary file or directory named .tmp-{pid}-{timestamp}. It is renamed or removed; after a crash the
// next process removes it by the pending records.
type tempFile struct {
	dir  *os.Root
	in   string // path of the directory
	name string
	w    *Workspace
	slot int // of the pending record
}

// tempNamePattern matches the names of temporary files.
var tempNamePattern = lazyregexp.New(`^\.tmp-[0-9]+-[0-9]+$`)

// lastStamp makes names unique within the process.
var lastStamp atomic.Int64

func newTempName() string {
	now := time.Now().UnixNano()
	for {
		last := lastStamp.Load()
		next := max(now, last+1)
		if lastStamp.CompareAndSwap(last, next) {
			return fmt.Sprintf(".tmp-%d-%d", os.Getpid(), next)
		}
	}
}

// newTemp reserves and records a temporary name next to a target.
func (t *changeTarget) newTemp(w *Workspace) (*tempFile, error) {
	temp := &tempFile{dir: t.dir, in: filepath.Dir(t.path), name: newTempName(), w: w}
	var err error
	if temp.slot, err = w.pending.addRecord(filepath.Join(temp.in, temp.name)); err != nil {
		return nil, fmt.Errorf("record a temporary file: %w", err)
	}
	return temp, nil
}

// freeRecord frees the record.
func (temp *tempFile) freeRecord() {
	if temp != nil {
		temp.w.pending.freeSlot(temp.slot)
	}
}

// removeTemp removes the temporary file if it was not renamed.
func (temp *tempFile) removeTemp() {
	if temp == nil {
		return
	}
	if err := removeOwn(temp.dir, temp.name); err == nil || errors.Is(err, fs.ErrNotExist) {
		temp.freeRecord()
	}
}
