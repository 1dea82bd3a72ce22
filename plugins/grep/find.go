package main

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
	"github.com/picoclaw/picoclaw/sdk"
)

type findInput struct {
	Pattern    string `json:"pattern" jsonschema:"Glob pattern, such as *.py or src/**/*_test.{go,py}; a pattern without a slash matches base names"`
	Path       string `json:"path,omitempty" jsonschema:"Root directory" default:"." claim:"list"`
	Type       string `json:"type,omitempty" jsonschema:"Default: both" enum:"file,dir"`
	MaxResults int    `json:"max_results,omitempty" jsonschema:"Maximum results; more than 10000 means 10000" default:"100" minimum:"1"`
	Sort       string `json:"sort,omitempty" jsonschema:"Order; time: latest change first" default:"path" enum:"path,time"`
	Hidden     *bool  `json:"hidden,omitempty" jsonschema:"Find dotfiles; .git is always skipped" default:"true"`
	Gitignore  *bool  `json:"gitignore,omitempty" jsonschema:"Skip files named by .gitignore" default:"true"`
	Cursor     string `json:"cursor,omitempty" jsonschema:"With sort=path: next of the previous result"`
}

type findOutput struct {
	Files      []findEntry `json:"files"`
	Count      int         `json:"count" jsonschema:"Number of results here."`
	Total      int         `json:"total" jsonschema:"Total number."`
	Next       string      `json:"next,omitempty" jsonschema:"Value of cursor for the next page."`
	Ignored    int         `json:"ignored,omitempty" jsonschema:"Number of matches skipped because of .gitignore; a directory counts as one."`
	Notes      []string    `json:"notes,omitempty" jsonschema:"Notes"`
	Incomplete string      `json:"incomplete,omitempty"`
}

// findEntry is a file or directory in the result of find.
type findEntry struct {
	Path     string   `json:"path"`
	Type     string   `json:"type" jsonschema:"file, dir or other."`
	Modified *float64 `json:"modified,omitempty" jsonschema:"Seconds since 1970, with sort=time."`

	name string
	when time.Time
}

// Text returns a name per line, and a last line about the search.
func (o findOutput) Text() string {
	var b strings.Builder
	for _, f := range o.Files {
		b.WriteString(hiddentext.QuoteUnprintable(f.Path))
		if f.Type == "dir" {
			b.WriteByte('/')
		}
		b.WriteByte('\n')
	}
	switch {
	case o.Total == 0:
		b.WriteString("[nothing found")
	case o.Count < o.Total:
		fmt.Fprintf(&b, "[%d of %d", o.Count, o.Total)
	default:
		fmt.Fprintf(&b, "[%d found", o.Total)
	}
	if o.Ignored > 0 {
		fmt.Fprintf(&b, "; %s named by .gitignore, or in directories that are", formatCount(o.Ignored, "more is", "more are"))
	}
	for _, note := range o.Notes {
		b.WriteString("; " + note)
	}
	if o.Incomplete != "" {
		b.WriteString("; " + o.Incomplete)
	}
	if o.Next != "" {
		b.WriteString("; next: cursor=" + hiddentext.QuoteUnprintable(o.Next))
	}
	b.WriteByte(']')
	return b.String()
}

func newFindTool() sdk.Tool {
	return sdk.NewTool("find", "Find files by glob pattern.",
		func(ctx context.Context, req *sdk.Request[findInput]) (findOutput, error) {
			in := req.Args
			in.Path = cmp.Or(in.Path, ".")
			limit, note := effectiveLimit(in.MaxResults)
			if err := validateGlob("the pattern", in.Pattern); err != nil {
				return findOutput{}, err
			}
			f := findCall{req: req, in: in, limit: limit}
			out, err := f.runFind(ctx)
			out.Notes = append(out.Notes, note...)
			return out, err
		},
		sdk.Traits{
			ReadOnly: true, TextResult: true, Sets: []string{"picoclaw", "module"},
			Permissions: []string{"fs.read"}, Risk: "low",
		})
}

// findCall is one call of the tool find.
type findCall struct {
	req *sdk.Request[findInput]
	in  findInput

	limit int // of results

	mu      sync.Mutex
	all     []findEntry
	ignored int
}

func (f *findCall) runFind(ctx context.Context) (findOutput, error) {
	abs, err := f.req.Workspace.AbsPath(f.in.Path)
	if err != nil {
		return findOutput{}, err
	}
	var from pageCursor
	if f.in.Cursor != "" {
		if f.in.Sort == "time" {
			return findOutput{}, sdk.Errorf(sdk.InvalidArgument, "a cursor requires sort=path")
		}
		if from, err = parseCursor(f.in.Cursor); err != nil {
			return findOutput{}, err
		}
	}
	yes := func(b *bool) bool { return b == nil || *b }
	walk := treeWalker{
		w: f.req.Workspace, path: f.in.Path, recursive: true, hidden: yes(f.in.Hidden), ignore: yes(f.in.Gitignore),
		found: f.addEntry, ignored: f.countIgnored,
	}
	out := findOutput{Files: []findEntry{}}
	switch err := walk.walkTree(ctx); {
	case ctx.Err() != nil:
		out.Incomplete = "the search was cancelled; these are the results so far"
	case err != nil:
		return findOutput{}, toAgentError(f.in.Path, err)
	}
	out.Total, out.Ignored, out.Notes = len(f.all), f.ignored, walk.ignoreFileNotes()
	f.sortResults(f.in.Path)
	rest := f.all
	if from.name != "" {
		at, _ := slices.BinarySearchFunc(rest, from.name, func(a findEntry, name string) int { return compareNames(a.name, name) })
		for at < len(rest) && compareNames(rest[at].name, from.name) <= 0 {
			at++
		}
		rest = rest[at:]
	}
	for i := range rest[:min(len(rest), f.limit)] {
		r := rest[i]
		r.Path = joinPath(abs, r.name)
		if f.in.Sort == "time" {
			seconds := float64(r.when.UnixMicro()) / 1e6
			r.Modified = &seconds
		}
		out.Files = append(out.Files, r)
	}
	if out.Count = len(out.Files); out.Count < len(rest) && f.in.Sort != "time" {
		out.Next = pageCursor{out.Files[out.Count-1].name, 0}.String()
	}
	return out, nil
}

func (f *findCall) addEntry(name string, e fs.DirEntry) {
	kind := "other"
	switch {
	case e.IsDir():
		kind = "dir"
	case e.Type().IsRegular():
		kind = "file"
	}
	if (f.in.Type != "" && f.in.Type != kind) || !matchesGlob(f.in.Pattern, name) {
		return
	}
	f.mu.Lock()
	f.all = append(f.all, findEntry{Type: kind, name: name})
	f.mu.Unlock()
}

func (f *findCall) countIgnored(name string, e fs.DirEntry) {
	if e.IsDir() || matchesGlob(f.in.Pattern, name) {
		f.mu.Lock()
		f.ignored++
		f.mu.Unlock()
	}
}

// sortResults sorts the results by name, or by time, which needs a stat call for each.
func (f *findCall) sortResults(path string) {
	if f.in.Sort != "time" {
		slices.SortFunc(f.all, func(a, b findEntry) int { return compareNames(a.name, b.name) })
		return
	}
	for i := range f.all {
		info, err := f.req.Workspace.Stat(joinPath(path, f.all[i].name))
		if err != nil {
			continue // it is last
		}
		f.all[i].when = info.ModTime()
	}
	slices.SortFunc(f.all, func(a, b findEntry) int {
		if c := b.when.Compare(a.when); c != 0 {
			return c
		}
		return compareNames(a.name, b.name)
	})
}
