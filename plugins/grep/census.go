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

// mostLeftOut is how many of the files that were left out are named.
const mostLeftOut = 5

// lookAgain looks for matches in what was left out, when nothing else has any: not to be found and to be ignored are
// two things, and an agent that takes one for the other writes the same thing twice.
func (s *search) lookAgain(ctx context.Context, out *grepOutput) {
	all := *s.query
	all.ignore, all.text = false, true
	f := first{limit: mostLeftOut, files: true}
	if _, err := s.engine.files(ctx, s.req.Workspace, s.path, &all, f.add); err != nil {
		return
	}
	out.LeftOutCount = f.count
	kept := f.sorted()
	for _, c := range kept[:min(len(kept), mostLeftOut)] {
		l := leftOut{File: join(s.abs, c.name), Why: whyIgnored}
		if head, err := readHead(s.req.Workspace, join(s.path, c.name)); err == nil && isBinary(head) {
			l.Why = whyBinary
		}
		out.LeftOut = append(out.LeftOut, l)
	}
}

// headSize is how much of a file's beginning is looked at to tell what it is, in bytes.
const headSize = 64 << 10

func readHead(w *workspace.Workspace, path string) ([]byte, error) {
	f, err := w.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, headSize))
}

// hasNUL reports whether a file is binary.
func hasNUL(w *workspace.Workspace, path string) (bool, error) {
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

// failure says that something can't be searched.
func failure(path string, err error) error {
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
