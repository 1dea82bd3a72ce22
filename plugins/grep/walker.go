package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// walker is the engine for machines that have neither ripgrep nor grep.
type walker struct{}

// errEnough ends a walk that has found what it was asked for.
var errEnough = errors.New("enough")

func (walker) search(ctx context.Context, w *workspace.Workspace, path string, q query) ([]match, bool, error) {
	pattern := q.pattern
	if q.fold {
		pattern = "(?i)" + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, false, err
	}
	walk := &walk{w: w, q: q, re: re}
	info, err := w.Stat(path)
	if err == nil && info.IsDir() {
		err = walk.dir(ctx, path, "")
	} else if err == nil {
		err = walk.file(path, "")
	}
	if errors.Is(err, errEnough) {
		return walk.found, true, nil
	}
	if err != nil {
		return walk.found, false, fmt.Errorf("search %s: %w", path, err)
	}
	return walk.found, false, nil
}

type walk struct {
	w     *workspace.Workspace
	q     query
	re    *regexp.Regexp
	found []match
}

func (s *walk) dir(ctx context.Context, path, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := s.w.ReadDir(path)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		below, belowName := filepath.Join(path, entry.Name()), filepath.Join(name, entry.Name())
		switch {
		case entry.IsDir():
			if !s.q.recursive || entry.Name() == ".git" {
				continue
			}
			err = s.dir(ctx, below, belowName)
		case entry.Type().IsRegular():
			if s.q.include != "" {
				if ok, _ := filepath.Match(s.q.include, entry.Name()); !ok {
					continue
				}
			}
			err = s.file(below, belowName)
		}
		if err != nil && !errors.Is(err, os.ErrPermission) && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		err = nil
	}
	return nil
}

func (s *walk) file(path, name string) error {
	f, err := s.w.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	r := bufio.NewReaderSize(f, 64<<10)
	if head, _ := r.Peek(8 << 10); bytes.IndexByte(head, 0) >= 0 {
		return nil // binary
	}
	for n := 1; ; n++ {
		line, err := readLine(r)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !s.re.MatchString(line) {
			continue
		}
		if len(s.found) == s.q.limit {
			return errEnough
		}
		s.found = append(s.found, match{File: name, Line: n, Text: line})
	}
}
