package main

import (
	"context"
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"syscall"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// newPathFailureError is like newFailureError, but names a missing file in the hint.
func newPathFailureError(doing, path string, err error) error {
	said := newFailureError(doing, err)
	var own *sdk.Error
	if !errors.Is(err, fs.ErrNotExist) || !errors.As(said, &own) || own.Code != sdk.NotFound || own.Hint != "" {
		return said
	}
	return own.WithHint("there is no %s", hiddentext.QuoteUnprintable(path))
}

// newFailureError converts an error, except a refusal, to a message such as "failed to read file: file not found".
func newFailureError(doing string, err error) error {
	if own, ok := errors.AsType[*sdk.Error](err); ok {
		return own
	}
	if refused := workspace.FindRefusal(err); refused != nil {
		said := *refused
		said.Err = errors.New(escapeMessage(refused.Error()))
		return &said
	}
	say := func(code, what string) *sdk.Error {
		return sdk.Errorf(code, "failed to %s: %s", doing, escapeMessage(what))
	}
	switch {
	case !workspace.IsNoChangeError(err):
		return sdk.Errorf(sdk.Failed, "%s", escapeMessage(err.Error())).
			WithHint("check the current contents; undo reverses the change. The disk may be full or broken")
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return say(sdk.Cancelled, "it was stopped")
	case errors.Is(err, syscall.ENAMETOOLONG):
		return say(sdk.InvalidArgument,
			"a name in the path is too long").WithHint("a name takes at most 255 bytes, a whole path 4095")
	case errors.Is(err, syscall.ENOTDIR):
		return say(sdk.InvalidArgument, "a part of the path is a file, not a directory")
	case errors.Is(err, workspace.Foreign):
		denied := say(sdk.AccessDenied, "access denied")
		denied.Message += "\n" + escapeMessage(err.Error())
		return denied.WithHint("let its owner allow writing, or delete it and write a new file, which this user will own")
	case errors.Is(err, workspace.ReadOnly):
		return say(sdk.AccessDenied, "access denied").WithHint("the file is read-only; change its mode first, with exec and chmod for example")
	case errors.Is(err, workspace.Exists):
		return say(sdk.Conflict, err.Error()).WithHint("set overwrite to replace it")
	case errors.Is(err, syscall.ENOSPC):
		return say(sdk.Failed, "no space left on the device").WithHint("nothing was changed; make room on that disk, then try again")
	case errors.Is(err, syscall.EDQUOT):
		return say(sdk.Failed, "the user's disk quota is exceeded").
			WithHint("nothing was changed; delete files that count towards the quota, or have it raised, then try again")
	case errors.Is(err, workspace.NoDirectory):
		return say(sdk.NotFound, "file not found").WithHint("%s", escapeMessage(err.Error()))
	case errors.Is(err, fs.ErrNotExist):
		return say(sdk.NotFound, "file not found")
	case errors.Is(err, fs.ErrPermission):
		return say(sdk.AccessDenied, "access denied")
	case errors.Is(err, workspace.TooLarge):
		return say(sdk.TooLarge, err.Error()).WithHint("where commands are enabled, they can change a larger file: printf >>, sed -i, a script")
	case errors.Is(err, workspace.Busy):
		return say(sdk.Conflict, err.Error())
	case errors.Is(err, workspace.DirectoryName):
		return say(sdk.InvalidArgument, err.Error()).WithHint("name the file itself: in that directory, or without the slash")
	case errors.Is(err, workspace.NotRegular), errors.Is(err, workspace.IsDirectory), errors.Is(err, workspace.Same):
		return say(sdk.InvalidArgument, err.Error())
	}
	return say(sdk.Failed, err.Error())
}

// addMissingDirHint adds to an error how to write into a missing directory.
func addMissingDirHint(err error, path string, create bool) error {
	if own, ok := errors.AsType[*sdk.Error](err); ok && !create && own.Code == sdk.NotFound {
		return own.WithHint("the directory of %s may be missing; create_dirs creates it", hiddentext.QuoteUnprintable(path))
	}
	return err
}

// escapeMessage escapes characters in a message that could deceive its reader, such as bidirectional marks.
func escapeMessage(message string) string {
	if !strings.ContainsFunc(message, hiddentext.IsUnprintable) {
		return message
	}
	quoted := strconv.Quote(message)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}
