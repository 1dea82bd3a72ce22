package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/versions"
	"github.com/picoclaw/picoclaw/sdk/takeback"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// The states that a step of the journal names, beside an etag. A directory's has a hash of what is in it behind.
const (
	stateDir     = "dir-"
	stateLink    = "link"
	stateSpecial = "special"
)

// mostNamed is how many of the things that can't be brought back are named.
const mostNamed = 10

// survey is what a tree is in short.
type survey struct {
	state  string   // in one word, so that undo can see whether it still is that
	undone string   // the state without what can't be made again; empty if that is all the same
	lost   []string // what can't be made again
	whole  bool     // the tree itself can't
}

// step makes a survey a part of an operation.
func (s *survey) step(step takeback.Step) takeback.Step {
	step.Before, step.Undone = s.state, s.undone
	return step
}

// look surveys a tree; nil is nothing. Of a file up to so many bytes are read.
func look(ctx context.Context, tree *workspace.Tree, most int64) (survey, error) {
	if tree == nil {
		return survey{state: absent}, nil
	}
	switch mode := tree.Info.Mode(); {
	case mode.IsDir():
		return lookInto(ctx, tree)
	case mode&fs.ModeSymlink != 0:
		return survey{state: stateLink}, nil
	case !mode.IsRegular():
		s := survey{state: stateSpecial}
		if !workspace.Makes(mode) {
			s.whole, s.lost = true, []string{lost(tree.Path, mode)}
		}
		return s, nil
	}
	s := survey{}
	err := tree.Walk(func(e *workspace.Entry) error {
		f, err := e.Open()
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		s.state, err = stateOf(ctx, f, e.Info.Size(), most)
		return err
	})
	return s, err
}

// lookInto tells directories apart by the names, kinds and sizes of all that is in them: to read all of it would take
// as long as to copy it.
func lookInto(ctx context.Context, tree *workspace.Tree) (survey, error) {
	s := survey{}
	all, rest := versions.NewHash(), versions.NewHash() // the rest is what can be made again
	more := 0
	err := tree.Walk(func(e *workspace.Entry) error {
		if e.Name == "." {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		size := int64(0)
		if e.Info.Mode().IsRegular() {
			size = e.Info.Size()
		}
		line := fmt.Appendf(nil, "%q %s %d\n", e.Name, e.Info.Mode().Type(), size)
		if _, err := all.Write(line); err != nil {
			return err
		}
		switch {
		case workspace.Makes(e.Info.Mode()):
			_, err := rest.Write(line)
			return err
		case len(s.lost) < mostNamed:
			s.lost = append(s.lost, lost(filepath.Join(tree.Path, filepath.FromSlash(e.Name)), e.Info.Mode()))
		default:
			more++
		}
		return nil
	})
	s.state = stateDir + all.Etag()
	if len(s.lost) > 0 {
		s.undone = stateDir + rest.Etag()
	}
	if more > 0 {
		s.lost = append(s.lost, fmt.Sprintf("%d more sockets and devices", more))
	}
	return s, err
}

// stateEmpty is the state of a directory with nothing in it.
func stateEmpty() string { return stateDir + versions.NewHash().Etag() }

// lost names something that can't be made again.
func lost(path string, mode fs.FileMode) string {
	if mode&fs.ModeSocket != 0 {
		return shown(path) + " (a socket)"
	}
	return shown(path) + " (a device)"
}

// What is said of sockets and devices.
const (
	willBeLost = "undo can't bring back"
	wasLost    = "not brought back, since it can't be made again"
)

// errGone is why what is a socket or device itself can't be brought back.
var errGone = errors.New("a socket or device can't be made again")

// losses is the note on what an operation destroys for good, none if nothing.
func losses(what string, lost []string) []string {
	if len(lost) == 0 {
		return nil
	}
	return []string{what + ": " + strings.Join(lost, ", ")}
}
