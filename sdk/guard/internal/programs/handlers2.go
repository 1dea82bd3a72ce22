package programs

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/getopt"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// The options of the programs that have functions of their own.
var (
	xargsSpec    = stop(getopt.Parse("I=d J=d R=d S=d n=d L=d P=d s=d d=d E=d a=r --arg-file=r --max-args=d --max-lines=d --max-procs=d --max-chars=d --delimiter=d --process-slot-var=d"))
	parallelSpec = stop(getopt.Parse("j=d a=r I=d n=d N=d L=d S=d d=d C=d --jobs=d --colsep=d --delay=d --joblog=w --results=w --timeout=d --max-args=d --arg-file=r --workdir=g --tmpdir=w --retries=d"))
	envSpec      = stop(getopt.Parse("u=d C=g S=c P=d --unset=d --chdir=g --split-string=c"))
	lnSpec       = getopt.Parse("t=w S=d --target-directory=w --suffix=d --backup=d")
	flockSpec    = stop(getopt.Parse("w=d E=d --timeout=d --wait=d --conflict-exit-code=d"))
	scheduleSpec = getopt.Parse("f=k q=d t=d u=d")
	watchSpec    = stop(getopt.Parse("n=d q=d e=d w=l i=d d=d s=d E=d --interval=d --equexit=d --exts=d --watch=l --ignore=d --debounce=d --signal=d --env=d --shell=d"))
	daemonSpec   = getopt.Parse("x=d a=d n=d p=w u=d g=d c=d r=g d=g s=d R=d N=d k=d --exec=d --startas=d --name=d --pidfile=w --user=d --group=d --chuid=d --chroot=g --chdir=g --signal=d --retry=d --nicelevel=d --umask=d")
	tarSpec      = bare(getopt.Parse("f=w C=g T=r X=r I=c F=c b=d g=w H=d K=d L=d N=d V=d --file=w --directory=g --files-from=r --exclude-from=r --exclude=d " +
		"--use-compress-program=c --to-command=c --checkpoint-action=d --info-script=c --new-volume-script=c --rsh-command=c --rmt-command=c --transform=d --xform=d --strip-components=d --owner=d " +
		"--group=d --mode=d --mtime=d --format=d --label=d --newer=d --listed-incremental=w --index-file=w --warning=d --sort=d --exclude-vcs= --one-top-level="))
	curlSpec = getopt.Parse("o=w O= d=@ F=f T=r K=r b=b c=w E=r D=w H=@ A=d e=d u=d x=d X=d m=d r=d w=@ C=d Y=d y=d z=d U=d Q=d t=d P=d " +
		"--output=w --data=@ --data-raw=d --data-binary=@ --data-urlencode=@ --data-ascii=@ --json=@ --form=f --form-string=d --upload-file=r --config=r --cookie=b --cookie-jar=w --cert=r --key=r " +
		"--cacert=r --capath=l --dump-header=w --header=@ --user-agent=d --referer=d --user=d --proxy=d --request=d --max-time=d --range=d --write-out=@ --output-dir=g --trace=w " +
		"--trace-ascii=w --stderr=w --unix-socket=w --resolve=d --connect-timeout=d --retry=d --retry-delay=d --retry-max-time=d --url=u --netrc-file=r --oauth2-bearer=d --limit-rate=d --interface=d --max-redirs=d --proto=d --etag-save=w --etag-compare=r --variable=@ --expand-data=d --hsts=w --alt-svc=w --pubkey=r --ciphers=d --tls-max=d --connect-to=d --noproxy=d --request-target=d --url-query=d")
	wgetSpec = getopt.Parse("O=w o=w a=w P=w i=r t=d T=d w=d Q=d U=d e=d A=d R=d D=d I=d X=d l=d B=d --output-document=w --output-file=w --append-output=w --directory-prefix=w --input-file=r " +
		"--post-file=r --body-file=r --post-data=d --body-data=d --method=d --header=d --user=d --password=d --user-agent=d --referer=d --load-cookies=r --save-cookies=w --ca-certificate=r --certificate=r " +
		"--private-key=r --config=r --execute=d --tries=d --timeout=d --wait=d --level=d --accept=d --reject=d --domains=d --use-askpass=c --bind-address=d --limit-rate=d --base=d --cut-dirs=d --rejected-log=w --warc-file=w")
	rsyncSpec = getopt.Parse("e=c f=d T=w B=d M=d --rsh=c --rsync-path=c --exclude=d --include=d --exclude-from=r --include-from=r --files-from=r --filter=d --log-file=w --temp-dir=w --backup-dir=w " +
		"--partial-dir=w --compare-dest=r --copy-dest=r --link-dest=r --password-file=r --chmod=d --chown=d --suffix=d --port=d --bwlimit=d --timeout=d --max-size=d --min-size=d --info=d --out-format=d --usermap=d --groupmap=d")
	dockerSpec = stop(getopt.Parse("H=d c=d l=d --host=d --context=d --config=g --log-level=d --tlscacert=r --tlscert=r --tlskey=r"))
	dockerSub  = getopt.Parse("f=r t=d v=s p=d e=d w=d u=d o=w i=r n=d l=d a=d c=d m=d h=d --file=r --tag=d --volume=s --mount=s --publish=d --env=d --workdir=d --user=d --output=s --input=r --name=d " +
		"--label=d --build-arg=d --platform=d --target=d --secret=s --ssh=s --env-file=r --filter=d --format=d --network=d --entrypoint=d --iidfile=w --cidfile=w --project-name=d --profile=d --project-directory=g --since=d --until=d --tail=d --cache-from=d --cache-to=d --scale=d --password=d --username=d")
	npmSpec = getopt.Parse("C=g w=d c=c --global= --prefix=w --cwd=g --dir=g --workspace=d --filter=d --location=d --registry=d --tag=d --otp=d --loglevel=d --userconfig=r --globalconfig=r --cache=w --script-shell=c --call=c --omit=d --include=d --package=d --access=d")
)

func stop(s getopt.Spec) getopt.Spec { s.Stop = true; return s }
func bare(s getopt.Spec) getopt.Spec { s.Bare = true; return s }

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

// tar reads or writes an archive, depending on its mode.
func tar(_ string, args []shell.Field) []Use {
	texts := shell.Texts(args)
	parsed := tarSpec.Parse(texts)
	creates := parsed.Has("-c", "-r", "-u", "-A", "--create", "--append", "--update")
	var uses []Use
	dir := ""
	for _, opt := range parsed.Options {
		if !opt.Has {
			if opt.Roles == "" && opt.Is("--absolute-names") {
				uses = append(uses, Use{Kind: Data, Text: opt.Name})
			}
			continue
		}
		if opt.Is("--checkpoint-action") {
			if code, ok := strings.CutPrefix(opt.Value, "exec="); ok {
				uses = append(uses, Use{Kind: Code, Lang: "sh", Text: code})
			}
			continue
		}
		switch kind := Kind(first(opt.Roles)); {
		case kind == Enter:
			dir = opt.Value
			uses = append(uses, Use{Kind: Enter, Text: opt.Value})
			if !creates {
				uses = append(uses, Use{Kind: Write, Text: opt.Value})
			}
		case kind == Write && !creates && (opt.Name == "-f" || opt.Is("--file")):
			uses = append(uses, Use{Kind: Read, Text: opt.Value})
		case kind == Code:
			uses = append(uses, Use{Kind: Code, Lang: "sh", Text: opt.Value})
		case kind == 0:
			uses = append(uses, Use{Kind: Shape, Text: opt.Value})
		default:
			uses = append(uses, Use{Kind: kind, Text: opt.Value})
		}
	}
	for _, i := range parsed.Operands {
		if !creates {
			continue // names of members
		}
		text := args[i].Text
		if dir != "" && !strings.HasPrefix(text, "/") {
			text = strings.TrimSuffix(dir, "/") + "/" + text
		}
		uses = append(uses, Use{Kind: Read, Text: text, Glob: args[i].Glob})
	}
	return uses
}

func first(s string) byte {
	if s == "" {
		return 0
	}
	return s[0]
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

// docker has options of its own before the verb, and others behind it.
func docker(_ string, args []shell.Field) []Use {
	parsed := dockerSpec.Parse(shell.Texts(args))
	var uses []Use
	for _, opt := range parsed.Options {
		if opt.Has && opt.Roles != "" {
			uses = append(uses, Use{Kind: Kind(opt.Roles[0]), Text: opt.Value})
		}
	}
	if len(parsed.Operands) == 0 {
		return uses
	}
	rest := args[parsed.Operands[0]:]
	verb := rest[0].Text
	sub := dockerSub.Parse(shell.Texts(rest[1:]))
	for _, opt := range sub.Options {
		if opt.Has && opt.Roles != "" {
			uses = append(uses, Use{Kind: Kind(opt.Roles[0]), Text: opt.Value})
		}
	}
	for _, i := range sub.Operands {
		arg := rest[1+i]
		switch {
		case verb == "cp" && hostPath(arg.Text):
		case verb == "build" || verb == "cp" || verb == "import" || verb == "buildx" || verb == "image" || verb == "container":
			uses = append(uses, Use{Kind: Shape, Text: arg.Text, Glob: arg.Glob})
		}
	}
	return uses
}

// makeVars finds the variables that hold code; the rest is as the table says.
func makeVars(name string, args []shell.Field) []Use {
	uses := table[name].uses(args)
	if file, ok := Options(name, shell.Texts(args)).Value("-f", "--file", "--makefile"); ok && (file == "-" || file == "/dev/stdin") {
		uses = append(uses, Use{Kind: Input, Lang: "make"})
	}
	for _, arg := range args {
		variable, value, ok := strings.Cut(arg.Text, "=")
		variable = strings.TrimRight(variable, ":+?!")
		if ok && (variable == "SHELL" || variable == "CC" || variable == "CXX" || variable == "MAKE" || variable == "AR") {
			uses = append(uses, Use{Kind: Code, Lang: "sh", Text: value})
		} else if ok && strings.Contains(value, "$(shell ") {
			uses = append(uses, Use{Kind: Code, Lang: "make", Text: value})
		}
	}
	return uses
}

// npm may start a command behind exec, x or dlx.
func npm(name string, args []shell.Field) []Use {
	parsed := npmSpec.Parse(shell.Texts(args))
	var uses []Use
	for _, opt := range parsed.Options {
		switch {
		case opt.Has && opt.Roles != "":
			use := Use{Kind: Kind(opt.Roles[0]), Text: opt.Value}
			if use.Kind == Code {
				use.Lang = "sh"
			}
			uses = append(uses, use)
		case name == "bun" && (opt.Name == "-e" || opt.Name == "--eval" || opt.Name == "-p" || opt.Name == "--print") && opt.Arg+1 < len(args):
			uses = append(uses, Use{Kind: Code, Lang: "node", Text: args[opt.Arg+1].Text})
		case opt.Has && !dataOptions[opt.Name]:
			uses = append(uses, Use{Kind: Shape, Text: opt.Value})
		}
	}
	for n, i := range parsed.Operands {
		text := args[i].Text
		if n == 0 && (text == "exec" || text == "x" || text == "dlx") && len(parsed.Operands) > 1 {
			return append(uses, Use{Kind: Command, Argv: args[parsed.Operands[1]:]})
		}
		if n > 0 && i > 0 && args[i-1].Text == "--" {
			return append(uses, unknown(args[i:])...) // what a script of the package gets
		}
		if n > 0 && !Remote(text) {
			uses = append(uses, Use{Kind: Shape, Text: text, Glob: args[i].Glob})
		}
	}
	return uses
}

// runner is a tool that starts a command behind the verb run or exec.
func runner(name string, args []shell.Field) []Use {
	for i, arg := range args {
		if arg.Text == "run" || arg.Text == "exec" {
			rest := args[i+1:]
			for len(rest) > 0 && strings.HasPrefix(rest[0].Text, "-") {
				value := !strings.Contains(rest[0].Text, "=") && (rest[0].Text == "-n" || rest[0].Text == "--with" || rest[0].Text == "--python" || rest[0].Text == "-p")
				if rest = rest[1:]; value && len(rest) > 0 {
					rest = rest[1:]
				}
			}
			uses := unknown(args[:i])
			if len(rest) > 0 {
				uses = append(uses, Use{Kind: Command, Argv: rest})
			}
			return uses
		}
		if !strings.HasPrefix(arg.Text, "-") {
			break
		}
	}
	if p := table[name]; p != nil && p.style != "stop" {
		return p.uses(args)
	}
	return unknown(args)
}
