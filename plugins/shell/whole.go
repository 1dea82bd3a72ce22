package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

const (
	wholeDir   = ".picoclaw/output" // in the workspace, since what is there the agent may read
	wholeFiles = 20                 // how many outputs are kept
	wholeBytes = 16 << 20           // how much of each
)

// keepWhole puts an output that is too long for the answer into a file of the workspace, and says so.
func (o *execOutput) keepWhole(req *sdk.Request[execInput], r *running) {
	data, err := r.whole()
	_, lost := r.spool.state()
	if err == nil && int64(len(data)) > wholeBytes {
		lost += int64(len(data)) - wholeBytes
		data = data[:wholeBytes]
	}
	name := path.Join(wholeDir, time.Now().UTC().Format("20060102T150405.000000000")+".log")
	if err == nil {
		err = writeWhole(req.Workspace, name, data)
	}
	if err != nil {
		o.combined += fmt.Sprintf("\n[the whole output can't be kept: %v]", err)
		return
	}
	o.Whole = name
	o.combined += fmt.Sprintf("\n[the whole output is in %s, which read_file reads", name)
	if lost > 0 {
		o.combined += fmt.Sprintf("; it is longer by %d bytes", lost)
	}
	o.combined += "]"
}

func writeWhole(w *workspace.Workspace, name string, data []byte) error {
	rules := path.Join(path.Dir(wholeDir), ".gitignore")
	if _, err := w.Stat(rules); errors.Is(err, fs.ErrNotExist) {
		if err := w.WriteFile(rules, []byte("*\n")); err != nil {
			return err
		}
	}
	if err := w.WriteFile(name, data); err != nil {
		return err
	}
	entries, err := w.ReadDir(wholeDir)
	if err != nil {
		return err
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return !strings.HasSuffix(e.Name(), ".log") })
	for _, e := range entries[:max(0, len(entries)-wholeFiles)] { // the names sort by time
		if err := w.Remove(path.Join(wholeDir, e.Name()), false, nil); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
