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

// approvalsView is what the page of waiting calls shows.
type approvalsView struct{ Waiting []waiting }

// waiting is a call that waits, as it is shown: with the exact arguments.
type waiting struct {
	*approvals.Waiting

	Exact string // the arguments
	Left  string
}

func (c *Console) showApprovals(*visit) (any, error) {
	all, err := approvals.List(c.options.Home)
	if err != nil {
		return nil, err
	}
	var view approvalsView
	for _, one := range all {
		view.Waiting = append(view.Waiting, waiting{one, exact(one.Arguments),
			max(0, time.Until(one.Until)).Round(time.Second).String()})
	}
	return view, nil
}

// exact are arguments on lines of their own. Nothing is cut or left out: that is what is decided on.
func exact(arguments json.RawMessage) string {
	text := jsontext.Value(slices.Clone(arguments))
	if text.Format(jsontext.AllowInvalidUTF8(true), jsontext.Multiline(true), jsontext.WithIndent("  ")) != nil {
		return string(arguments)
	}
	return string(text)
}

// answer answers one call: the exact one that was shown, whose digest the form has.
func (c *Console) answer(v *visit) (string, error) {
	w, err := approvals.Find(c.options.Home, v.PostFormValue("id"))
	if err == nil && subtle.ConstantTimeCompare([]byte(w.Digest()), []byte(v.PostFormValue("digest"))) != 1 {
		err = approvals.ErrGone
	}
	if err == nil {
		err = approvals.Give(c.options.Home, w, approvals.Answer{Yes: v.PostFormValue("answer") == "allow", By: v.By,
			Way: "console", Time: time.Now().UTC(), Why: v.PostFormValue("why")})
	}
	if errors.Is(err, approvals.ErrGone) || errors.Is(err, approvals.ErrAnswered) {
		return "", &refusal{http.StatusConflict, "The call does not wait any more, or was answered already."}
	}
	return "approvals", err
}
