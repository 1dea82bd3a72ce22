package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
	"github.com/picoclaw/picoclaw/sdk"
)

type grepInput struct {
	Pattern       string `json:"pattern" jsonschema:"Regex pattern (RE2 syntax)"`
	Path          string `json:"path,omitempty" jsonschema:"File or directory to search" default:"." claim:"list"`
	Include       string `json:"include,omitempty" jsonschema:"Glob filter, such as *.py; a pattern with a slash matches the whole relative path, and ** any directories"`
	Recursive     *bool  `json:"recursive,omitempty" jsonschema:"Search subdirectories" default:"true"`
	MaxResults    int    `json:"max_results,omitempty" jsonschema:"Maximum matches in total; more than 10000 means 10000" default:"100" minimum:"1"`
	CaseSensitive *bool  `json:"case_sensitive,omitempty" jsonschema:"Case-sensitive matching" default:"true"`
	Context       int    `json:"context,omitempty" jsonschema:"Lines to show before and after each match" default:"0" minimum:"0" maximum:"50"`
	Multiline     bool   `json:"multiline,omitempty" jsonschema:"Let matches span lines" default:"false"`
	FixedStrings  bool   `json:"fixed_strings,omitempty" jsonschema:"Search for plain text" default:"false"`
	Type          string `json:"type,omitempty" jsonschema:"File type, such as go, py, js, ts, rust, md"`
	Output        string `json:"output,omitempty" jsonschema:"content: matching lines; files: names of files with matches; count: names and numbers of matching lines" default:"content" enum:"content,files,count"`
	Cursor        string `json:"cursor,omitempty" jsonschema:"next of the previous result"`
	Hidden        *bool  `json:"hidden,omitempty" jsonschema:"Search dotfiles; .git only if path is in it" default:"true"`
	Gitignore     *bool  `json:"gitignore,omitempty" jsonschema:"Skip files named by .gitignore" default:"true"`
	Timeout       int    `json:"timeout,omitempty" jsonschema:"Maximum seconds; then results so far are returned" default:"30" minimum:"1" maximum:"600"`
}

// The values of the argument output.
const (
	outputContent = "content"
	outputFiles   = "files"
	outputCount   = "count"
)

func newGrepTool(engines []searchEngine) sdk.Tool {
	return sdk.NewTool("grep", "Search file contents for a regex pattern. Uses native tools for speed.",
		func(ctx context.Context, req *sdk.Request[grepInput]) (grepOutput, error) {
			q, err := newGrepQuery(&req.Args)
			if err != nil {
				return grepOutput{}, err
			}
			s := grepCall{grepQuery: q, engine: chooseEngine(engines, q), req: req, path: cmp.Or(req.Args.Path, ".")}
			return s.runGrep(ctx)
		},
		sdk.Traits{
			ReadOnly: true, TextResult: true, Sets: []string{"picoclaw", "module"},
			Permissions: []string{"fs.read"}, Risk: "low",
		})
}

// The default and the maximum number of results.
const (
	defaultResults = 100
	maxResults     = 10_000
)

// effectiveLimit returns the number of results for the requested number, and a note if it is lower.
func effectiveLimit(asked int) (limit int, note []string) {
	switch {
	case asked == 0:
		return defaultResults, nil
	case asked > maxResults:
		return maxResults, []string{fmt.Sprintf("max_results: %d exceeds the maximum of %d", asked, maxResults)}
	}
	return asked, nil
}

// grepCall is one call of the tool grep.
type grepCall struct {
	*grepQuery
	engine searchEngine
	req    *sdk.Request[grepInput]
	path   string
	abs    string
}

func (s *grepCall) runGrep(ctx context.Context) (grepOutput, error) {
	in := s.req.Args
	out := grepOutput{Matches: []lineMatch{}, mode: cmp.Or(in.Output, outputContent), Gitignore: s.ignore}
	var err error
	if s.abs, err = s.req.Workspace.AbsPath(s.path); err != nil {
		return grepOutput{}, err
	}
	info, err := s.req.Workspace.Stat(s.path)
	if err != nil {
		return grepOutput{}, toAgentError(s.path, err)
	}
	limit, note := effectiveLimit(in.MaxResults)
	var from pageCursor
	if in.Cursor != "" {
		if from, err = parseCursor(in.Cursor); err != nil {
			return grepOutput{}, err
		}
	}
	if !info.IsDir() {
		from.name = "" // of the file, relative to the searched path
	}
	var f pageCollector
	timeout := cmp.Or(time.Duration(in.Timeout)*time.Second, 30*time.Second)
	searching, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if info.IsDir() {
		err = s.searchDir(searching, &f, &out)
	} else {
		err = s.searchFile(&f, &out)
	}
	switch {
	case ctx.Err() != nil:
		out.Incomplete = "the search was cancelled; these are the results so far"
	case errors.Is(err, context.DeadlineExceeded) || info.IsDir() && searching.Err() != nil: // whatever the engine says
		out.Incomplete = fmt.Sprintf("the search ended after %s; these are the results so far", timeout)
	case err != nil:
		return grepOutput{}, err
	}
	out.Total, out.FilesMatched = f.total, len(f.files)
	out.Notes = append(out.Notes, note...)
	s.addPageResults(f.filesFrom(from), from, limit, &out)
	if out.FilesMatched == 0 && out.Incomplete == "" && info.IsDir() {
		s.findSkippedMatches(searching, &out)
	}
	return out, nil
}

// Progress is reported for the first announcedFirst files, and then once per announcedEvery files.
const (
	announcedFirst = 20
	announcedEvery = 1000
)

// searchDir searches a directory with the chosen engine.
func (s *grepCall) searchDir(ctx context.Context, f *pageCollector, out *grepOutput) error {
	var files, lines atomic.Int64
	return s.findMatches(ctx, out, func(name string, n int, binary bool) {
		if binary {
			return
		}
		f.addFile(name, n)
		total := lines.Add(int64(n))
		if found := files.Add(1); found <= announcedFirst || found%announcedEvery == 0 {
			s.req.ReportProgress(float64(found), 0, fmt.Sprintf("%s (%s and %s so far)", hiddentext.QuoteUnprintable(name),
				formatCount(int(found), "file", "files"), formatCount(int(total), "line", "lines")))
		}
	})
}

// findMatches calls found for each file with matches, from several goroutines, and adds the numbers of searched and
// skipped files to the result.
func (s *grepCall) findMatches(ctx context.Context, out *grepOutput, found func(name string, lines int, binary bool)) error {
	files, err := s.listFiles(ctx, s.req.Workspace, s.path, out)
	if err != nil {
		return err
	}
	var binaries atomic.Int64
	var checks errgroup.Group // of matching files
	checks.SetLimit(runtime.GOMAXPROCS(0))
	t, err := s.engine.findMatchingFiles(ctx, s.req.Workspace, s.path, files, s.grepQuery, func(name string, lines int) {
		if s.multiline {
			lines = 0 // programs can't count these matches
		}
		checks.Go(func() error {
			binary, readErr := isBinaryFile(s.req.Workspace, joinPath(s.path, name))
			if binary {
				binaries.Add(1)
			}
			if readErr == nil {
				found(name, lines, binary)
			}
			return nil
		})
	})
	_ = checks.Wait() // they return no errors
	out.Engine, out.Failed, out.TooLarge, out.Binary = s.engine.name(), t.failed, t.tooLarge, int(binaries.Load())
	out.Closed += t.closed
	out.FilesSearched = len(files.names) - t.tooLarge - t.closed
	return err
}

// maxSkippedMatches limits the listed files that were skipped and have matches.
const maxSkippedMatches = 5

// findSkippedMatches also searches ignored files and lists binary ones, so that "no matches" does not mislead.
func (s *grepCall) findSkippedMatches(ctx context.Context, out *grepOutput) {
	all := *s
	query := *s.grepQuery
	query.ignore = false
	all.grepQuery = &query
	var mu sync.Mutex
	var skipped []skippedMatchingFile
	err := all.findMatches(ctx, &grepOutput{}, func(name string, _ int, binary bool) {
		l := skippedMatchingFile{name, whyIgnored}
		if binary {
			l.Why = whyBinary
		}
		mu.Lock()
		skipped = append(skipped, l)
		mu.Unlock()
	})
	if err != nil {
		return
	}
	out.LeftOutCount = len(skipped)
	slices.SortFunc(skipped, func(a, b skippedMatchingFile) int { return compareNames(a.File, b.File) })
	for _, l := range skipped[:min(len(skipped), maxSkippedMatches)] {
		out.LeftOut = append(out.LeftOut, skippedMatchingFile{joinPath(s.abs, l.File), l.Why})
	}
}

// searchFile searches a single file without an engine, also if its name is excluded.
func (s *grepCall) searchFile(f *pageCollector, out *grepOutput) error {
	data, err := readSearchedFile(s.req.Workspace, s.path)
	if errors.Is(err, errLarge) {
		return sdk.Errorf(sdk.TooLarge, "%s is longer than the %d bytes that are searched in one file", hiddentext.QuoteUnprintable(s.path),
			maxFileBytes).
			WithHint("search it with exec and grep")
	}
	if err != nil {
		return toAgentError(s.path, err)
	}
	out.FilesSearched, out.Engine = 1, builtinEngine{}.name()
	if containsNUL(data) {
		out.LeftOut = []skippedMatchingFile{{File: s.abs, Why: whyBinary}}
		return nil
	}
	switch n := s.countMatches(data); {
	case n > 0 && s.multiline:
		f.addFile("", 0)
	case n > 0:
		f.addFile("", n)
	}
	return nil
}
