package run_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// The console undoes a run's entry in the run's project, with all its bursts.
func TestConsoleUndoesRun(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	home := clitest.NewHome(t)
	p.home = home.Dir
	clitest.SeedSandboxCache(t, p.home)
	p.env = []string{"HOME=" + home.Dir, "PICOCLAW_HOME=" + home.Dir, "PATH=/usr/bin:/bin"}
	home.WriteConfig(t, `{"gateway": {"console": true}}`)
	p.write("old", "before")
	p.write("stop", `{"hook_event_name": "Stop"}`)
	endTurn := hosttest.ProgramPath("bin/picoclaw") + " hook claude < stop"
	if _, stderr, code := p.run("echo first > old; " + endTurn + "; echo second >> old; echo x > new"); code != 0 {
		t.Fatal(stderr)
	}
	_, at := home.StartGateway(t)
	link := regexp.MustCompile(`http\S+`).FindString(p.picoclaw("console", "--operate").mustRun(t))
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	read := func(r *http.Response, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Body.Close() }()
		text, _ := io.ReadAll(r.Body)
		return string(text)
	}
	login, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := browser.PostForm(at+"/console/login", login.Query())
	read(opened, err)
	base := opened.Request.URL // of this browser's session
	entry := struct{ Undo, Agent string }{}
	for line := range strings.Lines(p.picoclaw("audit", "--output", "json").mustRun(t)) {
		if err := json.Unmarshal([]byte(line), &entry); err == nil && entry.Undo != "" {
			break
		}
	}
	form := url.Values{"agent": {entry.Agent}, "id": {entry.Undo}}
	page := read(browser.Get(base.JoinPath("../undo").String() + "?" + form.Encode()))
	csrf := regexp.MustCompile(`name="csrf" value="([^"]+)"`).FindStringSubmatch(page)
	if len(csrf) != 2 || !strings.Contains(page, "2 bursts of changes") || p.read("old") != "first\nsecond\n" {
		t.Fatalf("the page for %v: %s", form, page)
	}
	cmd, _ := p.start("wait go")
	hosttest.WaitUntil(t, "the console lists the running program", func() bool {
		agents := read(browser.Get(base.JoinPath("../agents").String()))
		return strings.Contains(agents, "Running programs") && strings.Contains(agents, p.dir)
	})
	p.write("go", "")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	form.Set("csrf", csrf[1])
	page = read(browser.PostForm(base.JoinPath("../undo").String(), form))
	if _, err := os.Lstat(filepath.Join(p.dir, "new")); p.read("old") != "before" || err == nil {
		t.Errorf("old is %q, new %v: %s", p.read("old"), err, page)
	}
}
