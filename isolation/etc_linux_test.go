package isolation

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Programs see in copies all that is mounted piece by piece without them, and can write to none of it.
func TestEtcCopiesMatchOriginals(t *testing.T) {
	// The directories that are shown are compared by what is in them and not by themselves.
	const look = "cd /etc && find . -type l -printf '%p %l\\n' -o -type f -exec cksum {} + | sort"
	copies, single := configured(t, Config{Enabled: true}), configured(t, Config{Enabled: true})
	single.starter.etc = nil
	p := Profile{Name: "test", Exec: true, Confine: true}
	want := outcome(t, single, shell(look), p).stdout
	got := outcome(t, copies, shell(look), p).stdout
	if !strings.Contains(want, "nsswitch.conf") {
		t.Errorf("one by one:\n%s", want)
	}
	for line := range strings.Lines(want) {
		if !strings.Contains(got, line) {
			t.Errorf("copied, without %q:\n%s", line, got)
		}
	}
	for _, file := range []string{"passwd", "hosts", "ld.so.conf.d/x", "x"} {
		if r := outcome(t, copies, shell(": >> /etc/"+file), p); r.exit.Success() {
			t.Errorf("/etc/%s can be written to", file)
		}
	}
	if len(copies.starter.etc.used) != 1 {
		t.Error("nothing was copied")
	}
}

// Where the operator shows something in /etc, it is what is seen.
func TestExposedPathsInEtc(t *testing.T) {
	base := realTemp(t)
	put(t, filepath.Join(base, "x"), "exposed")
	i := configured(t, Config{Enabled: true, ExposePaths: []ExposedPath{{Source: filepath.Join(base, "x"),
		Target: "/etc/a/b", Mode: ModeReadOnly}}})
	r := outcome(t, i, shell("cat /etc/a/b && test -s /etc/nsswitch.conf"),
		Profile{Name: "test", Exec: true, Confine: true})
	if r.stdout != "exposed" || !r.exit.Success() || len(i.starter.etc.used) != 1 {
		t.Errorf("%q, %s; %d copies", r.stdout, r.stderr, len(i.starter.etc.used))
	}
}

// What is copied is never old, and copies that nobody uses go.
func TestEtcCopiesFollowChanges(t *testing.T) {
	source, cache := realTemp(t), realTemp(t)
	file := put(t, filepath.Join(source, "dir", "deep", "file"), "old")
	parts := []plannedMount{
		{kind: bindRO, source: filepath.Join(source, "dir"), target: "/etc/dir"},
		{kind: bindData, target: "/etc/passwd", data: []byte("root")},
	}
	read := func(c *etcCopyCache) (path, text string) {
		t.Helper()
		path, err := c.ensureCopiesDir(parts, nil)
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(path, "dir", "deep", "file"))
		if err != nil {
			t.Fatal(err)
		}
		return path, string(data)
	}
	first, second := newEtcCopyCache(cache), newEtcCopyCache(cache)
	defer second.releaseDirs()
	old, _ := read(first)
	if again, _ := read(second); again != old {
		t.Errorf("%s and %s are for the same", old, again)
	}
	if err := os.WriteFile(file, []byte("new!"), 0o600); err != nil {
		t.Fatal(err)
	}
	recent, text := read(second)
	if text != "new!" {
		t.Errorf("the copy says %q", text)
	}
	if _, err := os.Stat(old); err != nil {
		t.Errorf("a copy in use is gone: %v", err)
	}
	first.releaseDirs()
	second.releaseDirs()
	third := newEtcCopyCache(cache)
	defer third.releaseDirs()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	put(t, file, "newest")
	read(third)
	for _, path := range []string{old, recent} {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s stays behind", path)
		}
	}
}

// Commands read the configuration of every program, and nothing that its owner or its name keeps from them.
func TestEtcHidesSecrets(t *testing.T) {
	entries, err := listPublicEntries(etc)
	if err != nil {
		t.Fatal(err)
	}
	var public strings.Builder
	for _, e := range entries {
		if e.info != nil && e.info.Mode().IsRegular() {
			public.WriteString(e.rel + "\n")
		}
	}
	work := realTemp(t)
	put(t, filepath.Join(work, "public"), public.String())
	script := `cd /etc
		while read -r name; do cat "$name" > /dev/null || echo "REFUSED $name"; done < ` + work + `/public
		for name in shadow gshadow sudoers environment default/* ssl/private/* ssh/ssh_host_*_key cron.d/*; do
			cat "$name" > /dev/null 2>&1 && echo "READ $name"
		done; true`
	for mode, enabled := range modes {
		i := configured(t, Config{Enabled: enabled})
		r := outcome(t, i, shell(script), Profile{Name: "test", Exec: true, Confine: true, ReadWrite: []string{work}})
		if r.stdout != "" || !r.exit.Success() {
			t.Errorf("%s: %v %s%s", mode, r.exit, r.stdout, r.stderr)
		}
	}
}

// The list follows the machine: what is for everybody is on it, up to the sum of sizes.
func TestPublicFilesAreListed(t *testing.T) {
	dir := realTemp(t)
	put(t, filepath.Join(dir, "tool.d", "a.conf"), "x")
	put(t, filepath.Join(dir, "tool.d", "api_token"), "x")
	put(t, filepath.Join(dir, "closed", "b.conf"), "x")
	put(t, filepath.Join(dir, "ssl", "private", "c.pem"), "x")
	if err := errors.Join(os.Chmod(filepath.Join(dir, "closed"), 0o750),
		os.Chmod(put(t, filepath.Join(dir, "own.conf"), "x"), 0o640),
		os.Truncate(put(t, filepath.Join(dir, "large"), ""), maxEtcBytes),
		os.Symlink("tool.d/a.conf", filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	entries, err := listPublicEntries(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.rel)
	}
	if want := "large link ssl tool.d"; strings.Join(got, " ") != want {
		t.Errorf("%q, and not %q: all room is taken by the large file", got, want)
	}
	if err := os.Truncate(filepath.Join(dir, "large"), maxEtcBytes+1); err != nil {
		t.Fatal(err)
	}
	if entries, err = listPublicEntries(dir); err != nil || len(entries) != 4 || entries[3].rel != "tool.d/a.conf" {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestSecretNames(t *testing.T) {
	for name, want := range map[string]bool{
		"shadow": true, "gshadow-": true, "ssl/private/server.pem": true, "letsencrypt/live/x/cert.pem": true,
		"NetworkManager/system-connections/home": true, "postfix/main.cf": true, "myapp/db_password": true,
		"myapp/prod.env": true, "kubernetes/admin.conf": true, "ssh/ssh_host_rsa_key": true, "krb5.keytab": true,
		"apt/auth.conf.d/x": true, "npmrc": true, "maven/settings.xml": true, "default/myapp": true, "picoclaw/config.json": true,
		"passwd": false, "fonts/conf.d/10.conf": false, "java-17-openjdk/security/java.security": false,
		"ssl/certs/java/cacerts": false, "ssh/ssh_config": false, "maven/m2.conf": false, "vim/vimrc": false,
		"krb5.conf": false, "security/limits.conf": false, "apache2/mods-available/ssl.conf": false, "networks": false,
	} {
		if isSecretName(name) != want {
			t.Errorf("%s: secret is %v", name, !want)
		}
	}
	for line := range strings.Lines(secretEtcPatterns) {
		reason, patterns, found := strings.Cut(line, ": ")
		if !strings.HasPrefix(line, "#") && (!found || reason == "" || patterns == "\n") {
			t.Errorf("%q is incomplete", line)
		}
		for _, pattern := range strings.Fields(patterns) {
			if strings.ToLower(pattern) != pattern || !isSecretName(strings.ReplaceAll(strings.TrimPrefix(pattern, "/"), "*", "x")) {
				t.Errorf("%s finds nothing", pattern)
			}
		}
	}
}
