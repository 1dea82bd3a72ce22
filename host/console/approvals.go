package console

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/picoclaw/picoclaw/host/approvals"
)

// approvalsView is the data of the approvals page.
type approvalsView struct{ Waiting []waitingCallRow }

// waitingCallRow is a call that waits for approval, with its exact arguments.
type waitingCallRow struct {
	*approvals.WaitingCall

	Exact string // the arguments
	Left  string
}

func (c *Console) showApprovals(*authenticatedRequest) (any, error) {
	all, err := approvals.ListWaitingCalls(c.options.Home)
	if err != nil {
		return nil, err
	}
	var view approvalsView
	for _, one := range all {
		view.Waiting = append(view.Waiting, waitingCallRow{one, formatExactArguments(one.Arguments),
			max(0, time.Until(one.Until)).Round(time.Second).String()})
	}
	return view, nil
}

// formatExactArguments formats the complete arguments, one per line, for the person who decides on the call.
func formatExactArguments(arguments json.RawMessage) string {
	text := jsontext.Value(slices.Clone(arguments))
	if text.Format(jsontext.AllowInvalidUTF8(true), jsontext.Multiline(true), jsontext.WithIndent("  ")) != nil {
		return string(arguments)
	}
	return string(text)
}

// answerApproval approves or denies a waiting call. The form contains a digest of the call, so the answer applies only
// to the call that was shown.
func (c *Console) answerApproval(v *authenticatedRequest) (string, error) {
	w, err := approvals.FindWaitingCall(c.options.Home, v.PostFormValue("id"))
	if err == nil && subtle.ConstantTimeCompare([]byte(w.Digest()), []byte(v.PostFormValue("digest"))) != 1 {
		err = approvals.ErrNotWaiting
	}
	if err == nil {
		err = approvals.AnswerCall(c.options.Home, w, approvals.Answer{Yes: v.PostFormValue("answer") == "allow", By: v.By,
			Way: "console", Time: time.Now().UTC(), Why: v.PostFormValue("why")})
	}
	if errors.Is(err, approvals.ErrNotWaiting) || errors.Is(err, approvals.ErrAnswered) {
		return "", &httpError{http.StatusConflict, "The call is no longer waiting, or was answered."}
	}
	return "approvals", err
}
