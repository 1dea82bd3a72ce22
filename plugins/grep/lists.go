package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/plugins/grep/internal/ignore"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// largestList is how long a list of what to ignore may be, in bytes. A longer one is none of a person's.
const largestList = 1 << 20

// odd returns what is wrong with a list of what to ignore that nobody should be led to: one that is no file, such as a
// FIFO or a link to a device, or that is huge. It returns "" for one that is as it should be, or that is not there.
func (t *tree) odd(path string) string {
	info, err := t.w.Stat(path)
	switch {
	case errors.Is(err, workspace.Refused):
		if _, inside := strings.CutPrefix(path, t.top+string(filepath.Separator)); inside {
			return shown(path) + " leads out of the workspace and was not honoured"
		}
		return "" // above the workspace, which is none of the agent's business
	case err != nil || info.IsDir():
		return ""
	case !info.Mode().IsRegular():
		return shown(path) + " is not a regular file and was not honoured"
	case info.Size() > largestList:
		return fmt.Sprintf("%s is longer than %d bytes and was not honoured", shown(path), largestList)
	}
	return ""
}

// mostNotes is how many odd lists are named.
const mostNotes = 5

// list reads a list of rules; one that is not there, is odd, or may not be read, has none.
func (t *tree) list(name string) ignore.List {
	if why := t.odd(name); why != "" {
		t.mu.Lock()
		t.oddities = append(t.oddities, why)
		t.mu.Unlock()
		return ignore.List{}
	}
	text, err := t.w.ReadFile(name)
	if err != nil || len(text) > largestList {
		return ignore.List{}
	}
	return ignore.Parse(string(text))
}

// notes says which lists were odd, the first few of them in order.
func (t *tree) notes() []string {
	all := slices.Compact(slices.Sorted(slices.Values(t.oddities)))
	if more := len(all) - mostNotes; more > 0 {
		all = append(all[:mostNotes], fmt.Sprintf("and so were %d more", more))
	}
	return all
}
