// Package console is the web console of an instance root, for whoever runs its agents: what they call and what was
// refused, by which wall and rule; what waits for a yes; and taking back what a call has changed.
//
// Nobody is let in without a link that was made on the machine, once and soon. What a link opens only shows things,
// unless it was made to act. Each page is one file and one template, in the table in pages.go. They are forms and
// tables that work without a script; the one script there is adds what happens meanwhile.
//
// The package must not know how calls are decided on or made, nor where it is served.
package console

import (
	"context"
	"embed"
	"html/template"
	"net"
	"net/http"
	"net/netip"
	"path"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/host/audit"
)

// Path is what a console is served below.
const Path = "/console/"

// Options are what a console shows.
type Options struct {
	Home     string // the instance root
	Log      string // the path of the record of calls
	Operator Operator
	Instance Instance // nil for a console without the pages that show it
	Version  string   // picoclaw's
	Logger   hclog.Logger
}

// Operator does what a person could do on the command line.
type Operator interface {
	// Undo takes a change of an agent's back, or with dry only says what that would put back. With force it does so
	// although files have changed since.
	Undo(ctx context.Context, agent, id string, dry, force bool) (said string, err error)
}

//go:embed static
var static embed.FS

//go:embed pages
var templates embed.FS

// Console is a handler of all below [Path]. It may be used concurrently.
type Console struct {
	options  Options
	doors    doors
	feed     feed
	results  results
	examined examined
	verified verification
	pages    map[string]*page
	nav      []*page
	row      *template.Template // a call in a list
	failed   *template.Template
	entrance *template.Template
	serve    http.Handler
}

// New makes a console, which has nothing to show of calls before it runs.
func New(o Options) *Console {
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	c := &Console{options: o, pages: map[string]*page{}}
	shared := template.Must(template.New("").Funcs(functions()).ParseFS(templates, "pages/layout.html", "pages/row.html"))
	parse := func(name string) *template.Template {
		return template.Must(template.Must(shared.Clone()).ParseFS(templates, "pages/"+name+".html"))
	}
	c.row, c.failed, c.entrance = shared.Lookup("row"), parse("error"), parse("login")
	for _, p := range c.table() {
		if p.show != nil {
			p.template = parse(p.path)
		}
		c.pages[p.path] = p
		if p.title != "" && !p.within {
			c.nav = append(c.nav, p)
		}
	}
	mux := http.NewServeMux()
	mux.Handle("GET "+Path+"static/{file}", http.StripPrefix(Path, http.FileServerFS(static)))
	mux.HandleFunc("GET "+Path+"login", c.showLogin)
	mux.HandleFunc("POST "+Path+"login", c.login)
	mux.HandleFunc(Path+"{key}/{page...}", c.page)
	mux.HandleFunc(Path, c.stranger)
	// A form of another site's is told by the browser; what sends no such header is no browser, and has no session.
	c.serve = http.NewCrossOriginProtection().Handler(mux)
	return c
}

// Run follows the record of calls until ctx is done.
func (c *Console) Run(ctx context.Context) {
	c.feed.follow(ctx, c.options.Log, func(err error) {
		c.options.Logger.Warn("the console does not see calls for a while", "error", err)
	})
	c.doors.closeAll()
}

// Keep remembers what a call of this process has answered, for as long as there is room.
func (c *Console) Keep(r audit.Record, answer string) { c.results.keep(r, answer) }

// policy is what pages may do: nothing that does not come from here. There is no script or style in a page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// maxForm bounds what a form may send.
const maxForm = 64 << 10

// ServeHTTP serves the console to whoever has come by a name of this machine's own.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if !local(r.Host) {
		http.Error(w, "the console is for this machine: use localhost", http.StatusForbidden)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	c.serve.ServeHTTP(w, r)
}

// local reports whether an address, with a port or without, is of this machine alone.
func local(address string) bool {
	name := address
	if host, _, err := net.SplitHostPort(address); err == nil {
		name = host
	}
	name = strings.Trim(name, "[]")
	ip, err := netip.ParseAddr(name)
	return strings.EqualFold(name, "localhost") || err == nil && ip.IsLoopback()
}

// stranger answers who has no session.
func (c *Console) stranger(w http.ResponseWriter, r *http.Request) {
	c.fail(w, r, nil, &refusal{http.StatusUnauthorized,
		"There is no session here, or it has ended: `picoclaw console` prints a link that opens one."})
}

// page serves a page of a session.
func (c *Console) page(w http.ResponseWriter, r *http.Request) {
	s := c.doors.session(r)
	if s == nil {
		c.stranger(w, r)
		return
	}
	name := r.PathValue("page")
	if name == "" {
		http.Redirect(w, r, path.Join(Path, s.key, c.nav[0].path), http.StatusSeeOther)
		return
	}
	p := c.pages[name]
	if p == nil {
		c.fail(w, r, s, missing("There is no such page."))
		return
	}
	p.serve(c, w, &visit{Request: r, session: s, page: p})
}
