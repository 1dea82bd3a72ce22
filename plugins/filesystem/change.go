package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/text"
	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/versions"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// change is what one call does to one or several files, all or none.
type change struct {
	tool   string // for the journal
	doing  string // for errors: "edit file"
	dryRun bool
	edits  []fileEdit
}

// fileEdit is what is done to one file.
type fileEdit struct {
	path    string
	ifMatch string // the etag that the file must have; absent for none
	must    bool   // there must be a file
	parents bool   // missing directories are made
	mode    fs.FileMode
	added   bool // the new contents are the old ones with something after them

	// make returns the new contents. It may tell more about itself in its own variables: the last call counts.
	make func(v *existing) ([]byte, error)
}

// absent, as an etag, says that there is no file.
const absent = "absent"

// outcome is what has become of one file.
type outcome struct {
	Path      string   `json:"path"`
	Etag      string   `json:"etag" jsonschema:"Identifies the new contents: if_match of a change wants it."`
	SizeBytes int64    `json:"size_bytes"`
	Created   bool     `json:"created,omitempty" jsonschema:"There was no file before."`
	Notes     []string `json:"notes,omitempty" jsonschema:"What else is to be known."`
}

// outcomes are those of all the files of a call.
type outcomes struct {
	Files []outcome
	Undo  string // the operation that undo takes back; empty if it can't be
	Notes []string
	Diff  string // of a dry run
}

// existing is a file as a change finds it.
type existing struct {
	old  *workspace.OldFile
	env  *sdk.Environment
	path string
}

// shut reports whether the policy does not open the file for reading.
func (c *existing) shut() bool { return !readable(c.env, c.path) }

// bytes returns the old contents.
func (c *existing) bytes() ([]byte, error) { return c.old.Bytes() }

// encoding returns what the file is written in, as its byte order mark says.
func (c *existing) encoding() (text.Encoding, error) {
	if !c.old.Exists() {
		return text.Detect(nil), nil
	}
	if c.old.Info.Size() <= smallFile {
		data, err := c.bytes()
		return text.Detect(data), err
	}
	head := make([]byte, 3)
	_, err := io.ReadFull(c.old.Reader(), head)
	return text.Detect(head), err
}

// smallFile is up to how many bytes a file is read once and for all.
const smallFile = 1 << 20

// etagOfOld returns the etag of a file as it is before a change.
func etagOfOld(ctx context.Context, old *workspace.OldFile) (string, error) {
	switch size := old.Info.Size(); {
	case size > maxRead:
		return revision(old.Info), nil
	case size > smallFile:
		return etagOf(ctx, old.Reader())
	}
	data, err := old.Bytes()
	return versions.Etag(data), err
}

// do makes the change.
func (m *memory) do(ctx context.Context, env *sdk.Environment, c change) (*outcomes, error) {
	if err := m.open(env); err != nil {
		return nil, err
	}
	out := &outcomes{}
	edits := make([]workspace.Edit, len(c.edits))
	for i, e := range c.edits {
		edits[i] = workspace.Edit{Path: e.path, Mode: e.mode, Parents: e.parents,
			Change: func(old *workspace.OldFile) ([]byte, error) {
				if err := ctx.Err(); err != nil {
					return nil, sdk.Errorf(sdk.Cancelled, "failed to %s: cancelled", c.doing)
				}
				return m.make(ctx, &existing{old: old, env: env, path: e.path}, e, c.doing)
			}}
	}
	if c.dryRun {
		err := env.Workspace.PreviewEdits(func(changed []workspace.PlannedChange) error {
			out.describe(changed)
			out.Diff = diffs(env, changed)
			return nil
		}, edits...)
		if err != nil {
			return nil, c.failure(err)
		}
		return out, nil
	}
	rec := m.record(env, c.tool, "")
	rec.visit(env.Workspace, c.edits)
	err := env.Workspace.ApplyEdits(func(changed []workspace.PlannedChange) error {
		out.describe(changed)
		rec.beforeFiles(&c, changed)
		return nil
	}, edits...)
	if err != nil {
		rec.fail(err)
		return nil, c.failure(err)
	}
	rec.end(&out.Undo, &out.Notes)
	return out, nil
}

// visit notes what directories are before a temporary file changes their times.
func (r recording) visit(w *workspace.Workspace, edits []fileEdit) {
	if r.Recorder == nil {
		return
	}
	for _, e := range edits {
		if path, err := w.AbsPath(e.path); err == nil {
			if real, err := paths.Resolve(path); err == nil {
				r.Visit(real)
			}
		}
	}
}

// beforeFiles keeps files that are about to be changed.
func (r recording) beforeFiles(c *change, changed []workspace.PlannedChange) {
	if r.Recorder == nil {
		return
	}
	r.Describe(summarize(c.tool, changed))
	for _, f := range changed {
		for _, dir := range f.Dirs {
			r.Created(dir)
		}
		if len(changed) == 1 && c.edits[0].added && f.Old.Exists() {
			r.Append(f.Old.Path)
			continue
		}
		r.before(mutation.Write, f.Old.Path, "")
	}
}

func summarize(tool string, changed []workspace.PlannedChange) string {
	first := changed[0]
	verb := "changed"
	if !first.Old.Exists() {
		verb = "made"
	}
	if len(changed) > 1 {
		return fmt.Sprintf("%s: changed %d files, %s and others", tool, len(changed), first.Old.Path)
	}
	return fmt.Sprintf("%s: %s %s", tool, verb, first.Old.Path)
}

// failure says what went wrong, and of several files with which.
func (c *change) failure(err error) error {
	path := c.edits[0].path
	about := workspace.FailedFile(err)
	if about != "" {
		path = about
	}
	said := failureAt(c.doing, path, err)
	if len(c.edits) < 2 {
		return said
	}
	var own *sdk.Error
	if !errors.As(said, &own) {
		return said // a refusal, which names the path
	}
	with := *own
	if about != "" && !strings.Contains(with.Message+with.Hint, hiddentext.QuoteName(path)) {
		with.Message += "\nthe file is " + hiddentext.QuoteName(path)
	}
	if workspace.IsUnchanged(err) {
		with.Message += "\nnothing was changed in any file"
	}
	return &with
}

// make returns the new contents of one file, once it has been found to be the one that the caller means.
func (m *memory) make(ctx context.Context, v *existing, e fileEdit, doing string) ([]byte, error) {
	if !v.old.Exists() {
		if e.must {
			return nil, sdk.Errorf(sdk.NotFound, "failed to %s: file not found", doing).WithHint("there is no %s", hiddentext.QuoteName(e.path))
		}
		if e.ifMatch != "" && e.ifMatch != absent {
			return nil, sdk.Errorf(sdk.Conflict, "failed to %s: there is no such file any more; nothing was changed", doing)
		}
	}
	if e.ifMatch != "" && v.old.Exists() {
		if err := m.match(ctx, v, e, doing); err != nil {
			return nil, err
		}
	}
	return e.make(v)
}

// match compares the file with the version that the caller has seen.
func (m *memory) match(ctx context.Context, v *existing, e fileEdit, doing string) error {
	etag, err := etagOfOld(ctx, v.old)
	if err != nil {
		return err
	}
	if etag == e.ifMatch {
		return nil
	}
	if e.ifMatch == absent {
		return sdk.Errorf(sdk.Conflict, "failed to %s: the file exists already; nothing was changed", doing)
	}
	return m.conflict(doing, e.path, e.ifMatch, etag, !v.shut(), v.bytes)
}

// describe says what has become of the files.
func (out *outcomes) describe(changed []workspace.PlannedChange) {
	for _, c := range changed {
		o := outcome{
			Path: c.Old.Path, Etag: versions.Etag(c.Data), SizeBytes: int64(len(c.Data)), Created: !c.Old.Exists(),
		}
		if n := c.Old.LinkCount(); n > 1 {
			o.Notes = append(o.Notes, fmt.Sprintf("the file had %d names (hard links); the others keep the old contents", n))
		}
		out.Files = append(out.Files, o)
	}
}

// notes are everything that is to be said beside the result.
func (out *outcomes) notes() []string {
	var all []string
	for _, f := range out.Files {
		for _, note := range f.Notes {
			if len(out.Files) > 1 {
				note = hiddentext.QuoteName(f.Path) + ": " + note
			}
			all = append(all, note)
		}
	}
	return append(all, out.Notes...)
}

// said is a message with its notes on lines of their own.
func said(message string, notes []string) string {
	for _, note := range notes {
		message += "\nnote: " + strings.TrimSuffix(note, "\n")
	}
	return message
}

// readable reports whether the policy opens a path for reading: what a change says about contents goes only to those
// who may read them.
func readable(env *sdk.Environment, path string) bool {
	return env.Guard.Path(guard.Read, path).Verdict == guard.Allow
}
