package console

import (
	"bytes"
	"crypto/subtle"
	"errors"
	"html/template"
	"net/http"

	"github.com/picoclaw/picoclaw/host/approvals"
)

// listPages returns the pages in the order of the navigation. Pages without title are not in the navigation. To add a
// page, add a Go file, a template in pages/, and a row here.
func (c *Console) listPages() []*consolePage {
	all := []*consolePage{
		{path: "calls", title: "Calls", show: c.showCalls},
		{path: "call", title: "Call", within: true, show: c.showCall},
		{path: "approvals", title: "Approvals", show: c.showApprovals, act: c.answerApproval},
		{path: "undo", title: "Undo", within: true, operate: true, show: c.showUndo, act: c.undoChange},
		{path: "stream", raw: c.streamCalls},
		{path: "logout", free: c.logout},
	}
	if c.options.Instance == nil {
		return all
	}
	return append(all,
		&consolePage{path: "agents", title: "Agents", show: c.showAgents, act: c.stopOrResumeAgent},
		&consolePage{path: "agent", title: "Agent", within: true, show: c.showAgent, act: c.switchTool},
		&consolePage{path: "plugins", title: "Plugins", show: c.showPlugins},
		&consolePage{path: "network", title: "Network", show: c.showNetwork},
		&consolePage{path: "schedule", title: "Schedule", show: c.showSchedule},
		&consolePage{path: "doctor", title: "Doctor", show: c.showDoctor, free: c.runDoctor},
		&consolePage{path: "audit", title: "Audit", show: c.showAudit, free: c.verifyLog},
		&consolePage{path: "export", raw: c.exportLog},
	)
}

// consolePage is a page of the console, or another resource that needs a session.
type consolePage struct {
	path    string
	title   string
	within  bool // linked from another page, not from the navigation
	operate bool // requires a session that may change things
	// show returns the template's .Data.
	show func(*authenticatedRequest) (any, error)
	// act executes a submitted form in a session that may change things, and returns the relative URL of the next page.
	act func(*authenticatedRequest) (next string, err error)
	// free is like act, for read-only sessions.
	free func(*authenticatedRequest) (next string, err error)
	// raw serves other content.
	raw func(http.ResponseWriter, *authenticatedRequest) error

	template *template.Template
}

// authenticatedRequest is an HTTP request with its browser session and the requested page.
type authenticatedRequest struct {
	*http.Request
	*browserSession
	page *consolePage
}

// httpError is an error with its HTTP status.
type httpError struct {
	status int
	text   string
}

func (r *httpError) Error() string { return r.text }

func newNotFoundError(text string) error { return &httpError{http.StatusNotFound, text} }

// errReadOnly refuses actions in a read-only session.
var errReadOnly = &httpError{http.StatusForbidden,
	"This session is read-only. Use `picoclaw console --operate`."}

func (p *consolePage) servePage(c *Console, w http.ResponseWriter, v *authenticatedRequest) {
	var err error
	switch act := p.act; {
	case p.operate && !v.Operate:
		err = errReadOnly
	case v.Method == http.MethodGet && p.raw != nil:
		err = p.raw(w, v)
	case v.Method == http.MethodGet && p.show != nil:
		var data any
		if data, err = p.show(v); err == nil {
			c.renderPage(w, v.browserSession, p.template, http.StatusOK, layoutData{Title: p.title, Here: p.path, Data: data})
		}
	case v.Method != http.MethodPost || act == nil && p.free == nil:
		err = &httpError{http.StatusMethodNotAllowed, "This is not done here."}
	case subtle.ConstantTimeCompare([]byte(v.PostFormValue("csrf")), []byte(v.CSRF)) != 1:
		err = &httpError{http.StatusForbidden, "The form belongs to another session; reload the page."}
	case act != nil && !v.Operate:
		err = errReadOnly
	default:
		if act == nil {
			act = p.free
		}
		var next string
		if next, err = act(v); err == nil {
			w.Header().Set("Location", next)
			w.WriteHeader(http.StatusSeeOther)
		}
	}
	if err != nil {
		c.renderError(w, v.Request, v.browserSession, err)
	}
}

// layoutData is the data for the template around every page.
type layoutData struct {
	*browserSession // nil for none

	Title   string
	Here    string // the page's path
	Nav     []*consolePage
	Waiting int // approvals
	Data    any
}

// Link returns the page's URL; templates call it.
func (p *consolePage) Link() string { return p.path }

// Title returns the page's title; templates call it.
func (p *consolePage) Title() string { return p.title }

// renderPage responds with a template.
func (c *Console) renderPage(w http.ResponseWriter, s *browserSession, t *template.Template, status int, f layoutData) {
	if s != nil {
		f.browserSession, f.Nav = s, c.nav
		if all, err := approvals.ListWaitingCalls(c.options.Home); err == nil {
			f.Waiting = len(all)
		}
	}
	var page bytes.Buffer
	if err := t.ExecuteTemplate(&page, "layout", f); err != nil {
		c.options.Logger.Error("a console page failed", "page", f.Here, "error", err)
		http.Error(w, "the page failed; the gateway's log has the reason", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(escapeHiddenCharacters(page.Bytes())) // the client has disconnected
}

// renderError responds with an error page.
func (c *Console) renderError(w http.ResponseWriter, r *http.Request, s *browserSession, err error) {
	status, text := http.StatusInternalServerError, err.Error()
	if known := (*httpError)(nil); errors.As(err, &known) {
		status = known.status
	} else {
		c.options.Logger.Warn("the console could not answer", "path", r.URL.Path, "error", err)
	}
	c.renderPage(w, s, c.errorTemplate, status, layoutData{Title: "Error", Data: text})
}
