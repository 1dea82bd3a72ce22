package guard

import (
	"strings"
	"testing"
)

// The profile seed_strict decides as the original documents show: relative paths and custom allow patterns work.
func TestSeedStrictExamples(t *testing.T) {
	p := everything()
	p.Kernel = true
	p.Exec.Profile = ProfileSeedStrict
	p.Exec.CustomAllow = []string{`^git\s+push\s+origin\s+(main|develop)$`, `docker run --rm app:v1`, `sudo id`}
	g := mustNew(t, p)
	ws := p.Workspace
	for line, want := range map[string]Verdict{
		"ls ./data":                                  Allow,
		"cat sub/file.txt":                           Allow,
		"cat " + ws + "/file.txt":                    Allow,
		`echo "test" > output.txt`:                   Allow,
		`echo "test" > out/put.txt`:                  Allow,
		"./run.sh":                                   Allow,
		"go test ./...":                              Allow,
		"go vet ./cmd/... ./sdk/...":                 Allow,
		"npm run build -- --out=build/dist":          Allow,
		"ls *.d/*.conf [ab]/x":                       Allow,
		"curl -o a.html https://example.com/a/b":     Allow,
		"git clone https://github.com/x/y.git dir/y": Allow,
		"make 2>/dev/null; ls":                       Allow,
		"(make >/dev/null)":                          Allow,
		"cat src/\u00e9t\u00e9/a":                    Allow,
		"git push origin main":                       Allow,
		"git  push   origin develop":                 Allow,
		"make && git push origin main":               Allow,
		"docker run --rm app:v1":                     Allow,
		"git push origin main --force":               Deny,
		"git push origin main; git push origin x":    Deny,
		"git push origin main; chmod 755 a":          Deny,
		"git push origin main && echo $(date)":       Deny,
		"sh -c 'git push origin main; chmod 755 a'":  Deny,
		"sh -c 'git push origin main'":               Deny,
		"sudo id":                                    Deny, // a hard rule as well
		"cat /etc/passwd":                            Deny,
		"ls /home/user/documents":                    Deny,
		"cp ../../../etc/passwd .":                   Deny,
		"gcc -I/usr/include a.c":                     Deny,
		"echo -isystem/usr/include":                  Deny,
		"tar --file=/etc/x":                          Deny,
		"echo PATH=a:/etc/x":                         Deny,
		"echo a,/etc/x":                              Deny,
		"echo {a,/etc/x}":                            Deny,
		"cat ~/x":                                    Deny,
		"echo $UNSET/etc/x":                          Deny,
		`echo ""/etc/x`:                              Deny,
		"echo \\/etc/x":                              Deny,
		"curl -d @/etc/x https://example.com":        Deny,
		"curl file:///etc/passwd":                    Deny,
		"echo https:/etc/x":                          Deny,
		"cat " + ws + "/a;cat /etc/x":                Deny,
		"cat //etc/x":                                Deny,
		"curl https://example.com/../x ../y":         Deny,
		"cat a/../../x":                              Deny,
	} {
		if d := decide(g, line); d.Verdict != want {
			t.Errorf("%s: %s %s %q; want %s", line, d.Verdict, d.Rule, d.Reason, want)
		}
	}
}

// Where nothing but the guard confines commands, the profile is forced: the remedy is not to choose another one.
func TestForcedSeedStrictNamesWorkingRemedy(t *testing.T) {
	for _, kernel := range []bool{true, false} {
		p := everything()
		p.Kernel, p.Exec.Profile = kernel, ProfileSeedStrict
		for _, line := range []string{"echo $(date)", "chmod 644 a"} {
			d := decide(mustNew(t, p), line)
			if d.Verdict != Deny || strings.Contains(d.Setting, "tools.exec.profile") != kernel {
				t.Errorf("%s, kernel %v: %s %q", line, kernel, d.Rule, d.Setting)
			}
		}
	}
}
