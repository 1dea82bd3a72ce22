package main

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// maxFileBytes limits the size of files that the plugin searches itself.
const maxFileBytes = 64 << 20

var errLarge = errors.New("the file is too large")

// countMatches returns the number of matching lines, or of matches across lines.
func (q *grepQuery) countMatches(data []byte) int {
	if q.multiline {
		return len(q.findMultilineMatches(data))
	}
	n := 0
	for line := range bytes.Lines(data) {
		if q.re.Match(bytes.TrimSuffix(line, []byte{'\n'})) {
			n++
		}
	}
	return n
}

// findMultilineMatches returns the offsets of matches across lines, without an empty match after the last line break.
func (q *grepQuery) findMultilineMatches(data []byte) [][]int {
	all := q.re.FindAllIndex(data, -1)
	if n := len(all); n > 0 && all[n-1][0] == len(data) && (len(data) == 0 || data[len(data)-1] == '\n') {
		all = all[:n-1]
	}
	return all
}

// readSearchedFile reads a file of at most maxFileBytes.
func readSearchedFile(w *workspace.Workspace, path string) ([]byte, error) {
	f, err := w.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return readOpenFile(f)
}

func readOpenFile(f *os.File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFileBytes {
		return nil, errLarge
	}
	var b bytes.Buffer
	b.Grow(int(info.Size()) + bytes.MinRead)
	_, err = b.ReadFrom(io.LimitReader(f, maxFileBytes+1))
	if err == nil && b.Len() > maxFileBytes {
		err = errLarge
	}
	return b.Bytes(), err
}

// isBinaryFile reports whether a file contains a NUL byte.
func isBinaryFile(w *workspace.Workspace, path string) (bool, error) {
	f, err := w.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	part := make([]byte, 64<<10)
	for {
		n, err := f.Read(part)
		if containsNUL(part[:n]) {
			return true, nil
		}
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
}

// containsNUL reports whether data contains a NUL byte, which text does not have.
func containsNUL(data []byte) bool { return bytes.IndexByte(data, 0) >= 0 }

// toAgentError converts an error about a searched path to one for the agent.
func toAgentError(path string, err error) error {
	var own *sdk.Error
	switch {
	case errors.Is(err, workspace.Refused), errors.As(err, &own):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return sdk.Errorf(sdk.NotFound, "failed to search: there is no %s", hiddentext.QuoteUnprintable(path))
	case errors.Is(err, fs.ErrPermission):
		return sdk.Errorf(sdk.AccessDenied, "failed to search %s: access denied", hiddentext.QuoteUnprintable(path))
	case errors.Is(err, workspace.NotRegular):
		return sdk.Errorf(sdk.InvalidArgument, "failed to search: %v", err)
	}
	return err
}
