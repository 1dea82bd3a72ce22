package console

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/killswitch"
	"github.com/picoclaw/picoclaw/host/store"
)

// world is a console that is served, with a log to write to.
type world struct {
	*Console

	t    *testing.T
	home string
	url  string
	log  *audit.Log
	// undone are the undone changes.
	mu     sync.Mutex
	undone []string
	off    map[store.DisableRule]bool
	walls  int // how often walls were examined
	clock  time.Time
}

// Undo stands for a host, which the console knows by this interface alone.
func (w *world) Undo(_ context.Context, agent, id string, dry, _ bool) (string, error) {
	if id == "changed" {
		return "", errors.New("the files have changed since")
	}
	if !dry {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.undone = append(w.undone, agent+" "+id)
	}
	return "Undone: <i>x</i>", nil
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, home: t.TempDir(), clock: time.Now()}
	path := filepath.Join(w.home, "logs", "audit.jsonl")
	err := killswitch.CreateStopFile(w.home)
	if err != nil {
		t.Fatal(err)
	}
	if w.log, err = audit.OpenLog(path, audit.LogOptions{}); err != nil {
		t.Fatal(err)
	}
	w.Console = New(Options{Home: w.home, Log: path, Operator: w, Instance: w, Version: "1"})
	w.sessions.now = func() time.Time { return w.clock }
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { w.FollowAuditLog(ctx) })
	server := httptest.NewServer(w)
	w.url = server.URL
	t.Cleanup(func() { cancel(); running.Wait(); server.Close(); _ = w.log.Close() })
	return w
}

// browser keeps cookies, and goes where it is sent.
type browser struct {
	*world

	client *http.Client
	at     string // where the pages of its session are
}

func (w *world) browser() *browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return &browser{world: w, client: &http.Client{Jar: jar}}
}

// open opens a session.
func (w *world) open(operate bool) *browser {
	b := w.browser()
	link, err := url.Parse(w.NewLoginLink(operate, "somebody"))
	if err != nil {
		w.t.Fatal(err)
	}
	status, _, at := b.send("POST", w.url+BasePath+"login", link.Query(), nil)
	if status != 200 {
		w.t.Fatalf("login: %d", status)
	}
	b.at = strings.TrimSuffix(at, "calls")
	return b
}

func (b *browser) send(method, to string, form url.Values, header http.Header) (status int, page, at string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, to, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	if header != nil {
		r.Header = header
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	response, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	if got := response.Header.Get("Content-Security-Policy"); got != contentSecurityPolicy {
		b.t.Errorf("%s has the policy %q", to, got)
	}
	return response.StatusCode, string(text), response.Request.URL.String()
}

func (b *browser) get(page string) (int, string) {
	b.t.Helper()
	status, text, _ := b.send("GET", b.at+page, nil, nil)
	return status, text
}

// csrf is what the forms of the session send.
func (b *browser) csrf() string {
	_, page := b.get("calls")
	found := regexp.MustCompile(`name="csrf" value="(\w+)"`).FindStringSubmatch(page)
	if found == nil {
		b.t.Fatal(page)
	}
	return found[1]
}

// seen waits until the console has seen a call.
func (w *world) write(r audit.Record) {
	w.t.Helper()
	r.Time = r.Time.UTC()
	if err := w.log.Write(r); err != nil {
		w.t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if _, ok := w.feed.findCall(r.Session, r.Time); ok {
			return
		}
	}
	w.t.Fatal("the call is not seen")
}

func TestLinkOpensOneSession(t *testing.T) {
	w := newWorld(t)
	token := func(link string) url.Values {
		_, query, _ := strings.Cut(link, "?")
		q, _ := url.ParseQuery(query)
		return q
	}
	b := w.browser()
	for range 3 { // to look at it does not use it up
		if status, _, _ := b.send("GET", w.url+w.NewLoginLink(false, "x"), nil, nil); status != 200 {
			t.Errorf("a link: %d", status)
		}
	}
	q := token(w.NewLoginLink(false, "x"))
	login := func(q url.Values) int {
		status, _, _ := w.browser().send("POST", w.url+BasePath+"login", q, nil)
		return status
	}
	if first, second := login(q), login(q); first != 200 || second != 403 {
		t.Errorf("the same link twice: %d, %d", first, second)
	}
	for _, wrong := range []url.Values{{}, {"token": {""}}, {"token": {"x"}}, {"token": {strings.Repeat("A", 26)}}} {
		if status := login(wrong); status != 403 {
			t.Errorf("%v: %d", wrong, status)
		}
	}
	q = token(w.NewLoginLink(false, "x"))
	w.clock = w.clock.Add(linkLifetime + time.Second)
	if status := login(q); status != 403 {
		t.Errorf("after a minute: %d", status)
	}
	in := w.open(false)
	if status, _ := in.get("calls"); status != 200 {
		t.Errorf("a session: %d", status)
	}
	w.clock = w.clock.Add(sessionLifetime + time.Second)
	if status, _ := in.get("calls"); status != 401 {
		t.Errorf("a session that is over: %d", status)
	}
	for range 2 * maxLinks {
		w.NewLoginLink(false, "x")
	}
	if len(w.sessions.links) > maxLinks {
		t.Errorf("%d links are kept", len(w.sessions.links))
	}
	first := w.open(false)
	w.clock = w.clock.Add(time.Second)
	for range maxSessions {
		w.open(false)
	}
	if status, _ := first.get("calls"); len(w.sessions.sessions) > maxSessions || status != 401 {
		t.Errorf("%d sessions are kept, and of the first one %d", len(w.sessions.sessions), status)
	}
}

// The cookie is a session's alone: it opens no other, and nobody is sent it who does not know where its pages are.
func TestPagesRequireSession(t *testing.T) {
	w := newWorld(t)
	a, b := w.open(true), w.open(true)
	for _, c := range []struct {
		who *browser
		at  string
	}{{w.browser(), a.at}, {a, b.at}, {w.browser(), w.url + BasePath + "x/"}, {w.browser(), w.url + BasePath}} {
		for _, page := range []string{"", "calls", "approvals", "stream", "undo?agent=a&id=b"} {
			if c.at == w.url+BasePath && page == "calls" {
				page = ""
			}
			if status, text, _ := c.who.send("GET", c.at+page, nil, nil); status != 401 || strings.Contains(text, "<table") {
				t.Errorf("%s%s: %d", c.at, page, status)
			}
		}
	}
	for _, cookie := range a.client.Jar.Cookies(must(url.Parse(w.url + BasePath))) {
		t.Errorf("the cookie %s is sent to other pages", cookie.Name)
	}
	response, err := http.Post(w.url+w.NewLoginLink(false, "x"), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	r := httptest.NewRecorder()
	_, query, _ := strings.Cut(w.NewLoginLink(false, "x"), "?")
	request := httptest.NewRequest(http.MethodPost, "http://localhost"+BasePath+"login", strings.NewReader(query))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w.ServeHTTP(r, request)
	if got := r.Header().Get("Set-Cookie"); !strings.Contains(got, "HttpOnly") || !strings.Contains(got, "SameSite=Strict") {
		t.Errorf("the cookie: %s", got)
	}
	if status, _, _ := a.send("POST", a.at+"logout", url.Values{"csrf": {a.csrf()}}, nil); status != 401 {
		t.Errorf("logout leads to %d", status)
	}
	if status, _ := a.get("calls"); status != 401 {
		t.Errorf("after logout: %d", status)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestFormsRequireSessionToken(t *testing.T) {
	w := newWorld(t)
	a, b := w.open(true), w.open(true)
	ok := url.Values{"csrf": {a.csrf()}, "agent": {"main"}, "id": {"1"}}
	for name, c := range map[string]struct {
		csrf   string
		header http.Header
		want   int
	}{
		"its own":             {a.csrf(), nil, 200},
		"none":                {"", nil, 403},
		"another session's":   {b.csrf(), nil, 403},
		"of another site":     {a.csrf(), http.Header{"Sec-Fetch-Site": {"cross-site"}}, 403},
		"of another port":     {a.csrf(), http.Header{"Sec-Fetch-Site": {"same-site"}}, 403},
		"of another origin":   {a.csrf(), http.Header{"Origin": {"http://127.0.0.1:1"}}, 403},
		"of no origin":        {a.csrf(), http.Header{"Origin": {"null"}}, 403},
		"by another name":     {a.csrf(), http.Header{"Host": {"attacker.example"}}, 403},
		"by a local one":      {a.csrf(), http.Header{"Host": {"localhost:1"}}, 401}, // the jar has no cookie for it
		"of the same origin":  {a.csrf(), http.Header{"Sec-Fetch-Site": {"same-origin"}, "Origin": {"null"}}, 200},
		"by a name that fits": {a.csrf(), http.Header{"Host": {"127.0.0.1.attacker.example"}}, 403},
	} {
		before := len(w.undone)
		form := url.Values{"csrf": {c.csrf}, "agent": ok["agent"], "id": ok["id"]}
		status, text, _ := a.send("POST", a.at+"undo", form, c.header)
		if name == "by a local one" {
			continue // which host a cookie is of is the client's affair
		}
		if status != c.want || (len(w.undone) > before) != (c.want == 200) {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	if status, _, _ := a.send("GET", a.at+"calls", nil, http.Header{"Host": {"attacker.example"}}); status != 403 {
		t.Errorf("a page by another name: %d", status)
	}
	big := url.Values{"csrf": {a.csrf()}, "agent": {strings.Repeat("x", maxFormBytes)}, "id": {"1"}}
	if status, _, _ := a.send("POST", a.at+"undo", big, nil); status != 403 {
		t.Errorf("a form that is too large: %d", status)
	}
	for _, method := range []string{"PUT", "DELETE", "HEAD", "OPTIONS"} {
		if status, _, _ := a.send(method, a.at+"undo", ok, nil); status != 405 {
			t.Errorf("%s: %d", method, status)
		}
	}
}

func TestReadOnlySessionCannotAct(t *testing.T) {
	w := newWorld(t)
	b := w.open(false)
	acting := 0
	for _, p := range w.listPages() {
		if p.act == nil {
			continue
		}
		acting++
		status, _, _ := b.send("POST", b.at+p.path, url.Values{"csrf": {b.csrf()}, "agent": {"main"}, "id": {"1"}}, nil)
		if status != 403 {
			t.Errorf("%s: %d", p.path, status)
		}
	}
	if status, _ := b.get("undo?agent=main&id=1"); status != 403 {
		t.Errorf("what undo would do: %d", status)
	}
	if acting == 0 || len(w.undone) > 0 {
		t.Errorf("%d pages act; undone: %v", acting, w.undone)
	}
}

func TestUndoIsConfirmed(t *testing.T) {
	w := newWorld(t)
	b := w.open(true)
	if status, page := b.get("undo?agent=main&id=1"); status != 200 || !strings.Contains(page, "Undone: &lt;i&gt;x") || len(w.undone) > 0 {
		t.Errorf("%d %v %s", status, w.undone, page)
	}
	if _, page := b.get("undo?agent=main&id=changed"); !strings.Contains(page, "have changed since") || strings.Contains(page, "<button class=\"main\"") {
		t.Errorf("an impossible undo: %s", page)
	}
	status, page, _ := b.send("POST", b.at+"undo", url.Values{"csrf": {b.csrf()}, "agent": {"main"}, "id": {"1"}}, nil)
	if status != 200 || !strings.Contains(page, "was undone") || len(w.undone) != 1 {
		t.Errorf("%d %v %s", status, w.undone, page)
	}
	if status, _, _ := b.send("POST", b.at+"undo", url.Values{"csrf": {b.csrf()}, "agent": {"main"}, "id": {"changed"}}, nil); status != 409 {
		t.Errorf("%d", status)
	}
}

// Nothing of what agents, tools, plugins and files are called becomes part of a page, in a list, on a page of its own,
// or in what comes later; and what nobody can see is spelled out.
func TestPagesEscapeUntrustedText(t *testing.T) {
	w := newWorld(t)
	b := w.open(true)
	const evil = `"><script>alert(1)</script><img src=x onerror=alert(1)>`
	record := audit.Record{Time: time.Now(), Agent: evil, Session: "s" + evil, Parent: evil, Origin: evil, Tool: evil,
		Args:     map[string]any{evil: evil, "list": []any{evil}, "hidden": "a\u202eb\u200bc\u3164d\ufe01"},
		Decision: "deny", Rule: evil, Error: evil, Undo: evil, Approval: &audit.Approval{By: evil, Way: evil}}
	w.KeepResult(record, evil+"\npassword=hunter2hunter2\x1b[2J")
	stream, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.at+"stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := b.client.Do(stream)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	w.write(record)
	harmless := func(where, text string) {
		t.Helper()
		if strings.Contains(text, "<script>alert") || strings.Contains(text, "<img src=x") || strings.Contains(text, "hunter2") ||
			strings.ContainsAny(text, "\u202e\u200b\u3164\x1b") {
			t.Errorf("%s: %s", where, text)
		}
	}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), `data: `); ok && strings.Contains(data, `"rows"`) {
			var told struct{ Rows string }
			if err := json.Unmarshal([]byte(data), &told); err != nil || !strings.Contains(told.Rows, "&lt;img") {
				t.Errorf("%v %s", err, data)
			}
			harmless("the stream", told.Rows)
			break
		}
	}
	for _, page := range []string{"calls", "calls?agent=" + url.QueryEscape(evil), "calls?session=" + url.QueryEscape("s"+evil),
		callURL(audit.Record{Session: "s" + evil, Time: record.Time}), "undo?agent=" + url.QueryEscape(evil) + "&id=" + url.QueryEscape(evil)} {
		status, text := b.get(page)
		if status != 200 || !strings.Contains(text, "&lt;img") {
			t.Errorf("%s: %d %s", page, status, text)
		}
		harmless(page, text)
	}
	_, text := b.get(callURL(audit.Record{Session: "s" + evil, Time: record.Time}))
	if !strings.Contains(text, "a⟪U+202E⟫b⟪U+200B⟫c⟪U+3164⟫d⟪U+FE01⟫") {
		t.Errorf("what is hidden is not spelled out: %s", text)
	}
}
