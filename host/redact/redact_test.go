package redact

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTexts(t *testing.T) {
	for text, want := range map[string]string{
		"curl -H 'Authorization: Bearer abc.def' https://x": "curl -H 'Authorization: Bearer " + Mark +
			"' https://x",
		"curl -H \"authorization: hunter2hunter2\"":  "curl -H \"authorization: " + Mark + "\"",
		"use bearer 0123456789abcdef now":            "use bearer " + Mark + " now",
		"git clone https://me:hunter2@example.org/x": "git clone https://me:" + Mark + "@example.org/x",
		"postgres://app:p%40ss@db:5432/x?sslmode=off": "postgres://app:" + Mark +
			"@db:5432/x?sslmode=off",
		"GITHUB_TOKEN=abc123 make":                                        "GITHUB_TOKEN=" + Mark + " make",
		"mysql --password hunter2 -u me":                                  "mysql --password " + Mark + " -u me",
		"mysql --password=hunter2 -u me":                                  "mysql --password=" + Mark + " -u me",
		`{"api_key": "abcdef", "n": 1}`:                                   `{"api_key": "` + Mark + `", "n": 1}`,
		"db_passwd: 'hunter2'":                                            "db_passwd: '" + Mark + "'",
		"export AWS_SECRET_ACCESS_KEY=abcd; ls":                           "export AWS_SECRET_ACCESS_KEY=" + Mark + "; ls",
		"AKIAIOSFODNN7EXAMPLE is in here":                                 Mark + " is in here",
		"ghp_" + strings.Repeat("a1", 18):                                 Mark,
		"key sk-" + strings.Repeat("x", 40) + ".":                         "key " + Mark + ".",
		"-----BEGIN RSA PRIVATE KEY-----\nMII\nMII":                       Mark,
		"a\n-----BEGIN PRIVATE KEY-----\nM\n-----END PRIVATE KEY-----\nb": "a\n" + Mark + "\nb",
		"curl -u me:hunter2 https://x":                                    "curl -u me:" + Mark + " https://x",
		"curl --user 'me:hunter2' https://x":                              "curl --user 'me:" + Mark + "' https://x",
		"mysqldump -u me -phunter2 db":                                    "mysqldump -u me -p" + Mark + " db",
		"sshpass -p hunter2 ssh me@x":                                     "sshpass -p " + Mark + " ssh me@x",
		"redis-cli -h x -a hunter2 ping":                                  "redis-cli -h x -a " + Mark + " ping",
		"DB_PASS=hunter2 MY_KEY=abc make":                                 "DB_PASS=" + Mark + " MY_KEY=" + Mark + " make",
		"curl -H \"Cookie: session=abc; b=c\" x":                          "curl -H \"Cookie: " + Mark + "\" x",
		`curl -d '{"password":"hunt;er 2"}' x`:                            `curl -d '{"password":"` + Mark + `"}' x`,
		`curl -d "{\"password\": \"hunter2\"}" x`:                         `curl -d "{\"password\": \"` + Mark + `\"}" x`,
		`PASSWORD="a b;c" make`:                                           `PASSWORD="` + Mark + `" make`,
		// What is none.
		"docker run -u 1000:1000 -p 8080:80 x": "docker run -u 1000:1000 -p 8080:80 x",
		"mkdir -p a/b && mysql < x.sql":        "mkdir -p a/b && mysql < x.sql",
		"PWD=/x make KEYBOARD=us":              "PWD=/x make KEYBOARD=us",
		"git log --author-date-order -u a":     "git log --author-date-order -u a",
		"go test ./...":                        "go test ./...",
		"func Token(kind string) bool {":       "func Token(kind string) bool {",
		"the basic functionality of the key":   "the basic functionality of the key",
		"https://example.org/a:b@c":            "https://example.org/a:b@c",
		"grep -r --token-type x":               "grep -r --token-type x",
		"read secrets/README.md and password":  "read secrets/README.md and password",
	} {
		if got := RedactText(text); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

// Each text has the secret hunter2 or s3cr3t, and nothing else of it may go.
func TestTextCutsSecrets(t *testing.T) {
	for _, text := range []string{
		"curl -H 'Authorization: ApiKey {}' https://x",
		"curl -H 'Authorization: {}' https://x",
		`curl -H "authorization: Token {}" https://x`,
		`curl -H "Proxy-Authorization: Basic {}" https://x`,
		"curl -H Authorization:{} https://x",
		"Authorization: Bearer {}",
		"GET / HTTP/1.1\nAuthorization: {}\nHost: x",
		`{"Authorization": "Bearer {}"}`,
		"curl -H 'X-Api-Key: {}' https://x",
		"curl -H x-api-key:{} https://x",
		"curl -H 'X-Auth-Token: {}' -H 'Accept: */*' https://x",
		"curl -H 'Ocp-Apim-Subscription-Key: {}' https://x",
		"curl -uU:{} https://x",
		"curl -suU:{} https://x",
		"curl -u U:{} https://x",
		"curl -u 'a.b@c.org:{}' https://x",
		"curl -U U:{} https://x",
		"curl --user U:{} https://x",
		"curl --user=U:{} https://x",
		"curl --user='U:{}' https://x",
		"curl --proxy-user U:{} https://x",
		"docker login -p {} -u U registry",
		"docker login -u U -p {} registry",
		"docker login --password={} registry",
		"podman login -p{} registry",
		"oc login -u U -p '{}'",
		"mysql -p{} db",
		"mysqldump -h x -u me -p'{}' db",
		"mariadb-admin -p{} ping",
		"sshpass -p {} ssh x",
		"sshpass -p{} ssh x",
		"SSHPASS={} sshpass -e ssh x",
		"redis-cli -a {} ping",
		"REDISCLI_AUTH={} redis-cli ping",
		"mongosh -u me -p {} host",
		"ldapsearch -x -D cn=a -w {} -b dc=x",
		"unzip -P {} a.zip",
		"openssl rsa -passin pass:{} -in a",
		"git clone https://{}@example.org/x",
		"git clone https://U:{}@example.org/x",
		"git clone https://{}:x-oauth-basic@example.org/x",
		"git clone https://{}:@example.org/x",
		"psql postgres://U:{}@db/x",
		"AWS_SECRET_ACCESS_KEY={} aws s3 ls",
		"export PGPASSWORD={}; psql",
		"env MYSQL_PWD={} mysql",
		"RESTIC_PASSWORD='{}' restic",
		"aws configure set aws_secret_access_key {}",
		"npm config set //registry.example.org/:_authToken={}",
		"deploy --token {} now",
		"deploy --token={} now",
		"deploy -token {} now",
		"deploy --api-key {} now",
		"deploy --password '{}' now",
		"deploy --pass {} now",
		"deploy --client-secret={}",
		"https://x/?access_token={}&page=1",
		`curl -d '{"password":"{}"}' x`,
		`{"user": "U", "client_secret" : "{}"}`,
		`{\"password\":\"{}\"}`,
		"password: {}",
		"- name: x\n  db_password: {}\n  port: 1",
		"password = {}",
		"login failed with password={}, retrying",
	} {
		for _, secret := range []string{"hunter2", "s3cr3t-V4lue_0"} {
			want := strings.ReplaceAll(text, "{}", Mark)
			if got := RedactText(strings.ReplaceAll(text, "{}", secret)); got != want {
				t.Errorf("%s\n got %s\nwant %s", strings.ReplaceAll(text, "{}", secret), got, want)
			}
		}
	}
}

func TestTextKeepsOrdinaryWords(t *testing.T) {
	for _, text := range []string{
		"agents.defaults.summarize_token_percent: 75",
		"summarize_token_percent=75",
		`cat "/etc/passwd": permission denied`,
		"/etc/passwd: access denied",
		"open /etc/passwd: no such file",
		"passwd: Authentication token manipulation error",
		"picoclaw config show",
		"max_tokens: 100",
		`{"max_tokens": 100, "input_tokens": 5}`,
		"--max-tokens 100",
		"token bucket",
		"a token bucket: 5 calls a second",
		"password.txt",
		"cat password.txt: no such file",
		"tar cf password.txt.tar password.txt",
		"the password field",
		"set the token bucket, then set token bucket",
		"set password first",
		"rsync -au host:dir dst",
		"gh auth login -p https",
		"the password field is required: fill it in",
		"the secret of good code",
		"invalid token: expected a name",
		"unexpected token: end of file",
		"deploy --password-stdin < file",
		"deploy --password-file /run/x",
		"deploy --token-type bearer",
		"deploy --with-token < file",
		"ls -l --key-sort name",
		"sort -k 2 --key=3",
		"ssh -i ~/.ssh/id_rsa me@example.org",
		"git clone ssh://git@example.org/x",
		"git push -u origin HEAD:main",
		"docker run -u 1000:1000 x",
		"date -u +%H:%M",
		"date -u '+%H:%M:%S'",
		"mkdir -p login/x",
		"cp -p login page",
		"mysql < dump.sql",
		"zip -r a.zip b",
		"keyboard: us",
		"key: value",
		"primary key: id",
		"public_key=abc",
		"tokenizer: gpt",
		"func parse(token string) error",
		"if token == nil {",
		"PWD=/x OLDPWD=/y",
		"compass: north",
		"12 pass, 3 fail",
		"pass: 12, fail: 3",
		"authorization",
		"author: me",
		"cookie",
		"https://example.org/@me",
		"https://example.org/a?b=c@d",
		"mail me@example.org about https://example.org",
	} {
		if got := RedactText(text); got != text {
			t.Errorf("%s\n got %s", text, got)
		}
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]bool{
		"password": true, "DB_PASSWORD": true, "apiKey": true, "api-key": true, "GITHUB_TOKEN": true, "accessToken": true,
		"client_secret": true, "X-Api-Key": true, "db.password": true, "PGPASSWORD": true, "password2": true,
		"summarize_token_percent": false, "password.txt": false, "password_file": false, "tokens": false, "token_type": false, "credentials": true, "Cookie": true, "AWS_SECRET_ACCESS_KEY": true,
		"max_tokens": false, "path": false, "content": false, "key": false, "tokenizer": false, "keyboard": false, "": false,
	} {
		if IsSecretName(name) != want {
			t.Errorf("%q is a secret's name: %t", name, !want)
		}
	}
}

func TestValues(t *testing.T) {
	given := map[string]any{
		"env":      map[string]any{"API_TOKEN": "abc", "LANG": "C"},
		"pin":      map[string]any{"password": int64(1234)},
		"commands": []any{"ls", "TOKEN=abcdef ls"},
		"names":    []string{"a", "password=hunter2"},
		"token":    "",
		"n":        int64(3),
	}
	want := map[string]any{
		"env":      map[string]any{"API_TOKEN": Mark, "LANG": "C"},
		"pin":      map[string]any{"password": Mark},
		"commands": []any{"ls", "TOKEN=" + Mark + " ls"},
		"names":    []string{"a", "password=" + Mark},
		"token":    "",
		"n":        int64(3),
	}
	if diff := cmp.Diff(want, RedactValue("", given)); diff != "" {
		t.Error(diff)
	}
	if given["env"].(map[string]any)["API_TOKEN"] != "abc" {
		t.Error("the caller's value was changed")
	}
}

func BenchmarkText(b *testing.B) {
	for name, text := range map[string]string{
		"plain":  "go test ./... && git status --short # " + strings.Repeat("what it says ", 10),
		"secret": "GITHUB_TOKEN=abcdef make release # " + strings.Repeat("what it says ", 10),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_ = RedactText(text)
			}
		})
	}
}

func FuzzText(f *testing.F) {
	f.Add("password=x")
	f.Add("https://a:b@c -----BEGIN PRIVATE KEY-----")
	f.Fuzz(func(t *testing.T, text string) {
		if cut := RedactText(text); len(cut) > len(text)*(len(Mark)+1)+len(Mark) {
			t.Errorf("%q became %d bytes", text, len(cut))
		}
	})
}
