package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// maxSkippedNames limits the listed skipped files.
const maxSkippedNames = 5

// searchSkipped searches skipped files if nothing else matches, so that agents don't mistake ignored files for missing
// ones.
func (s *grepRun) searchSkipped(ctx context.Context, out *grepOutput) {
	all := *s.grepQuery
	all.ignore, all.text = false, true
	f := firstFiles{limit: maxSkippedNames, files: true}
	if _, err := s.engine.files(ctx, s.req.Workspace, s.path, &all, f.addFile); err != nil {
		return
	}
	out.LeftOutCount = f.count
	kept := f.sortedFiles()
	for _, c := range kept[:min(len(kept), maxSkippedNames)] {
		l := skippedFile{File: joinPath(s.abs, c.name), Why: whyIgnored}
		if head, err := readHead(s.req.Workspace, joinPath(s.path, c.name)); err == nil && isBinary(head) {
			l.Why = whyBinary
		}
		out.LeftOut = append(out.LeftOut, l)
	}
}

// headSize is how much of a file is inspected for its type.
const headSize = 64 << 10

func readHead(w *workspace.Workspace, path string) ([]byte, error) {
	f, err := w.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, headSize))
}

// isBinaryFile reports whether a file is binary.
func isBinaryFile(w *workspace.Workspace, path string) (bool, error) {
	f, err := w.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	part := make([]byte, headSize)
	for {
		n, err := f.Read(part)
		if isBinary(part[:n]) {
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

// isBinary reports whether data is no text: text has no NUL.
func isBinary(data []byte) bool { return bytes.IndexByte(data, 0) >= 0 }

// searchError says that a path can't be searched.
func searchError(path string, err error) error {
	var own *sdk.Error
	switch {
	case errors.Is(err, workspace.Refused), errors.As(err, &own):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return sdk.Errorf(sdk.NotFound, "failed to search: there is no %s", hiddentext.QuoteName(path))
	case errors.Is(err, fs.ErrPermission):
		return sdk.Errorf(sdk.AccessDenied, "failed to search %s: access denied", hiddentext.QuoteName(path))
	case errors.Is(err, workspace.NotRegular):
		return sdk.Errorf(sdk.InvalidArgument, "failed to search: %v", err)
	}
	return err
}
