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

// fileChanges is the change of one or more files by a call, all or none.
type fileChanges struct {
	tool   string // for the journal
	doing  string // for errors: "edit file"
	dryRun bool
	edits  []fileEdit
}

// fileEdit is the change of one file.
type fileEdit struct {
	path    string
	ifMatch string // the etag that the file must have; absent for none
	must    bool   // there must be a file
	parents bool   // missing directories are made
	mode    fs.FileMode
	added   bool // the new contents are the old ones with something after them

	// make returns the new contents. It may tell more about itself in its own variables: the last call counts.
	make func(v *oldContent) ([]byte, error)
}

// absentEtag is the etag of a missing file.
const absentEtag = "absent"

// fileOutcome is the result for one file.
type fileOutcome struct {
	Path      string   `json:"path"`
	Etag      string   `json:"etag" jsonschema:"Identifies the new contents: if_match of a change wants it."`
	SizeBytes int64    `json:"size_bytes"`
	Created   bool     `json:"created,omitempty" jsonschema:"There was no file before."`
	Notes     []string `json:"notes,omitempty" jsonschema:"What else is to be known."`
}

// changeOutcome is the result for all files of a call.
type changeOutcome struct {
	Files []fileOutcome
	Undo  string // id in the undo history; empty if impossible
	Notes []string
	Diff  string // of a dry run
}

// oldContent is a file before a change.
type oldContent struct {
	old  *workspace.OldFile
	env  *sdk.Environment
	path string
}

// isUnreadable reports whether the policy forbids reading the file.
func (c *oldContent) isUnreadable() bool { return !isReadable(c.env, c.path) }

// readBytes returns the old contents.
func (c *oldContent) readBytes() ([]byte, error) { return c.old.Bytes() }

// detectEncoding returns the encoding according to the byte order mark.
func (c *oldContent) detectEncoding() (text.Encoding, error) {
	if !c.old.Exists() {
		return text.Detect(nil), nil
	}
	if c.old.Info.Size() <= maxSmallFile {
		data, err := c.readBytes()
		return text.Detect(data), err
	}
	head := make([]byte, 3)
	_, err := io.ReadFull(c.old.Reader(), head)
	return text.Detect(head), err
}

// maxSmallFile is the size up to which a file is read once into memory.
const maxSmallFile = 1 << 20

// oldEtag returns the etag of a file before a change.
func oldEtag(ctx context.Context, old *workspace.OldFile) (string, error) {
	switch size := old.Info.Size(); {
	case size > maxReadBytes:
		return revisionEtag(old.Info), nil
	case size > maxSmallFile:
		return contentEtag(ctx, old.Reader())
	}
	data, err := old.Bytes()
	return versions.Etag(data), err
}

// applyChange makes the change.
func (m *pluginState) applyChange(ctx context.Context, env *sdk.Environment, c fileChanges) (*changeOutcome, error) {
	if err := m.initOnce(env); err != nil {
		return nil, err
	}
	out := &changeOutcome{}
	edits := make([]workspace.Edit, len(c.edits))
	for i, e := range c.edits {
		edits[i] = workspace.Edit{Path: e.path, Mode: e.mode, Parents: e.parents,
			Change: func(old *workspace.OldFile) ([]byte, error) {
				if err := ctx.Err(); err != nil {
					return nil, sdk.Errorf(sdk.Cancelled, "failed to %s: cancelled", c.doing)
				}
				return m.newContents(ctx, &oldContent{old: old, env: env, path: e.path}, e, c.doing)
			}}
	}
	if c.dryRun {
		err := env.Workspace.PreviewEdits(func(changed []workspace.PlannedChange) error {
			out.addFiles(changed)
			out.Diff = allDiffs(env, changed)
			return nil
		}, edits...)
		if err != nil {
			return nil, c.changeError(err)
		}
		return out, nil
	}
	rec := m.beginRecording(env, c.tool, "")
	rec.visitDirs(env.Workspace, c.edits)
	err := env.Workspace.ApplyEdits(func(changed []workspace.PlannedChange) error {
		out.addFiles(changed)
		rec.beforeFiles(&c, changed)
		return nil
	}, edits...)
	if err != nil {
		rec.finishFailed(err)
		return nil, c.changeError(err)
	}
	rec.finish(&out.Undo, &out.Notes)
	return out, nil
}

// visitDirs records directories before a temporary file changes their times.
func (r undoRecording) visitDirs(w *workspace.Workspace, edits []fileEdit) {
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

// beforeFiles saves files before they are changed.
func (r undoRecording) beforeFiles(c *fileChanges, changed []workspace.PlannedChange) {
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
		r.beforeChange(mutation.Write, f.Old.Path, "")
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

// changeError converts an error, and names the file if there are several.
func (c *fileChanges) changeError(err error) error {
	path := c.edits[0].path
	about := workspace.FailedFile(err)
	if about != "" {
		path = about
	}
	said := pathFailure(c.doing, path, err)
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

// newContents returns the new contents of one file, after checking its version.
func (m *pluginState) newContents(ctx context.Context, v *oldContent, e fileEdit, doing string) ([]byte, error) {
	if !v.old.Exists() {
		if e.must {
			return nil, sdk.Errorf(sdk.NotFound, "failed to %s: file not found", doing).WithHint("there is no %s", hiddentext.QuoteName(e.path))
		}
		if e.ifMatch != "" && e.ifMatch != absentEtag {
			return nil, sdk.Errorf(sdk.Conflict, "failed to %s: there is no such file any more; nothing was changed", doing)
		}
	}
	if e.ifMatch != "" && v.old.Exists() {
		if err := m.checkVersion(ctx, v, e, doing); err != nil {
			return nil, err
		}
	}
	return e.make(v)
}

// checkVersion compares the file with the version the caller has seen.
func (m *pluginState) checkVersion(ctx context.Context, v *oldContent, e fileEdit, doing string) error {
	etag, err := oldEtag(ctx, v.old)
	if err != nil {
		return err
	}
	if etag == e.ifMatch {
		return nil
	}
	if e.ifMatch == absentEtag {
		return sdk.Errorf(sdk.Conflict, "failed to %s: the file exists already; nothing was changed", doing)
	}
	return m.conflictError(doing, e.path, e.ifMatch, etag, !v.isUnreadable(), v.readBytes)
}

// addFiles describes the changed files.
func (out *changeOutcome) addFiles(changed []workspace.PlannedChange) {
	for _, c := range changed {
		o := fileOutcome{
			Path: c.Old.Path, Etag: versions.Etag(c.Data), SizeBytes: int64(len(c.Data)), Created: !c.Old.Exists(),
		}
		if n := c.Old.LinkCount(); n > 1 {
			o.Notes = append(o.Notes, fmt.Sprintf("the file had %d names (hard links); the others keep the old contents", n))
		}
		out.Files = append(out.Files, o)
	}
}

// allNotes returns all notes.
func (out *changeOutcome) allNotes() []string {
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

// withNotes appends notes to a message.
func withNotes(message string, notes []string) string {
	for _, note := range notes {
		message += "\nnote: " + strings.TrimSuffix(note, "\n")
	}
	return message
}

// isReadable reports whether the policy allows reading a path; only then may messages quote its content.
func isReadable(env *sdk.Environment, path string) bool {
	return env.Guard.DecidePath(guard.Read, path).Verdict == guard.Allow
}
