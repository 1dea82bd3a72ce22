package sdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// Content is one block of a result: text, media, or a resource.
type Content struct {
	Text      string
	Data      []byte // binary data
	MediaType string // type of Data or of a resource's Text, such as "image/png"
	URI       string // of a resource; empty for other blocks
	Role      string // of a prompt message: "user" (default) or "assistant"
}

// Result is the result of a tool of [NewSpecTool].
type Result struct {
	Text       string          // text for the agent
	Structured json.RawMessage // typed result, a JSON object that fits the specification's schema; nil for none
	Content    []Content       // content blocks after the text
	Undo       string          // id of the operation in the undo store that undoes the changes; empty for none
}

// textResult is implemented by results with a text for people.
type textResult interface{ Text() string }

// undoableResult is implemented by results with an id in the undo history.
type undoableResult interface{ UndoID() string }

// contentResult is implemented by results with content blocks.
type contentResult interface{ Contents() []Content }

// encodeResult converts a handler's result for the wire. If the result can't be encoded as JSON, it returns an empty
// one besides the error.
func encodeResult(out any) (*pluginpb.Result, error) {
	switch out := out.(type) {
	case string:
		return &pluginpb.Result{Text: toValidUTF8(out)}, nil
	case []Content:
		result := &pluginpb.Result{}
		appendContent(result, out)
		return result, nil
	case Result:
		result := &pluginpb.Result{Text: toValidUTF8(out.Text), Structured: out.Structured, Undo: toValidUTF8(out.Undo)}
		appendContent(result, out.Content)
		return result, nil
	}
	var data bytes.Buffer
	e := json.NewEncoder(&data)
	e.SetEscapeHTML(false) // agents read it as it stands: a < has to be one
	if err := e.Encode(out); err != nil {
		return &pluginpb.Result{}, err
	}
	result := &pluginpb.Result{Structured: bytes.TrimSuffix(data.Bytes(), []byte{'\n'})}
	if t, ok := out.(textResult); ok {
		result.Text = toValidUTF8(t.Text())
	} else {
		result.TextIsStructured = true
	}
	if u, ok := out.(undoableResult); ok {
		result.Undo = toValidUTF8(u.UndoID())
	}
	if c, ok := out.(contentResult); ok {
		appendContent(result, c.Contents())
	}
	return result, nil
}

func appendContent(r *pluginpb.Result, blocks []Content) {
	for _, b := range blocks {
		r.Content = append(r.Content, &pluginpb.Content{
			Text: toValidUTF8(b.Text), Data: b.Data, MediaType: toValidUTF8(b.MediaType), Uri: toValidUTF8(b.URI),
			Role: toValidUTF8(b.Role),
		})
	}
}

// Error codes that programs distinguish. A tool may use its own codes as well.
const (
	InvalidArgument = pluginpb.CodeInvalidArgument // the call must be changed
	NotFound        = pluginpb.CodeNotFound        // missing file or object
	AccessDenied    = pluginpb.CodeAccessDenied    // refused by the policy or the operating system
	Conflict        = pluginpb.CodeConflict        // unexpected state
	TooLarge        = pluginpb.CodeTooLarge        // over a limit
	Timeout         = pluginpb.CodeTimeout
	Cancelled       = pluginpb.CodeCancelled   // by the caller
	NobodyToAsk     = pluginpb.CodeNobodyToAsk // no person can be asked
	Withdrawn       = pluginpb.CodeWithdrawn   // the tool differs from its manifest and is no longer offered
	Failed          = pluginpb.CodeFailed      // anything else
)

// Error is an error with a code for programs and a hint for agents.
type Error struct {
	Code    string `json:"code"`           // one of the codes above, or the tool's own
	Message string `json:"message"`        // what went wrong
	Rule    string `json:"rule,omitempty"` // rule that refused the call, if any
	Hint    string `json:"hint,omitempty"` // remedy, if known
}

// Errorf returns an [Error] with a message.
func Errorf(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// WithHint returns a copy of e with a remedy.
func (e *Error) WithHint(format string, args ...any) *Error {
	with := *e
	with.Hint = fmt.Sprintf(format, args...)
	return &with
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// AgentText returns the error as text for an agent. It indents lines of the message that imitate the host's lines.
func (e *Error) AgentText() string {
	text := strings.NewReplacer("\nhint:", "\n  hint:", "\n(rule", "\n  (rule").Replace(e.Message)
	if e.Rule != "" {
		text += fmt.Sprintf("\n(rule %s)", e.Rule)
	}
	if e.Hint != "" {
		text += "\nhint: " + e.Hint
	}
	return text
}

func toWireError(err error) *pluginpb.Error {
	e := classifyError(err)
	e.Message, e.Rule, e.Hint = toValidUTF8(e.Message), toValidUTF8(e.Rule), toValidUTF8(e.Hint)
	return e
}

// toValidUTF8 replaces invalid UTF-8 by U+FFFD.
func toValidUTF8(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

func classifyError(err error) *pluginpb.Error {
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
