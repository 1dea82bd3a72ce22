package console

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// undoTimeout limits the duration of an undo.
const undoTimeout = 5 * time.Minute

// undoView is the data of the undo page.
type undoView struct {
	Agent, ID string
	Force     bool
	Done      bool
	Said      string // what would be restored, or was
	Refused   string // why undo is impossible
}

// showUndo shows the changes that an undo would make, by a dry run. The dry run is logged as a call.
func (c *Console) showUndo(v *authenticatedRequest) (any, error) {
	view := undoView{Agent: v.FormValue("agent"), ID: v.FormValue("id"), Force: v.FormValue("force") != "",
		Done: v.FormValue("done") != ""}
	if view.Agent == "" || view.ID == "" {
		return nil, newNotFoundError("The address names no change.")
	}
	if view.Done {
		return view, nil
	}
	ctx, cancel := context.WithTimeout(v.Context(), undoTimeout)
	defer cancel()
	said, err := c.options.Operator.Undo(ctx, view.Agent, view.ID, true, view.Force)
	if view.Said = said; err != nil {
		view.Refused = err.Error()
	}
	return view, nil
}

// undoChange undoes the change. It continues if the browser closes the page.
func (c *Console) undoChange(v *authenticatedRequest) (string, error) {
	agent, id := v.PostFormValue("agent"), v.PostFormValue("id")
	if agent == "" || id == "" {
		return "", newNotFoundError("The form names no change.")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(v.Context()), undoTimeout)
	defer cancel()
	c.options.Logger.Info("undo a change", "agent", agent, "id", id, "by", v.By)
	if _, err := c.options.Operator.Undo(ctx, agent, id, false, v.PostFormValue("force") != ""); err != nil {
		return "", &httpError{http.StatusConflict, "Undo is impossible: " + err.Error()}
	}
	return "undo?" + url.Values{"agent": {agent}, "id": {id}, "done": {"1"}}.Encode(), nil
}
