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

// changeRequest is a requested change of one or more files. Either all files change or none.
type changeRequest struct {
	tool   string // for the journal
	doing  string // for errors: "edit file"
	dryRun bool
	edits  []fileChange
}

// fileChange is the requested change of one file, with its preconditions.
type fileChange struct {
	path    string
	ifMatch string // the etag that the file must have; absent for none
	must    bool   // the file must exist
	parents bool   // create missing directories
	mode    fs.FileMode
	added   bool // the new contents are the old ones with text appended

	// make returns the new contents. It may store further results in its own variables; those of the last call count.
	make func(v *originalFile) ([]byte, error)
}

// absentEtag is the etag of a missing file.
const absentEtag = "absent"

// changedFileInfo describes one changed file in a tool's result.
type changedFileInfo struct {
	Path      string   `json:"path"`
	Etag      string   `json:"etag" jsonschema:"Etag of the new contents, for if_match of a change."`
	SizeBytes int64    `json:"size_bytes"`
	Created   bool     `json:"created,omitempty" jsonschema:"The file is new."`
	Notes     []string `json:"notes,omitempty" jsonschema:"Notes."`
}

// changeResult describes all files that a call changed.
type changeResult struct {
	recordedChange
	Files []changedFileInfo
	Diff  string // of a dry run
}

// originalFile is a file as it was before a change.
type originalFile struct {
	old  *workspace.OldFile
	env  *sdk.Environment
	path string
}

// isReadForbidden reports whether the policy forbids reading the file.
func (c *originalFile) isReadForbidden() bool { return !isReadAllowed(c.env, c.path) }

// readBytes returns the original contents.
func (c *originalFile) readBytes() ([]byte, error) { return c.old.Bytes() }

// detectEncoding returns the encoding in the byte order mark, or else UTF-8.
func (c *originalFile) detectEncoding() (text.Encoding, error) {
	if !c.old.Exists() {
		return text.DetectEncoding(nil), nil
	}
	if c.old.Info.Size() <= maxCachedFile {
		data, err := c.readBytes()
		return text.DetectEncoding(data), err
	}
	head := make([]byte, 3)
	_, err := io.ReadFull(c.old.Reader(), head)
	return text.DetectEncoding(head), err
}

// maxCachedFile is the maximum size of a file whose contents are kept in memory during a change.
const maxCachedFile = 1 << 20

// originalEtag returns the etag of a file before a change.
func originalEtag(ctx context.Context, old *workspace.OldFile) (string, error) {
	switch size := old.Info.Size(); {
	case size > maxFullReadBytes:
		return revisionEtag(old.Info), nil
	case size > maxCachedFile:
		return contentEtag(ctx, old.Reader())
	}
	data, err := old.Bytes()
	return versions.ComputeEtag(data), err
}

// applyChange applies a change request, or previews a dry run, and records the change for undo.
func (m *pluginState) applyChange(ctx context.Context, env *sdk.Environment, c changeRequest) (*changeResult, error) {
	if err := m.initOnce(env); err != nil {
		return nil, err
	}
	out := &changeResult{}
	edits := make([]workspace.FileChange, len(c.edits))
	for i, e := range c.edits {
		edits[i] = workspace.FileChange{Path: e.path, Mode: e.mode, Parents: e.parents,
			Change: func(old *workspace.OldFile) ([]byte, error) {
				if err := ctx.Err(); err != nil {
					return nil, sdk.Errorf(sdk.Cancelled, "failed to %s: cancelled", c.doing)
				}
				return m.computeNewContents(ctx, &originalFile{old: old, env: env, path: e.path}, e, c.doing)
			}}
	}
	if c.dryRun {
		err := env.Workspace.PreviewChanges(func(changed []workspace.PlannedChange) error {
			out.addFiles(changed)
			out.Diff = formatAllDiffs(env, changed)
			return nil
		}, edits...)
		if err != nil {
			return nil, c.toAgentError(err)
		}
		return out, nil
	}
	rec := m.beginRecording(env, c.tool, "")
	rec.recordDirTimes(env.Workspace, c.edits)
	err := env.Workspace.ApplyChanges(func(changed []workspace.PlannedChange) error {
		out.addFiles(changed)
		rec.saveOriginalFiles(&c, changed)
		return nil
	}, edits...)
	if err != nil {
		rec.finishFailed(err)
		return nil, c.toAgentError(err)
	}
	rec.finish(&out.recordedChange)
	return out, nil
}

// recordDirTimes records the directories of the changed files, before temporary files change the directories' times.
func (r undoRecording) recordDirTimes(w *workspace.Workspace, edits []fileChange) {
	if r.Recorder == nil {
		return
	}
	for _, e := range edits {
		if path, err := w.AbsPath(e.path); err == nil {
			if real, err := paths.Resolve(path); err == nil {
				r.NoteParentDir(real)
			}
		}
	}
}

// saveOriginalFiles saves the original contents of the files that are about to change.
func (r undoRecording) saveOriginalFiles(c *changeRequest, changed []workspace.PlannedChange) {
	if r.Recorder == nil {
		return
	}
	r.SetSummary(formatUndoSummary(c.tool, changed))
	for _, f := range changed {
		for _, dir := range f.Dirs {
			r.NoteCreatedDir(dir)
		}
		if len(changed) == 1 && c.edits[0].added && f.Old.Exists() {
			r.NoteAppend(f.Old.Path)
			continue
		}
		r.saveBeforeChange(mutation.Write, f.Old.Path, "")
	}
}

// formatUndoSummary returns the summary for the undo history.
func formatUndoSummary(tool string, changed []workspace.PlannedChange) string {
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

// toAgentError converts an error to one for the agent. It names the file if the request has several.
func (c *changeRequest) toAgentError(err error) error {
	path := c.edits[0].path
	about := workspace.FailedFile(err)
	if about != "" {
		path = about
	}
	said := newPathFailureError(c.doing, path, err)
	if len(c.edits) < 2 {
		return said
	}
	var own *sdk.Error
	if !errors.As(said, &own) {
		return said // a refusal, which names the path
	}
	with := *own
	if about != "" && !strings.Contains(with.Message+with.Hint, hiddentext.QuoteUnprintable(path)) {
		with.Message += "\nthe file is " + hiddentext.QuoteUnprintable(path)
	}
	if workspace.IsNoChangeError(err) {
		with.Message += "\nnothing was changed in any file"
	}
	return &with
}

// computeNewContents checks the preconditions for a file and returns its new contents.
func (m *pluginState) computeNewContents(ctx context.Context, v *originalFile, e fileChange, doing string) ([]byte, error) {
	if !v.old.Exists() {
		if e.must {
			return nil, sdk.Errorf(sdk.NotFound, "failed to %s: file not found", doing).WithHint("there is no %s", hiddentext.QuoteUnprintable(e.path))
		}
		if e.ifMatch != "" && e.ifMatch != absentEtag {
			return nil, sdk.Errorf(sdk.Conflict, "failed to %s: the file no longer exists; nothing was changed", doing)
		}
	}
	if e.ifMatch != "" && v.old.Exists() {
		if err := m.checkEtag(ctx, v, e, doing); err != nil {
			return nil, err
		}
	}
	return e.make(v)
}

// checkEtag returns a conflict error if the file has another etag than the request.
func (m *pluginState) checkEtag(ctx context.Context, v *originalFile, e fileChange, doing string) error {
	etag, err := originalEtag(ctx, v.old)
	if err != nil {
		return err
	}
	if etag == e.ifMatch {
		return nil
	}
	if e.ifMatch == absentEtag {
		return sdk.Errorf(sdk.Conflict, "failed to %s: the file exists already; nothing was changed", doing)
	}
	return m.newConflictError(doing, e.path, e.ifMatch, etag, !v.isReadForbidden(), v.readBytes)
}

// addFiles adds descriptions of changed files to the result.
func (out *changeResult) addFiles(changed []workspace.PlannedChange) {
	for _, c := range changed {
		o := changedFileInfo{
			Path: c.Old.Path, Etag: versions.ComputeEtag(c.Data), SizeBytes: int64(len(c.Data)), Created: !c.Old.Exists(),
		}
		if n := c.Old.LinkCount(); n > 1 {
			o.Notes = append(o.Notes, fmt.Sprintf("the file had %d names (hard links); the others keep the old contents", n))
		}
		out.Files = append(out.Files, o)
	}
}

// allNotes returns the notes about all files and about the call.
func (out *changeResult) allNotes() []string {
	var all []string
	for _, f := range out.Files {
		for _, note := range f.Notes {
			if len(out.Files) > 1 {
				note = hiddentext.QuoteUnprintable(f.Path) + ": " + note
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

// isReadAllowed reports whether the policy allows reading a path. Messages may only quote such files.
func isReadAllowed(env *sdk.Environment, path string) bool {
	return env.Guard.DecidePath(guard.Read, path).Verdict == guard.Allow
}
