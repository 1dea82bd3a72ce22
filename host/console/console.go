// Package console is the web console of a home: it shows calls and refusals with their layer and rule, answers approval
// requests, and undoes changes.
//
// A session starts with a one-time link created on the machine. Sessions are read-only unless the link was created with
// --operate. Each page has one Go file and one template; the table is in pages.go. Pages are forms and tables that work
// without JavaScript; the only script adds new calls.
//
// The package must not know how calls are decided or made, nor where it is served.
package console

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"net/netip"
	"path"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/internal/hiddentext"
)

// BasePath is the URL path of the console.
const BasePath = "/console/"

// Options configure a [Console].
type Options struct {
	Home     string
	Log      string // path of the audit log
	Operator Undoer
	Instance Backend // nil hides the pages that need it
	Version  string  // picoclaw's
	Logger   hclog.Logger
}

// Undoer are the command-line actions that the console can execute.
type Undoer interface {
	// Undo undoes a change of an agent. With dry it only reports what it would restore. With force it ignores later
	// changes of the files.
	Undo(ctx context.Context, agent, id string, dry, force bool) (said string, err error)
}

//go:embed static
var static embed.FS

//go:embed pages
var templates embed.FS

// Console is the HTTP handler of the web console, for all paths below [BasePath]. It is safe for concurrent use.
type Console struct {
	options       Options
	sessions      sessionStore
	feed          callFeed
	results       resultStore
	reports       doctorReports
	verified      auditVerification
	pages         map[string]*consolePage
	nav           []*consolePage
	rowTemplate   *template.Template // a call in a list
	errorTemplate *template.Template
	loginTemplate *template.Template
	handler       http.Handler
}

// New returns a console. Call FollowAuditLog to show calls.
func New(o Options) *Console {
	o.Logger = cmp.Or(o.Logger, hclog.NewNullLogger())
	c := &Console{options: o, pages: map[string]*consolePage{}}
	shared := template.Must(template.New("").Funcs(templateFuncs()).ParseFS(templates, "pages/layout.html", "pages/row.html"))
	parse := func(name string) *template.Template {
		return template.Must(template.Must(shared.Clone()).ParseFS(templates, "pages/"+name+".html"))
	}
	c.rowTemplate, c.errorTemplate, c.loginTemplate = shared.Lookup("row"), parse("error"), parse("login")
	for _, p := range c.listPages() {
		if p.show != nil {
			p.template = parse(p.path)
		}
		c.pages[p.path] = p
		if p.title != "" && !p.within {
			c.nav = append(c.nav, p)
		}
	}
	mux := http.NewServeMux()
	mux.Handle("GET "+BasePath+"static/{file}", http.StripPrefix(BasePath, http.FileServerFS(static)))
	mux.HandleFunc("GET "+BasePath+"login", c.showLogin)
	mux.HandleFunc("POST "+BasePath+"login", c.login)
	mux.HandleFunc(BasePath+"{key}/{page...}", c.servePage)
	mux.HandleFunc(BasePath, c.refuseWithoutSession)
	// Browsers identify cross-site forms; clients without the header are not browsers and have no session.
	c.handler = http.NewCrossOriginProtection().Handler(mux)
	return c
}

// FollowAuditLog follows the audit log until ctx is done, then closes all sessions.
func (c *Console) FollowAuditLog(ctx context.Context) {
	c.feed.followLog(ctx, c.options.Log, func(err error) {
		c.options.Logger.Warn("the console does not see calls for a while", "error", err)
	})
	c.sessions.closeAllSessions()
}

// KeepResult stores the result of a call of this process for the call's page, and deletes old results.
func (c *Console) KeepResult(r audit.Record, answer string) { c.results.keepResult(r, answer) }

// contentSecurityPolicy allows only resources of the console, without inline scripts and styles.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// maxFormBytes limits the size of a submitted form.
const maxFormBytes = 64 << 10

// ServeHTTP serves requests that are addressed to a local name of this machine. It refuses others.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", contentSecurityPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if !isLocalAddress(r.Host) {
		http.Error(w, "the console is for this machine: use localhost", http.StatusForbidden)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxFormBytes)
	c.handler.ServeHTTP(w, r)
}

// isLocalAddress reports whether an address, with or without port, is a loopback address or localhost.
func isLocalAddress(address string) bool {
	name := address
	if host, _, err := net.SplitHostPort(address); err == nil {
		name = host
	}
	name = strings.Trim(name, "[]")
	ip, err := netip.ParseAddr(name)
	return strings.EqualFold(name, "localhost") || err == nil && ip.IsLoopback()
}

// refuseWithoutSession refuses a request that has no valid session.
func (c *Console) refuseWithoutSession(w http.ResponseWriter, r *http.Request) {
	c.renderError(w, r, nil, &httpError{http.StatusUnauthorized,
		"There is no session here, or it has ended: `picoclaw console` prints a link that opens one."})
}

// servePage serves a page to a browser with a session.
func (c *Console) servePage(w http.ResponseWriter, r *http.Request) {
	s := c.sessions.findSession(r)
	if s == nil {
		c.refuseWithoutSession(w, r)
		return
	}
	name := r.PathValue("page")
	if name == "" {
		http.Redirect(w, r, path.Join(BasePath, s.key, c.nav[0].path), http.StatusSeeOther)
		return
	}
	p := c.pages[name]
	if p == nil {
		c.renderError(w, r, s, newNotFoundError("There is no such page."))
		return
	}
	p.servePage(c, w, &authenticatedRequest{Request: r, browserSession: s, page: p})
}

// escapeHiddenCharacters escapes invisible characters in a whole page.
func escapeHiddenCharacters(page []byte) []byte {
	return []byte(hiddentext.EscapeFunc(string(page), func(r rune) string { return fmt.Sprintf("⟪U+%04X⟫", r) }))
}
