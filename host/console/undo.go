package console

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// undoTime bounds how long taking back may take.
const undoTime = 5 * time.Minute

// undoView is what is shown before a change is taken back, and after.
type undoView struct {
	Agent, ID string
	Force     bool
	Done      bool
	Said      string // what would be put back, or was
	Refused   string // why it can't be
}

// showUndo says what taking a change back would do. That is a call, as each look at an agent's files is one.
func (c *Console) showUndo(v *visit) (any, error) {
	view := undoView{Agent: v.FormValue("agent"), ID: v.FormValue("id"), Force: v.FormValue("force") != "",
		Done: v.FormValue("done") != ""}
	if view.Agent == "" || view.ID == "" {
		return nil, missing("The address names no change.")
	}
	if view.Done {
		return view, nil
	}
	ctx, cancel := context.WithTimeout(v.Context(), undoTime)
	defer cancel()
	said, err := c.options.Operator.Undo(ctx, view.Agent, view.ID, true, view.Force)
	if view.Said = said; err != nil {
		view.Refused = err.Error()
	}
	return view, nil
}

// undo takes it back. Whoever closes the page does not leave it half done.
func (c *Console) undo(v *visit) (string, error) {
	agent, id := v.PostFormValue("agent"), v.PostFormValue("id")
	if agent == "" || id == "" {
		return "", missing("The form names no change.")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(v.Context()), undoTime)
	defer cancel()
	c.options.Logger.Info("a change is taken back", "agent", agent, "id", id, "by", v.By)
	if _, err := c.options.Operator.Undo(ctx, agent, id, false, v.PostFormValue("force") != ""); err != nil {
		return "", &refusal{http.StatusConflict, "Nothing is known to be taken back: " + err.Error()}
	}
	return "undo?" + url.Values{"agent": {agent}, "id": {id}, "done": {"1"}}.Encode(), nil
}
