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

// temporary is a file or directory with a name of its own: .tmp-{pid}-{timestamp}. It is put in the place of another or
// removed; what a killed process leaves behind is removed by the next, which finds it in the pending records.
type temporary struct {
	dir  *os.Root
	in   string // the directory's path, for the record
	name string
	w    *Workspace
	slot int // of the pending record
}

// tempName recognises the names of temporary files.
var tempName = lazyregexp.New(`^\.tmp-[0-9]+-[0-9]+$`)

// lastStamp makes the names of one process differ though the clock may not.
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

// temporary makes a name for something temporary beside a target, and records it.
func (t *target) temporary(w *Workspace) (*temporary, error) {
	temp := &temporary{dir: t.dir, in: filepath.Dir(t.path), name: newTempName(), w: w}
	var err error
	if temp.slot, err = w.pending.add(filepath.Join(temp.in, temp.name)); err != nil {
		return nil, fmt.Errorf("record a temporary file: %w", err)
	}
	return temp, nil
}

// forget says that there is nothing to clean up any more.
func (temp *temporary) forget() {
	if temp != nil {
		temp.w.pending.done(temp.slot)
	}
}

// remove removes what has not been put in place.
func (temp *temporary) remove() {
	if temp == nil {
		return
	}
	if err := removeAll(temp.dir, temp.name); err == nil || errors.Is(err, fs.ErrNotExist) {
		temp.forget()
	}
}
