package sdk

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// The codes of errors that programs tell apart. A tool may use others of its own.
const (
	InvalidArgument = pluginpb.CodeInvalidArgument // the call has to be made differently
	NotFound        = pluginpb.CodeNotFound        // what was named does not exist
	AccessDenied    = pluginpb.CodeAccessDenied    // the policy or the operating system refused
	Conflict        = pluginpb.CodeConflict        // what was named is not in the state that the call expects
	TooLarge        = pluginpb.CodeTooLarge        // over a limit
	Timeout         = pluginpb.CodeTimeout         // out of time
	Cancelled       = pluginpb.CodeCancelled       // the caller gave up
	NobodyToAsk     = pluginpb.CodeNobodyToAsk     // there is no person to put a question to
	Withdrawn       = pluginpb.CodeWithdrawn       // the tool is not what its manifest says, and not offered any more
	Failed          = pluginpb.CodeFailed          // anything else
)

// Error is an error that an agent can act on.
type Error struct {
	Code    string `json:"code"`           // one of the codes above, or of the tool's own
	Message string `json:"message"`        // what went wrong
	Rule    string `json:"rule,omitempty"` // the rule that refused, when one did
	Hint    string `json:"hint,omitempty"` // what would change that
}

// Errorf makes an [Error] with a message.
func Errorf(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// WithHint returns a copy of e that says what would help.
func (e *Error) WithHint(format string, args ...any) *Error {
	with := *e
	with.Hint = fmt.Sprintf(format, args...)
	return &with
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Explained is the error as an agent reads it. What a plugin has said can't pass for the host's own lines: its lines
// that look like them are indented.
func (e *Error) Explained() string {
	text := strings.NewReplacer("\nhint:", "\n  hint:", "\n(rule", "\n  (rule").Replace(e.Message)
	if e.Rule != "" {
		text += fmt.Sprintf("\n(rule %s)", e.Rule)
	}
	if e.Hint != "" {
		text += "\nhint: " + e.Hint
	}
	return text
}

// wire turns any error into what the host is told.
func wire(err error) *pluginpb.Error {
	e := classify(err)
	e.Message, e.Rule, e.Hint = valid(e.Message), valid(e.Rule), valid(e.Hint)
	return e
}

// valid makes a text one that the wire, and JSON behind it, can carry: bytes that are not UTF-8 show as U+FFFD.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

func classify(err error) *pluginpb.Error {
	if own, ok := errors.AsType[*Error](err); ok {
		// The text of what wraps it is kept: it is the sentence that the author meant.
		return &pluginpb.Error{Code: own.Code, Message: err.Error(), Rule: own.Rule, Hint: own.Hint}
	}
	if refused := workspace.FindRefusal(err); refused != nil {
		return &pluginpb.Error{Code: AccessDenied, Message: err.Error(), Rule: refused.Rule, Hint: refused.Hint}
	}
	code := Failed
	switch {
	case errors.Is(err, fs.ErrNotExist):
		code = NotFound
	case errors.Is(err, fs.ErrPermission):
		code = AccessDenied
	case errors.Is(err, fs.ErrExist):
		code = Conflict
	}
	return &pluginpb.Error{Code: code, Message: err.Error()}
}
