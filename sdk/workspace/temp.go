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

// tempFile is a temporary file or directory named .tmp-{pid}-{timestamp}. The process renames or removes it. After a
// crash, the next process removes it.
type tempFile struct {
	dir  *os.Root
	in   string // path of the directory
	name string
	w    *Workspace
	slot int // of the pending record
}

// tempNamePattern matches the names of temporary files.
var tempNamePattern = lazyregexp.New(`^\.tmp-[0-9]+-[0-9]+$`)

// lastStamp is the last used timestamp. It makes names unique within the process.
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

// reserveTempName returns a temporary name next to a target and records it. It creates no file.
func (t *changeTarget) reserveTempName(w *Workspace) (*tempFile, error) {
	temp := &tempFile{dir: t.dir, in: filepath.Dir(t.path), name: newTempName(), w: w}
	var err error
	if temp.slot, err = w.pending.addRecord(filepath.Join(temp.in, temp.name)); err != nil {
		return nil, fmt.Errorf("record a temporary file: %w", err)
	}
	return temp, nil
}

// freeTempRecord frees the record of a temporary name that is no longer in use.
func (temp *tempFile) freeTempRecord() {
	if temp != nil {
		temp.w.pending.freeRecord(temp.slot)
	}
}

// removeTempFile removes a temporary file that was not renamed.
func (temp *tempFile) removeTempFile() {
	if temp == nil {
		return
	}
	if err := removeTempTree(temp.dir, temp.name); err == nil || errors.Is(err, fs.ErrNotExist) {
		temp.freeTempRecord()
	}
}
