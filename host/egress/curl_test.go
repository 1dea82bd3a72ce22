package egress

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestCurlUsesProxy(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Fatal("there is no curl; `.ci/install tests` installs it")
	}
	s := newServers(t)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Host, r.Header["Authorization"]) })
	plain, opaque, looked := s.startPlain(h), s.start("a.test", h), s.start("a.test", h)
	w := s.serve(ProxyOptions{Secrets: []Secret{token("a.test:" + looked)}, Policy: compile(t, PolicyRules{
		Allow: []string{"b.test:" + plain, "a.test:" + opaque, "a.test:" + looked}, Hosts: local("a.test", "b.test")})})
	roots := filepath.Join(t.TempDir(), "roots.pem")
	b := strings.Join([]string{string(s.CertificatePEM()), string(w.Authority.CertificatePEM())}, "\n")
	if err := os.WriteFile(roots, []byte(b), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args, want string
	}{
		{"http://b.test:" + plain, "b.test:" + plain + "[]"},
		{"-p http://b.test:" + plain, "b.test:" + plain + "[]"},
		{"https://a.test:" + opaque, "a.test:" + opaque + "[]"},
		{"https://a.test:" + looked, "a.test:" + looked + "[Bearer " + dummy + "]"},
		{"--http1.1 -u x:" + dummy + " https://a.test:" + looked, "[Basic " + encodeBase64("x:"+dummy) + "]"},
		{"http://evil.test", "network: refused evil.test; setting network.allow\n"},
		{"-w %{http_connect} https://evil.test", "403"},
	} {
		cmd := exec.CommandContext(t.Context(), curl, append([]string{"-sS"}, strings.Fields(c.args)...)...)
		proxy := "http://" + w.address
		cmd.Env = []string{"http_proxy=" + proxy, "https_proxy=" + proxy, "CURL_CA_BUNDLE=" + roots}
		out, err := cmd.CombinedOutput()
		if !strings.HasSuffix(string(out), c.want) {
			t.Errorf("curl %s: %q, %v, want %q", c.args, out, err, c.want)
		}
	}
}
