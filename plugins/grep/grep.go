package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/picoclaw/picoclaw/sdk"
)

type grepInput struct {
	Pattern       string `json:"pattern" jsonschema:"Regex pattern (RE2 syntax)"`
	Path          string `json:"path,omitempty" jsonschema:"File or directory to search" default:"." claim:"list"`
	Include       string `json:"include,omitempty" jsonschema:"Glob filter, such as *.py; with a slash in it, it is matched against the whole name below path, and ** stands for any directories"`
	Recursive     *bool  `json:"recursive,omitempty" jsonschema:"Search subdirectories" default:"true"`
	MaxResults    int    `json:"max_results,omitempty" jsonschema:"Maximum matches, in all" default:"100" minimum:"1" maximum:"10000"`
	CaseSensitive *bool  `json:"case_sensitive,omitempty" jsonschema:"Case-sensitive matching" default:"true"`
	Context       int    `json:"context,omitempty" jsonschema:"How many lines to show before and after each match" default:"0" minimum:"0" maximum:"50"`
	Multiline     bool   `json:"multiline,omitempty" jsonschema:"Let matches span lines" default:"false"`
	FixedStrings  bool   `json:"fixed_strings,omitempty" jsonschema:"Take the pattern as plain text" default:"false"`
	Type          string `json:"type,omitempty" jsonschema:"Kind of files, such as go, py, js, ts, rust, md"`
	Output        string `json:"output,omitempty" jsonschema:"content: the matching lines; files: the names of files with matches; count: these with the number of matching lines" default:"content" enum:"content,files,count"`
	Cursor        string `json:"cursor,omitempty" jsonschema:"Where to go on: what the last answer calls next"`
	Hidden        *bool  `json:"hidden,omitempty" jsonschema:"Search dotfiles too; .git is never searched" default:"true"`
	Gitignore     *bool  `json:"gitignore,omitempty" jsonschema:"Leave alone what .gitignore files name" default:"true"`
	Timeout       int    `json:"timeout,omitempty" jsonschema:"Seconds after which the search ends with what was found" default:"30" minimum:"1" maximum:"600"`
}

// The output modes.
const (
	outputContent = "content"
	outputFiles   = "files"
	outputCount   = "count"
)

func grepTool(engines []engine) sdk.Tool {
	return sdk.NewTool("grep", "Search file contents for a regex pattern. Uses native tools for speed.",
		func(ctx context.Context, req *sdk.Request[grepInput]) (grepOutput, error) {
			q, err := newQuery(&req.Args)
			if err != nil {
				return grepOutput{}, err
			}
			s := search{query: q, engine: choose(engines, q), req: req, path: req.Args.Path}
			if s.path == "" {
				s.path = "."
			}
			return s.run(ctx)
		},
		sdk.ReadOnly(), sdk.TextResult(), sdk.Sets("picoclaw", "module"), sdk.Permissions("fs.read"), sdk.Risk("low"))
}

// search is one call of grep.
type search struct {
	*query
	engine engine
	req    *sdk.Request[grepInput]
	path   string
	abs    string
}

func (s *search) run(ctx context.Context) (grepOutput, error) {
	in := s.req.Args
	out := grepOutput{Matches: []match{}, mode: in.Output, Gitignore: s.ignore}
	if out.mode == "" {
		out.mode = outputContent
	}
	var err error
	if s.abs, err = s.req.Workspace.Abs(s.path); err != nil {
		return grepOutput{}, err
	}
	info, err := s.req.Workspace.Stat(s.path)
	if err != nil {
		return grepOutput{}, failure(s.path, err)
	}
	f := first{limit: in.MaxResults, files: out.mode != outputContent}
	if f.limit == 0 {
		f.limit = 100
	}
	if in.Cursor != "" {
		if f.from, err = parseCursor(in.Cursor); err != nil {
			return grepOutput{}, err
		}
	}
	timeout := time.Duration(in.Timeout) * time.Second
	if timeout == 0 {
		timeout = 30 * time.Second
	}
	searching, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if info.IsDir() {
		err = s.directory(searching, &f, &out)
	} else {
		err = s.file(&f, &out)
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		out.Incomplete = fmt.Sprintf("the search ended after %s; what is here was found until then", timeout)
	case ctx.Err() != nil:
		out.Incomplete = "the search was cancelled; what is here was found until then"
	case err != nil:
		return grepOutput{}, err
	}
	out.Total, out.FilesMatched = f.total, f.count
	if err := s.fill(&f, &out); err != nil {
		return grepOutput{}, err
	}
	if out.FilesMatched == 0 && out.Incomplete == "" && info.IsDir() {
		s.lookAgain(searching, &out)
	}
	return out, nil
}

// announced is of how many files the finding is told at once, and then of every so many.
const (
	announcedFirst = 20
	announcedEvery = 1000
)

// directory has the engine search a directory.
func (s *search) directory(ctx context.Context, f *first, out *grepOutput) error {
	var files, lines atomic.Int64
	t, err := s.engine.files(ctx, s.req.Workspace, s.path, s.query, func(name string, n int) {
		f.add(name, n)
		total := lines.Add(int64(n))
		if found := files.Add(1); found <= announcedFirst || found%announcedEvery == 0 {
			s.req.Progress(float64(found), 0, fmt.Sprintf("%s (%s and %s so far)", shown(name),
				number(int(found), "file", "files"), number(int(total), "line", "lines")))
		}
	})
	out.Engine, out.FilesSearched, out.TooLarge, out.Failed = s.engine.name(), t.searched, t.tooLarge, t.failed
	return err
}

// file searches a single file, which needs no engine. It is searched whatever its name is.
func (s *search) file(f *first, out *grepOutput) error {
	data, err := readWhole(s.req.Workspace, s.path)
	if errors.Is(err, errLarge) {
		return sdk.Errorf(sdk.TooLarge, "%s is longer than the %d bytes that are searched in one file", shown(s.path), largestFile).
			WithHint("search it with exec and grep")
	}
	if err != nil {
		return failure(s.path, err)
	}
	out.FilesSearched, out.Engine, out.single = 1, own{}.name(), true
	if isBinary(data) {
		out.LeftOut = []leftOut{{File: s.abs, Why: whyBinary}}
		return nil
	}
	switch n := s.count(data); {
	case n > 0 && s.multiline:
		f.add("", 0)
	case n > 0:
		f.add("", n)
	}
	return nil
}

// fill reads the first files for what is shown of them.
func (s *search) fill(f *first, out *grepOutput) error {
	kept := f.sorted()
	for i, c := range kept {
		if out.mode != outputContent {
			if i == f.limit {
				out.Next = cursor{kept[i-1].name, 0}.String()
				break
			}
			out.Files = append(out.Files, fileCount{File: join(s.abs, c.name), Count: c.lines})
			continue
		}
		after := 0
		if c.name == f.from.name {
			after = f.from.line
		}
		found, more, err := s.details(s.req.Workspace, join(s.path, c.name), join(s.abs, c.name), after, f.limit-len(out.Matches), s.req.Args.Context)
		if err != nil {
			if errors.Is(err, errLarge) {
				out.Notes = append(out.Notes, fmt.Sprintf("%s has %s, and is too large to show",
					shown(join(s.abs, c.name)), number(c.lines, "matching line", "matching lines")))
			}
			continue // gone, or closed, since it was searched
		}
		if s.multiline {
			out.Total += len(found)
			if len(found) == 0 && after == 0 {
				out.FilesMatched-- // binary, which shows only at its end
			}
		}
		out.Matches = append(out.Matches, found...)
		if more || (len(out.Matches) == f.limit && i+1 < len(kept)) {
			last := out.Matches[len(out.Matches)-1]
			name, err := filepath.Rel(s.abs, last.File)
			if err != nil {
				return err
			}
			if c.name == "" {
				name = "."
			}
			out.Next = cursor{filepath.ToSlash(name), last.Line}.String()
			break
		}
	}
	if out.Next == "" && f.left > 0 && len(kept) > 0 {
		out.Next = cursor{kept[len(kept)-1].name, math.MaxInt32}.String() // fewer lines were shown than there was room for
	}
	out.Count = len(out.Matches)
	if out.mode != outputContent {
		out.Count = len(out.Files)
	}
	out.AtLeast = s.multiline && (out.Next != "" || f.left > 0)
	return nil
}
