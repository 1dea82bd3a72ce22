package programs

// textPrograms print, compare and change text.
var textPrograms = []program{
	{names: "test [", args: "s*", opts: "", style: "stop"},
	{names: "expr", args: "d*", style: "stop"},
	{names: "grep egrep fgrep zgrep zegrep zfgrep bzgrep xzgrep", unless: "-e -f --regexp --file", args: "d r*",
		opts: "e=d f=r m=d A=d B=d C=d D=d d=d --regexp=d --file=r --include=d --exclude=d --exclude-from=r --exclude-dir=d " +
			"--max-count=d --after-context=d --before-context=d --context=d --label=d --devices=d --directories=d --binary-files=d"},
	{names: "rg ripgrep", unless: "-e -f --regexp --file --files --type-list", args: "d r*",
		opts: "e=d f=r g=d t=d T=d m=d A=d B=d C=d M=d E=d r=d j=d d=d --regexp=d --file=r --glob=d --iglob=d --type=d --type-not=d " +
			"--max-count=d --after-context=d --before-context=d --context=d --max-columns=d --encoding=d --replace=d --threads=d " +
			"--max-depth=d --sort=d --sortr=d --color=d --colors=d --ignore-file=r --pre=c --pre-glob=d --max-filesize=d --type-add=d " +
			"--path-separator=d --context-separator=d --field-match-separator=d --hostname-bin=c --engine=d"},
	{names: "ag ack", unless: "-g", args: "d r*", opts: "G=d g=d A=d B=d C=d m=d p=r --ignore=d --ignore-dir=d --pager=c --type=d --output=d"},
	{names: "sed gsed", unless: "-e -f --expression --file", args: "c r*", lang: "sed",
		opts: "e=c f=r l=d --expression=c --file=r --line-length=d"},
	{names: "jq gojq yq jaq", unless: "-f --from-file", args: "d r*",
		opts: "f=r L=g --arg=dd --argjson=dd --slurpfile=dr --rawfile=dr --argfile=dr --from-file=r --indent=d --library-path=g"},
	{names: "sort gsort", args: "r*", opts: "o=w k=d t=d S=d T=w --output=w --key=d --field-separator=d --buffer-size=d " +
		"--temporary-directory=w --compress-program=c --files0-from=r --batch-size=d --parallel=d --sort=d --random-source=r"},
	{names: "cut", args: "r*", opts: "d=d f=d c=d b=d --delimiter=d --fields=d --characters=d --bytes=d --output-delimiter=d"},
	{names: "tr", args: "d*"},
	{names: "head tail ghead gtail", args: "r*", opts: "n=d c=d s=d --lines=d --bytes=d --pid=d --sleep-interval=d --max-unchanged-stats=d"},
	{names: "wc", args: "r*", opts: "--files0-from=r --total=d"},
	{names: "cat tac rev md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum b3sum cksum sum crc32 zcat gzcat bzcat xzcat zstdcat lz4cat " +
		"look more most tsort ul colrm dos2unix readlink pygmentize glow", args: "r*", opts: "a=d l= --algorithm=d --length=d --style=d --format=d"},
	{names: "od", args: "r*", opts: "A=d j=d N=d S=d t=d w= --address-radix=d --skip-bytes=d --read-bytes=d --format=d"},
	{names: "hexdump hd", args: "r*", opts: "e=d f=r n=d s=d --format=d --format-file=r --length=d --skip=d"},
	{names: "nl", args: "r*", opts: "b=d d=d f=d h=d i=d l=d n=d s=d v=d w=d"},
	{names: "pr", args: "r*", opts: "D=d h=d l=d N=d o=d w=d W=d"},
	{names: "fold fmt expand unexpand", args: "r*", opts: "w=d t=d p=d g=d --width=d --tabs=d"},
	{names: "strings", args: "r*", opts: "n=d t=d e=d s=d T=d --bytes=d --radix=d --encoding=d"},
	{names: "file", args: "r*", opts: "m=r f=r F=d P=d e=d --magic-file=r --files-from=r --separator=d"},
	{names: "stat", args: "r*", opts: "c=d t= --format=d --printf=d"},
	{names: "iconv", args: "r*", opts: "f=d t=d o=w --from-code=d --to-code=d --output=w"},
	{names: "bat batcat", args: "r*", opts: "l=d r=d H=d n= --language=d --line-range=d --style=d --theme=d --paging=d --pager=c --highlight-line=d --file-name=d --tabs=d --wrap=d"},
	{names: "mlr csvlook csvcut csvgrep csvstat xsv qsv csvtool", args: "s*", opts: "c=d r=d d=d f=d o=w m=d"},
	{names: "base64 basenc", args: "r*", opts: "w=d --wrap=d"},
	{names: "uniq", args: "r w", opts: "f=d s=d w=d --skip-fields=d --skip-chars=d --check-chars=d"},
	{names: "column", args: "r*", opts: "s=d o=d t= c=d N=d R=d E=d H=d O=d T=d W=d n=d J= --separator=d --output-separator=d --table-columns=d " +
		"--table-right=d --table-hide=d --table-order=d --table-name=d --output-width=d"},
	{names: "comm join paste", args: "r*", opts: "d=d t=d 1=d 2=d j=d o=d e=d a=d v=d --delimiters=d --output-delimiter=d"},
	{names: "diff colordiff sdiff diff3 cmp", args: "r*",
		opts: "U=d C=d W=d x=d X=r I=d F=d L=d o=w n=d i=d D=d --label=d --unified=d --context=d --exclude=d --exclude-from=r --ignore-matching-lines=d " +
			"--show-function-line=d --from-file=r --to-file=r --output=w --color=d --width=d --bytes=d --ignore-initial=d --ifdef=d"},
	{names: "xxd", args: "r w", opts: "c=d g=d l=d s=d o=d n=d R=d --cols=d --len=d --seek=d"},
	{names: "csplit", args: "r d*", opts: "f=w n=d b=d --prefix=w --digits=d --suffix-format=d"},
	{names: "xmllint xmlstarlet", args: "s*", opts: "--xpath=d --output=w --schema=r --dtdvalid=r --encode=d --pattern=d"},
	{names: "split", args: "r w*", opts: "b=d l=d n=d C=d a=d t=d f=w --bytes=d --lines=d --number=d --additional-suffix=d --filter=c --prefix=w"},
	{names: "shuf", args: "r*", opts: "n=d i=d o=w e= --head-count=d --input-range=d --output=w --random-source=r"},
	{names: "tee", args: "w*", opts: "--output-error=d"},
	{names: "seq factor numfmt date cal uptime whoami id groups users who w hostname uname arch nproc tty locale " +
		"sleep usleep kill jobs fg bg disown wait ulimit umask times type hash help let ps pgrep pidof free vmstat " +
		"lscpu getconf tput clear reset stty logname yes figlet cowsay bc2 true false : read dirs let shopt bind pip-audit", args: "d*",
		opts: "f=d s=d w=d d=d r=r --format=d --separator=d --date=d --file=r --reference=r"},
	{names: "history fc", args: "s*", opts: "d=d"},
	{names: "basename dirname", args: "d*", opts: "s=d --suffix=d"},
	{names: "bc dc", args: "r*", opts: "e=d f=r --expression=d --file=r"},
	{names: "logger notify-send wall write mesg say espeak", args: "d*", opts: "f=r t=d p=d --file=r"},
	{names: "sqlite3 sqlite duckdb", args: "w c*", lang: "sql", style: "single",
		opts: "-cmd=c -init=r -separator=d -nullvalue=d -newline=d -A=d"},
	{names: "psql", args: "d*", lang: "sql", opts: "c=c f=r h=d p=d U=d d=d o=w L=w v=d F=d R=d P=d T=d " +
		"--command=c --file=r --host=d --port=d --username=d --dbname=d --output=w --log-file=w --set=d --variable=d"},
	{names: "mysql mariadb", args: "d*", lang: "sql", opts: "e=c h=d P=d u=d D=d --execute=c --host=d --user=d --database=d --defaults-file=r --pager=d --tee=w"},
	{names: "redis-cli mongo mongosh", args: "d*", opts: "h=d p=d a=d n=d u=d --eval=d --host=d --port=d"},
	{names: "shellcheck", args: "r*", opts: "s=d e=d i=d f=d S=d P=g --shell=d --exclude=d --format=d --severity=d"},
	{names: "less", args: "r*", opts: "p=d P=d o=w O=w k=r t=d T=r x=d y=d z=d b=d h=d j=d --log-file=w --LOG-FILE=w --pattern=d --prompt=d"},
	{names: "man info apropos whatis tldr", args: "d*", opts: "P=c H=c M=g C=r l=r s=d S=d k= K= --pager=c --html=c --manpath=g --config-file=r --sections=d"},
	{names: "patch", args: "w r", opts: "i=r o=w d=g p=d r=w B=d D=d F=d V=d Y=d z=d --input=r --output=w --directory=g --strip=d --reject-file=w"},
	{names: "gpg gpg2", args: "s*", opts: "o=w r=d u=d --output=w --recipient=d --local-user=d --homedir=g --keyserver=d --passphrase=d --passphrase-file=r"},
}
