package programs

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/getopt"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

var (
	curlSpec = getopt.Parse("o=w O= d=@ F=f T=r K=r b=b c=w E=r D=w H=@ A=d e=d u=d x=d X=d m=d r=d w=@ C=d Y=d y=d z=d U=d Q=d t=d P=d " +
		"--output=w --data=@ --data-raw=d --data-binary=@ --data-urlencode=@ --data-ascii=@ --json=@ --form=f --form-string=d --upload-file=r --config=r --cookie=b --cookie-jar=w --cert=r --key=r " +
		"--cacert=r --capath=l --dump-header=w --header=@ --user-agent=d --referer=d --user=d --proxy=d --request=d --max-time=d --range=d --write-out=@ --output-dir=g --trace=w " +
		"--trace-ascii=w --stderr=w --unix-socket=w --resolve=d --connect-timeout=d --retry=d --retry-delay=d --retry-max-time=d --url=u --netrc-file=r --oauth2-bearer=d --limit-rate=d --interface=d --max-redirs=d --proto=d --etag-save=w --etag-compare=r --variable=@ --expand-data=d --hsts=w --alt-svc=w --pubkey=r --ciphers=d --tls-max=d --connect-to=d --noproxy=d --request-target=d --url-query=d")
	wgetSpec = getopt.Parse("O=w o=w a=w P=w i=r t=d T=d w=d Q=d U=d e=d A=d R=d D=d I=d X=d l=d B=d --output-document=w --output-file=w --append-output=w --directory-prefix=w --input-file=r " +
		"--post-file=r --body-file=r --post-data=d --body-data=d --method=d --header=d --user=d --password=d --user-agent=d --referer=d --load-cookies=r --save-cookies=w --ca-certificate=r --certificate=r " +
		"--private-key=r --config=r --execute=d --tries=d --timeout=d --wait=d --level=d --accept=d --reject=d --domains=d --use-askpass=c --bind-address=d --limit-rate=d --base=d --cut-dirs=d --rejected-log=w --warc-file=w")
	rsyncSpec = getopt.Parse("e=c f=d T=w B=d M=d --rsh=c --rsync-path=c --exclude=d --include=d --exclude-from=r --include-from=r --files-from=r --filter=d --log-file=w --temp-dir=w --backup-dir=w " +
		"--partial-dir=w --compare-dest=r --copy-dest=r --link-dest=r --password-file=r --chmod=d --chown=d --suffix=d --port=d --bwlimit=d --timeout=d --max-size=d --min-size=d --info=d --out-format=d --usermap=d --groupmap=d")
)

// Remote says whether a word names something on another machine: host:path, user@host:path, or a URL that isn't file:.
func Remote(word string) bool {
	if scheme, _, ok := strings.Cut(word, "://"); ok && scheme != "" && !strings.ContainsAny(scheme, "/ \t='\"@,") {
		return !strings.EqualFold(scheme, "file")
	}
	host, _, ok := strings.Cut(word, ":")
	return ok && strings.Contains(host, "@") && !strings.Contains(host, "/") && !strings.Contains(host, "=")
}

// hostPath says whether a word is host:path as rsync and docker cp have it.
func hostPath(word string) bool {
	host, _, ok := strings.Cut(word, ":")
	return ok && host != "" && !strings.ContainsAny(host, "/\\")
}

// curl sends what begins with "@" from a file.
func curl(_ string, args []shell.Field) []Use {
	parsed := curlSpec.Parse(shell.Texts(args))
	var uses []Use
	for _, opt := range parsed.Options {
		if !opt.Has {
			continue
		}
		switch first(opt.Roles) {
		case '@':
			value := opt.Value
			if name, file, ok := strings.Cut(value, "@"); ok && (name == "" || strings.Contains(opt.Name, "urlencode") || opt.Name == "--variable") {
				uses = append(uses, Use{Kind: Read, Text: file})
			}
		case 'f':
			if _, value, ok := strings.Cut(opt.Value, "="); ok && value != "" && (value[0] == '@' || value[0] == '<') {
				file, _, _ := strings.Cut(value[1:], ";")
				uses = append(uses, Use{Kind: Read, Text: file})
			}
		case 'b':
			if !strings.Contains(opt.Value, "=") {
				uses = append(uses, Use{Kind: Read, Text: opt.Value})
			}
		case 'u':
			uses = append(uses, Use{Kind: Shape, Text: opt.Value})
		case 0:
			uses = append(uses, Use{Kind: Shape, Text: opt.Value})
		default:
			uses = append(uses, Use{Kind: Kind(opt.Roles[0]), Text: opt.Value})
		}
	}
	for _, i := range parsed.Operands {
		uses = append(uses, url(args[i].Text))
	}
	return uses
}

// url is an operand that is a URL: only file: names a path.
func url(text string) Use {
	if len(text) >= 5 && strings.EqualFold(text[:5], "file:") {
		return Use{Kind: Shape, Text: text}
	}
	return Use{Kind: Data, Text: text}
}

func wget(_ string, args []shell.Field) []Use {
	parsed := wgetSpec.Parse(shell.Texts(args))
	var uses []Use
	for _, opt := range parsed.Options {
		if opt.Has && opt.Roles != "" {
			use := Use{Kind: Kind(opt.Roles[0]), Text: opt.Value}
			if use.Kind == Code {
				use.Lang = "sh"
			}
			uses = append(uses, use)
		}
	}
	for _, i := range parsed.Operands {
		uses = append(uses, url(args[i].Text))
	}
	return uses
}

// rsync copies from all operands but the last, which may be on other machines.
func rsync(_ string, args []shell.Field) []Use {
	parsed := rsyncSpec.Parse(shell.Texts(args))
	var uses []Use
	for _, opt := range parsed.Options {
		if opt.Has && opt.Roles != "" {
			use := Use{Kind: Kind(opt.Roles[0]), Text: opt.Value}
			if use.Kind == Code {
				use.Lang = "sh"
			}
			uses = append(uses, use)
		}
	}
	for n, i := range parsed.Operands {
		kind := Read
		if n > 0 && n == len(parsed.Operands)-1 {
			kind = Write
		}
		if hostPath(args[i].Text) || Remote(args[i].Text) {
			kind = Data
		}
		uses = append(uses, Use{Kind: kind, Text: args[i].Text, Glob: args[i].Glob})
	}
	return uses
}
