package console

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"sync"
	"time"
)

// session is what a link has opened, for one browser.
//
// Browsers send a cookie of localhost to whatever listens there, on any port: a web page that an agent serves would be
// sent it. So the pages of a session are below a key of its own, to which the cookie is bound, and which no other page
// is told.
type session struct {
	Operate bool   // it may act
	By      string // whoever has made its link
	CSRF    string // what its forms send

	key    string // in the path of its pages
	secret [sha256.Size]byte
	until  time.Time
	ended  chan struct{}
	end    func()
}

// link opens a session once.
type link struct {
	operate bool
	by      string
	until   time.Time
}

// Bounds of what is let in.
const (
	cookieName   = "picoclaw_console"
	linkTime     = time.Minute
	sessionTime  = 8 * time.Hour
	mostLinks    = 32
	mostSessions = 32
)

// doors are the links and sessions, which are in memory alone. The zero value is ready.
type doors struct {
	mu       sync.Mutex
	links    map[[sha256.Size]byte]link // by what their tokens hash to
	sessions map[string]*session        // by their keys
	now      func() time.Time           // for tests; nil for the clock's
}

func (d *doors) time() time.Time {
	if d.now != nil {
		return d.now()
	}
	return time.Now()
}

// Link makes a link that opens one session within a minute, as a path with a query.
func (c *Console) Link(operate bool, by string) string {
	return Path + "login?token=" + c.doors.link(operate, by)
}

func (d *doors) link(operate bool, by string) string {
	token, now := rand.Text(), d.time()
	d.mu.Lock()
	defer d.mu.Unlock()
	for hash, one := range d.links {
		if now.After(one.until) || len(d.links) >= mostLinks {
			delete(d.links, hash)
		}
	}
	if d.links == nil {
		d.links, d.sessions = map[[sha256.Size]byte]link{}, map[string]*session{}
	}
	d.links[sha256.Sum256([]byte(token))] = link{operate, by, now.Add(linkTime)}
	return token
}

// open takes a link, and returns the session that it opens with its cookie; nil for one that is none, or not any more.
func (d *doors) open(token string) (*session, *http.Cookie) {
	hash, now := sha256.Sum256([]byte(token)), d.time()
	d.mu.Lock()
	defer d.mu.Unlock()
	l, ok := d.links[hash]
	delete(d.links, hash)
	if !ok || now.After(l.until) {
		return nil, nil
	}
	var first *session
	for _, one := range d.sessions {
		if now.After(one.until) {
			d.remove(one)
		} else if first == nil || one.until.Before(first.until) {
			first = one
		}
	}
	if len(d.sessions) >= mostSessions {
		d.remove(first)
	}
	secret := rand.Text()
	s := &session{Operate: l.operate, By: l.by, CSRF: rand.Text(), key: rand.Text(), secret: sha256.Sum256([]byte(secret)),
		until: now.Add(sessionTime), ended: make(chan struct{})}
	s.end = sync.OnceFunc(func() { close(s.ended) })
	d.sessions[s.key] = s
	return s, &http.Cookie{Name: cookieName, Value: secret, Path: Path + s.key + "/", MaxAge: int(sessionTime.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteStrictMode}
}

// session returns the session of a request; nil for none.
func (d *doors) session(r *http.Request) *session {
	d.mu.Lock()
	s := d.sessions[r.PathValue("key")]
	d.mu.Unlock()
	if s == nil || d.time().After(s.until) {
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

// remove ends a session, and what is streamed to it. The caller holds the lock.
func (d *doors) remove(s *session) {
	delete(d.sessions, s.key)
	s.end()
}

func (d *doors) close(s *session) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.remove(s)
}

func (d *doors) closeAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.sessions {
		d.remove(s)
	}
	clear(d.links)
}

// showLogin asks whether to open the session. To look at a link does not use it up: programs do so, too.
func (c *Console) showLogin(w http.ResponseWriter, r *http.Request) {
	c.render(w, nil, c.entrance, http.StatusOK, frame{Title: "Open the console", Data: r.FormValue("token")})
}

func (c *Console) login(w http.ResponseWriter, r *http.Request) {
	s, cookie := c.doors.open(r.PostFormValue("token"))
	if s == nil {
		c.fail(w, r, nil, &refusal{http.StatusForbidden,
			"This link has been used, or is older than a minute: `picoclaw console` prints another."})
		return
	}
	c.options.Logger.Info("a session of the console was opened", "by", s.By, "operate", s.Operate)
	http.SetCookie(w, cookie)
	http.Redirect(w, r, cookie.Path+c.nav[0].path, http.StatusSeeOther)
}

func (c *Console) logout(v *visit) (string, error) {
	c.doors.close(v.session)
	return Path, nil
}
