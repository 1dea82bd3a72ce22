package egress

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestRequestRules(t *testing.T) {
	t.Parallel()
	p := compile(t, PolicyRules{Requests: map[string][]string{
		"api.test": {"GET /me/**", "POST /me/*/git-upload-pack", "!GET /me/private/**", "* /open", "PUT /group%2Fapp/x", "DELETE /**/tmp/*"},
		"*":        {"GET /"},
	}, Methods: map[string][]string{"old.test": {"HEAD"}}})
	for request, want := range map[string]bool{
		"GET api.test/me":                        true,
		"GET api.test/me/":                       true,
		"GET api.test/me/a/b":                    true,
		"GET api.test/me/%61":                    true,
		"GET api.test/%6de/a":                    true,
		"GET api.test/ME/a":                      false,
		"GET api.test/mea":                       false,
		"GET api.test/":                          false,
		"GET api.test":                           false,
		"HEAD api.test/me/a":                     false,
		"GET api.test/me/private":                false,
		"GET api.test/me/private/x":              false,
		"GET api.test/me/%70rivate/x":            false,
		"GET api.test/me/privateer":              true,
		"GET api.test/me//private/x":             false,
		"GET api.test/me/./private":              false,
		"GET api.test/me/%2e/private":            false,
		"GET api.test/me/a/../private":           false,
		"GET api.test/me/a/%2E%2e/private":       false,
		"GET api.test/me/a%2F..%2Fprivate":       false,
		"GET api.test/me%2Fprivate/x":            false,
		"GET api.test/me/..;x=1/other":           false,
		"GET api.test/me/;/private":              false,
		"GET api.test/me/private;a=b/x":          false,
		"GET api.test/me/%252e%252e/other":       false,
		"GET api.test/me/..%5Cother":             false,
		"GET api.test/me/a%00b":                  false,
		"GET api.test/me/..":                     false,
		"POST api.test/me/app/git-upload-pack":   true,
		"POST api.test/me/git-upload-pack":       false,
		"POST api.test/me/a/b/git-upload-pack":   false,
		"POST api.test/me/app/git-receive-pack":  false,
		"POST api.test/me/a%2Fb/git-upload-pack": false,
		"POST api.test/me/app/git-upload-pack/":  false,
		"PATCH api.test/open":                    true,
		"PATCH api.test/open/":                   false,
		"PUT api.test/group%2Fapp/x":             true,
		"PUT api.test/group%2fapp/x":             true,
		"PUT api.test/group/app/x":               false,
		"DELETE api.test/tmp/a":                  true,
		"DELETE api.test/a/tmp/b/tmp/c":          true,
		"DELETE api.test/a/tmp/b/c":              false,
		"DELETE api.test/a/tmp/":                 false,
		"GET other.test/":                        true,
		"GET other.test/a":                       false,
		"HEAD old.test/a//b":                     true,
		"GET old.test/":                          false,
	} {
		method, rest, _ := strings.Cut(request, " ")
		host, path, _ := strings.Cut(rest, "/")
		if strings.Contains(rest, "/") {
			path = "/" + path
		}
		d := p.DecideRequest(host, 443, method, path)
		if (d.Verdict == Allow) != want {
			t.Errorf("%s: %+v", request, d)
		}
		if want == strings.HasPrefix(d.Reason, "network: refused ") || !want && !strings.HasSuffix(d.Reason, "; setting "+d.Rule) {
			t.Errorf("%s: the reason is %q", request, d.Reason)
		}
	}
}

func TestInvalidRequestRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, want string
	}{
		{"", "such as GET /me/**"}, {"GET", "such as GET /me/**"}, {"GET me", "such as GET /me/**"}, {"GET https://x/", "such as GET /me/**"},
		{"get /", "not a request method"}, {"CONNECT /", "not a request method"}, {"!! /", "not a request method"},
		{"GET /a?b", "the path only"}, {"GET /a b", "the path only"}, {"GET /a#b", "the path only"},
		{"GET /a*", "whole segments"}, {"GET /***", "whole segments"}, {"GET /%zz", "invalid URL escape"},
		{"GET /a//b", "no request may have"}, {"GET /../b", "no request may have"}, {"GET /%2e/b", "no request may have"},
	} {
		_, err := CompilePolicy(PolicyRules{Requests: map[string][]string{"a.test": {c.pattern}}})
		if err == nil || !strings.Contains(err.Error(), `network.requests: "a.test": `) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.pattern, err)
		}
	}
	for _, rules := range []PolicyRules{
		{Requests: map[string][]string{"a.test": {"GET /"}}, Methods: map[string][]string{"A.test": {"GET"}}},
		{Requests: map[string][]string{"10.0.0.0/8:80": {"GET /"}}, Methods: map[string][]string{"10.0.0.0/8:80": {"GET"}}},
		{Requests: map[string][]string{"a.test": nil}},
		{Requests: map[string][]string{"a.test": {"GET /"}}, Allow: []string{"tcp://a.test:443"}},
	} {
		if _, err := CompilePolicy(rules); err == nil {
			t.Errorf("%+v is accepted", rules)
		}
	}
}

func TestRequestRulesInProxy(t *testing.T) {
	t.Parallel()
	s := newServers(t)
	seen := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s%s", r.Method, r.RequestURI, r.Header.Get("X-HTTP-Method-Override")+r.Header.Get("X-Original-URL"))
	})
	secure, plain := s.start("a.test", seen), s.startPlain(seen)
	w := s.serve(ProxyOptions{Policy: compile(t, PolicyRules{Allow: []string{"a.test:" + secure, "a.test:" + plain}, Hosts: local("a.test"),
		Requests: map[string][]string{"a.test": {"GET /me/**", "!* /me/private/**"}}})})
	for base, client := range map[string]string{"https://a.test:" + secure: "TLS", "http://a.test:" + plain: "plain"} {
		for path, want := range map[string]int{"/me/a%20b?q=/../x": 200, "/me/private/a": 403, "/me/../etc": 403, "/other": 403} {
			r := request(t, "GET", base)
			var err error
			if r.URL, err = url.Parse(base + path); err != nil {
				t.Fatal(err)
			}
			r.Header.Set("X-HTTP-Method-Override", "DELETE")
			r.Header.Set("X-Original-URL", "/admin")
			resp, body := w.do(w.client(), r)
			if resp.StatusCode != want || want == 200 && body != "GET "+path {
				t.Errorf("%s %s: %d %q", client, path, resp.StatusCode, body)
			}
			if want == 403 && !strings.HasSuffix(body, "; setting network.requests\n") {
				t.Errorf("%s %s: %q", client, path, body)
			}
		}
		resp, _ := w.do(w.client(), request(t, "POST", base+"/me/a"))
		if resp.StatusCode != 403 {
			t.Errorf("%s: POST got %d", client, resp.StatusCode)
		}
	}
}

// FuzzRequestPatterns compares patterns with regular expressions.
func FuzzRequestPatterns(f *testing.F) {
	f.Add("/me/**", "/me/a/b")
	f.Add("/**/x/*", "/a/x/x/")
	f.Add("/**/**/a", "/a/a/a")
	f.Add("/a%2Fb/*", "/a%2fb/c%2Fd")
	f.Fuzz(func(t *testing.T, pattern, path string) {
		p, err := parseRequestPattern("GET " + pattern)
		segments, ok := splitRequestPath(path)
		if err != nil || !ok {
			return
		}
		if slices.ContainsFunc(segments, isOddSegment) {
			return
		}
		expression := ""
		for _, s := range p.path {
			switch s.wildcard {
			case "**":
				expression += `(/[^/]*)*`
			case "*":
				expression += `/[^/]+`
			default:
				expression += "/" + regexp.QuoteMeta(strings.ReplaceAll(s.text, "/", "\x00")) // which equals no slash
			}
		}
		want := regexp.MustCompile(`^` + expression + `$`).MatchString("/" + strings.Join(segments, "/"))
		if got := p.matches("GET", segments); got != want {
			t.Errorf("%q matches %q: %v", pattern, path, got)
		}
	})
}
