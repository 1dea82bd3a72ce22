package policy

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/picoclaw/picoclaw/internal/paths"
)

func TestLiteralPrefix(t *testing.T) {
	for pattern, want := range map[string]struct {
		path  string
		exact bool
	}{
		`^/etc/hosts$`:                   {"/etc/hosts", true},
		`^/proc/.*`:                      {"/proc", false},
		`^/tmp/picoclaw-.*\.txt$`:        {"/tmp", false},
		`^/sys/class/net/[^/]+/address$`: {"/sys/class/net", false},
		`^/etc/(hosts|passwd)$`:          {"/etc", false},
		`^/etc/hosts`:                    {"/etc", false},
		`/etc/hosts$`:                    {"/", false},
		`^(?i)/etc/hosts$`:               {"/", false},
		`(?m)^/etc/hosts$`:               {"/", false},
		`^/a/b|^/c/d`:                    {"/", false},
		`^/(a|b)`:                        {"/", false},
		`.*`:                             {"/", false},
		``:                               {"/", false},
		`(`:                              {"/", false},
		`^/a//b$`:                        {"/a", false},
		`^/a/../b$`:                      {"/a", false},
		`^/a/b?c$`:                       {"/a", false},
		`^/a/b+$`:                        {"/a", false},
		`^/a/b/+c`:                       {"/a/b", false},
		`^(/etc/hosts)$`:                 {"/etc/hosts", true},
		`\A/etc/hosts\z`:                 {"/etc/hosts", true},
		`^/etc/hosts$|^/etc/hosts$`:      {"/etc/hosts", true},
		`^/etc/hosts$|^/etc/passwd$`:     {"/etc", false},
		`^/etc/hosts$|/etc/hosts`:        {"/", false},
		`^(?:/usr/lib|/usr/libexec)/x$`:  {"/usr", false},
		`^/usr/(lib)/x$`:                 {"/usr/lib/x", true},
		`^/etc[/]hosts$`:                 {"/etc/hosts", true},
		`^/etc/[h]osts$`:                 {"/etc/hosts", true},
		`^/etc/(?i)hosts$`:               {"/etc", false},
		`^/(?i)123/456$`:                 {"/123/456", true},
		`^/etc/hosts\b`:                  {"/etc", false},
		`^/data/\x{FFFD}/x$`:             {"/data", false},
		`^/$`:                            {"/", false},
		`^/etc/$`:                        {"/etc", false},
		`^/./etc$`:                       {"/", false},
		`^/\.\./etc$`:                    {"/", false},
		`x*^/etc/hosts$`:                 {"/", false}, // /etc/hosts, but that is hard to see
		`(x|^)/etc/hosts$`:               {"/", false},
		`(^|\b)/etc/hosts$`:              {"/", false},
		`\b^/etc/hosts$\b`:               {"/etc/hosts", true},
		`^*/etc/hosts$`:                  {"/", false},
		`(^/etc/hosts$)?`:                {"/", false},
		`^/srv/[^/]*/public/.*$`:         {"/srv", false},
		`^etc/hosts$`:                    {"/", false},
		`^/srv/a(/|$)`:                   {"/srv/a", false},
		`^/srv/a(/.*)?$`:                 {"/srv/a", false},
		`^/srv/a$|^/srv/a/`:              {"/srv/a", false},
		`^/srv/(a|b)(/|$)`:               {"/srv", false},
		`^/srv/a(/.*)?`:                  {"/srv", false},
		`^/srv/a(?m:/|$)`:                {"/srv", false},
		`^/srv/(?i)a(/|$)`:               {"/srv", false},
		`^/srv/a$|^/srv/a`:               {"/srv", false},
		`^/(/|$)`:                        {"/", false},
	} {
		path, exact := LiteralPathPrefix(pattern)
		if path != want.path || exact != want.exact {
			t.Errorf("%s: %s, %t; want %s, %t", pattern, path, exact, want.path, want.exact)
		}
	}
}

// No clean path that a pattern matches lies outside of what its prefix opens.
func FuzzLiteralPrefix(f *testing.F) {
	for _, seed := range []string{`^/etc/hosts$`, `^/a|b`, `^/(?i)a/b`, `^/a/*b`, `(^/a/b)`, `\A/x/y\z`, `^^/a/b`,
		`^/a{2}/b`, `^(/a/b)*`} {
		f.Add(seed, "/etc/hosts")
		f.Add(seed, "/a/b")
	}
	f.Fuzz(func(t *testing.T, pattern, path string) {
		re, err := regexp.Compile(pattern)
		if err != nil {
			return
		}
		path = filepath.Clean("/" + path)
		prefix, exact := LiteralPathPrefix(pattern)
		if !re.MatchString(path) {
			return
		}
		if !paths.Within(prefix, path) || exact && path != prefix {
			t.Fatalf("%q matches %q, which is outside of %q (exact %t)", pattern, path, prefix, exact)
		}
	})
}
