package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/sdk"
)

type grepInput struct {
	Pattern       string `json:"pattern" jsonschema:"Regex pattern"`
	Path          string `json:"path,omitempty" jsonschema:"File or directory to search" default:"." claim:"list"`
	Include       string `json:"include,omitempty" jsonschema:"Glob filter on file names, such as *.py"`
	Recursive     *bool  `json:"recursive,omitempty" jsonschema:"Search subdirectories" default:"true"`
	MaxResults    int    `json:"max_results,omitempty" jsonschema:"Maximum matches" default:"100" minimum:"1" maximum:"10000"`
	CaseSensitive *bool  `json:"case_sensitive,omitempty" jsonschema:"Case-sensitive matching" default:"true"`
}

type match struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Text string `json:"text"`
}

type grepOutput struct {
	Matches []match `json:"matches"`
	Count   int     `json:"count"`
	// More says that the search ended at max_results with matches left.
	More bool `json:"more,omitempty"`
}

// Text is one line a match, as grep prints them.
func (o grepOutput) Text() string {
	if len(o.Matches) == 0 {
		return "no matches"
	}
	var b strings.Builder
	for i, m := range o.Matches {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s:%d: %s", shown(m.File), m.Line, m.Text)
	}
	if o.More {
		fmt.Fprintf(&b, "\n… there are more than these %d matches; narrow the pattern or raise max_results", o.Count)
	}
	return b.String()
}

func grepTool(e engine) sdk.Tool {
	return sdk.NewTool("grep", "Search file contents for a regex pattern. Uses native tools for speed.",
		func(ctx context.Context, req *sdk.Request[grepInput]) (grepOutput, error) {
			return search(ctx, e, req)
		},
		sdk.ReadOnly(), sdk.Sets("picoclaw", "module"), sdk.Permissions("fs.read"), sdk.Risk("low"))
}

// maxText is how much of a matching line is returned, in bytes.
const maxText = 500

func search(ctx context.Context, e engine, req *sdk.Request[grepInput]) (grepOutput, error) {
	in := req.Args
	path := in.Path
	if path == "" {
		path = "."
	}
	q := query{
		pattern:   in.Pattern,
		include:   in.Include,
		recursive: in.Recursive == nil || *in.Recursive,
		fold:      in.CaseSensitive != nil && !*in.CaseSensitive,
		limit:     in.MaxResults,
	}
	if q.limit == 0 {
		q.limit = 100
	}
	if err := q.check(); err != nil {
		return grepOutput{}, err
	}
	abs, err := req.Workspace.Abs(path)
	if err != nil {
		return grepOutput{}, err
	}
	found, more, err := e.search(ctx, req.Workspace, path, q)
	if err != nil && !errors.Is(err, context.Canceled) {
		return grepOutput{}, err
	}
	out := grepOutput{Matches: make([]match, 0, len(found)), More: more}
	for _, m := range found {
		m.File = filepath.Join(abs, m.File) // "" is the file that was named itself
		m.Text = cut(m.Text)
		out.Matches = append(out.Matches, m)
	}
	slices.SortStableFunc(out.Matches, func(a, b match) int { return strings.Compare(a.File, b.File) })
	out.Count = len(out.Matches)
	return out, err
}

func cut(text string) string {
	text = strings.ToValidUTF8(strings.TrimRight(text, "\r"), "\uFFFD")
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	return text
}
