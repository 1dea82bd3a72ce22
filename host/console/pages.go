package console

import (
	"bytes"
	"crypto/subtle"
	"errors"
	"html/template"
	"net/http"

	"github.com/picoclaw/picoclaw/host/approvals"
)

// table are the pages, those with a title in the order of the navigation. A page with one file of Go and one template
// of its name in pages/ is added here and nowhere else.
func (c *Console) table() []*page {
	all := []*page{
		{path: "calls", title: "Calls", show: c.showCalls},
		{path: "call", title: "Call", within: true, show: c.showCall},
		{path: "approvals", title: "Approvals", show: c.showApprovals, act: c.answer},
		{path: "undo", title: "Undo", within: true, operate: true, show: c.showUndo, act: c.undo},
		{path: "stream", raw: c.stream},
		{path: "logout", free: c.logout},
	}
	if c.options.Instance == nil {
		return all
	}
	return append(all,
		&page{path: "agents", title: "Agents", show: c.showAgents, act: c.stop},
		&page{path: "agent", title: "Agent", within: true, show: c.showAgent, act: c.switchTool},
		&page{path: "plugins", title: "Plugins", show: c.showPlugins},
		&page{path: "network", title: "Network", show: c.showNetwork},
		&page{path: "schedule", title: "Schedule", show: c.showSchedule},
		&page{path: "doctor", title: "Doctor", show: c.showDoctor, free: c.examine},
		&page{path: "audit", title: "Audit", show: c.showAudit, free: c.verify},
		&page{path: "export", raw: c.export},
	)
}

// page is a page, or something else that a session is served.
type page struct {
	path    string
	title   string
	within  bool // it is reached from another page, and not in the navigation
	operate bool // to see it takes a session that may act
	// show returns what the template is given as .Data.
	show func(*visit) (any, error)
	// act does what a form asks for that was sent to the page, in a session that may act, and returns which page is next,
	// as a link that is relative to this one.
	act func(*visit) (next string, err error)
	// free is act for a session that only looks.
	free func(*visit) (next string, err error)
	// raw serves what is no page.
	raw func(http.ResponseWriter, *visit) error

	template *template.Template
}

// visit is a request of a session's.
type visit struct {
	*http.Request
	*session
	page *page
}

// refusal is an error that is the answer to a request.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }

func missing(text string) error { return &refusal{http.StatusNotFound, text} }

// errReadOnly is the answer to who may not act.
var errReadOnly = &refusal{http.StatusForbidden,
	"This session only shows things. `picoclaw console --operate` opens one that may act."}

func (p *page) serve(c *Console, w http.ResponseWriter, v *visit) {
	var err error
	switch act := p.act; {
	case p.operate && !v.Operate:
		err = errReadOnly
	case v.Method == http.MethodGet && p.raw != nil:
		err = p.raw(w, v)
	case v.Method == http.MethodGet && p.show != nil:
		var data any
		if data, err = p.show(v); err == nil {
			c.render(w, v.session, p.template, http.StatusOK, frame{Title: p.title, Here: p.path, Data: data})
		}
	case v.Method != http.MethodPost || act == nil && p.free == nil:
		err = &refusal{http.StatusMethodNotAllowed, "This is not done here."}
	case subtle.ConstantTimeCompare([]byte(v.PostFormValue("csrf")), []byte(v.CSRF)) != 1:
		err = &refusal{http.StatusForbidden, "The form is not of this session: load the page again."}
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
		c.fail(w, v.Request, v.session, err)
	}
}

// frame is what the layout is given.
type frame struct {
	*session // nil for none

	Title   string
	Here    string // the page's path
	Nav     []*page
	Waiting int // approvals
	Data    any
}

// Link is what the navigation leads to.
func (p *page) Link() string { return p.path }

// Title is what the navigation calls it.
func (p *page) Title() string { return p.title }

// render answers with a template.
func (c *Console) render(w http.ResponseWriter, s *session, t *template.Template, status int, f frame) {
	if s != nil {
		f.session, f.Nav = s, c.nav
		if all, err := approvals.List(c.options.Home); err == nil {
			f.Waiting = len(all)
		}
	}
	var page bytes.Buffer
	if err := t.ExecuteTemplate(&page, "layout", f); err != nil {
		c.options.Logger.Error("a page of the console could not be made", "page", f.Here, "error", err)
		http.Error(w, "the page could not be made; the gateway's log says why", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(visible(page.Bytes())) // whoever has gone does not read it
}

// fail answers with an error.
func (c *Console) fail(w http.ResponseWriter, r *http.Request, s *session, err error) {
	status, text := http.StatusInternalServerError, err.Error()
	if known := (*refusal)(nil); errors.As(err, &known) {
		status = known.status
	} else {
		c.options.Logger.Warn("the console could not answer", "path", r.URL.Path, "error", err)
	}
	c.render(w, s, c.failed, status, frame{Title: "Not done", Data: text})
}
