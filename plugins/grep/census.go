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

// maxSkippedMatches limits the listed files that were skipped and have matches.
const maxSkippedMatches = 5

// findSkippedMatches also searches skipped files, so that "no matches" does not mislead.
func (s *grepCall) findSkippedMatches(ctx context.Context, out *grepOutput) {
	all := *s.grepQuery
	all.ignore, all.text = false, true
	f := pageCollector{limit: maxSkippedMatches, files: true}
	if _, err := s.engine.findMatchingFiles(ctx, s.req.Workspace, s.path, &all, f.addFile); err != nil {
		return
	}
	out.LeftOutCount = f.count
	kept := f.sortedFiles()
	for _, c := range kept[:min(len(kept), maxSkippedMatches)] {
		l := skippedMatchingFile{File: joinPath(s.abs, c.name), Why: whyIgnored}
		if head, err := readFileHead(s.req.Workspace, joinPath(s.path, c.name)); err == nil && containsNUL(head) {
			l.Why = whyBinary
		}
		out.LeftOut = append(out.LeftOut, l)
	}
}

// headBytes is the number of bytes from which a file's type is detected.
const headBytes = 64 << 10

func readFileHead(w *workspace.Workspace, path string) ([]byte, error) {
	f, err := w.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, headBytes))
}

// isBinaryFile reports whether a file contains a NUL byte.
func isBinaryFile(w *workspace.Workspace, path string) (bool, error) {
	f, err := w.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	part := make([]byte, headBytes)
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
