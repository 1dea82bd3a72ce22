package console

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"sync"
	"time"
)

// browserSession is the session of one browser, which a login link opened.
//
// Browsers send cookies of localhost to every port, so also to a web page that an agent serves. Therefore the paths of
// a session contain a key that other pages do not know. The cookie is valid only below such a path.
type browserSession struct {
	Operate bool   // may change things
	By      string // creator of its link
	CSRF    string // token of its forms

	key    string // in its paths
	secret [sha256.Size]byte
	until  time.Time
	ended  chan struct{}
	end    func()
}

// loginLink is a link that opens a session once.
type loginLink struct {
	operate bool
	by      string
	until   time.Time
}

// Limits of login links and sessions.
const (
	cookieName      = "picoclaw_console"
	linkLifetime    = time.Minute
	sessionLifetime = 8 * time.Hour
	maxLinks        = 32
	maxSessions     = 32
)

// sessionStore has the login links and sessions, in memory only. The zero value is ready to use.
type sessionStore struct {
	mu       sync.Mutex
	links    map[[sha256.Size]byte]loginLink // by hashed token
	sessions map[string]*browserSession      // by key
	now      func() time.Time                // for tests; may be nil
}

func (d *sessionStore) currentTime() time.Time {
	if d.now != nil {
		return d.now()
	}
	return time.Now()
}

// NewLoginLink returns the path of a new login link, usable once within a minute.
func (c *Console) NewLoginLink(operate bool, by string) string {
	return BasePath + "login?token=" + c.sessions.newLoginToken(operate, by)
}

func (d *sessionStore) newLoginToken(operate bool, by string) string {
	token, now := rand.Text(), d.currentTime()
	d.mu.Lock()
	defer d.mu.Unlock()
	for hash, one := range d.links {
		if now.After(one.until) || len(d.links) >= maxLinks {
			delete(d.links, hash)
		}
	}
	if d.links == nil {
		d.links, d.sessions = map[[sha256.Size]byte]loginLink{}, map[string]*browserSession{}
	}
	d.links[sha256.Sum256([]byte(token))] = loginLink{operate, by, now.Add(linkLifetime)}
	return token
}

// openSession uses up a login link, and returns the new session and its cookie; nil for an unknown or expired link.
func (d *sessionStore) openSession(token string) (*browserSession, *http.Cookie) {
	hash, now := sha256.Sum256([]byte(token)), d.currentTime()
	d.mu.Lock()
	defer d.mu.Unlock()
	l, ok := d.links[hash]
	delete(d.links, hash)
	if !ok || now.After(l.until) {
		return nil, nil
	}
	var first *browserSession
	for _, one := range d.sessions {
		if now.After(one.until) {
			d.removeSessionLocked(one)
		} else if first == nil || one.until.Before(first.until) {
			first = one
		}
	}
	if len(d.sessions) >= maxSessions {
		d.removeSessionLocked(first)
	}
	secret := rand.Text()
	s := &browserSession{Operate: l.operate, By: l.by, CSRF: rand.Text(), key: rand.Text(), secret: sha256.Sum256([]byte(secret)),
		until: now.Add(sessionLifetime), ended: make(chan struct{})}
	s.end = sync.OnceFunc(func() { close(s.ended) })
	d.sessions[s.key] = s
	return s, &http.Cookie{Name: cookieName, Value: secret, Path: BasePath + s.key + "/", MaxAge: int(sessionLifetime.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteStrictMode}
}

// findSession returns the session of a request; nil if it has no valid session.
func (d *sessionStore) findSession(r *http.Request) *browserSession {
	d.mu.Lock()
	s := d.sessions[r.PathValue("key")]
	d.mu.Unlock()
	if s == nil || d.currentTime().After(s.until) {
		return nil
	}
	for _, cookie := range r.CookiesNamed(cookieName) {
		got := sha256.Sum256([]byte(cookie.Value))
		if subtle.ConstantTimeCompare(got[:], s.secret[:]) == 1 {
			return s
		}
	}
	return nil
}

// removeSessionLocked ends a session and its event streams. The caller holds the lock.
func (d *sessionStore) removeSessionLocked(s *browserSession) {
	delete(d.sessions, s.key)
	s.end()
}

func (d *sessionStore) closeSession(s *browserSession) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.removeSessionLocked(s)
}

func (d *sessionStore) closeAllSessions() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.sessions {
		d.removeSessionLocked(s)
	}
	clear(d.links)
}

// showLogin asks the person to confirm the login. A request for this page does not use up the link, since programs
// load links for previews.
func (c *Console) showLogin(w http.ResponseWriter, r *http.Request) {
	c.renderPage(w, nil, c.loginTemplate, http.StatusOK, layoutData{Title: "Open the console", Data: r.FormValue("token")})
}

func (c *Console) login(w http.ResponseWriter, r *http.Request) {
	s, cookie := c.sessions.openSession(r.PostFormValue("token"))
	if s == nil {
		c.renderError(w, r, nil, &httpError{http.StatusForbidden,
			"This link was used or has expired; `picoclaw console` prints a new one."})
		return
	}
	c.options.Logger.Info("a session of the console was opened", "by", s.By, "operate", s.Operate)
	http.SetCookie(w, cookie)
	http.Redirect(w, r, cookie.Path+c.nav[0].path, http.StatusSeeOther)
}

func (c *Console) logout(v *authenticatedRequest) (string, error) {
	c.sessions.closeSession(v.browserSession)
	return BasePath, nil
}
