package programs

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// databasePrograms talk to databases. Those of sqlite are files of whoever starts it; the others are kept by a server.
var databasePrograms = []program{
	{names: "sqlite3 sqlite duckdb", args: "w c*", lang: "sqlite", style: "single",
		opts: "-cmd=c -c=c -s=c -init=k -separator=d -nullvalue=d -newline=d -A=d"},
	{names: "psql pgcli usql", args: "d*", lang: "sql", opts: "c=c f=k h=d p=d U=d d=d o=w L=w v=c F=d R=d P=d T=d " +
		"--command=c --file=k --host=d --port=d --username=d --dbname=d --output=w --log-file=w --set=c --variable=c"},
	{names: "mysql mariadb mycli", args: "d*", lang: "sql", opts: "e=c h=d P=d u=d D=d --execute=c --host=d --user=d --database=d --defaults-file=r --pager=d --tee=w --init-command=c"},
	{names: "cqlsh clickhouse-client sqlcmd cockroach", args: "d*", lang: "sql", opts: "e=c q=c Q=c f=k i=k u=d p=d k=d d=d S=d U=d P=d h=d --execute=c --query=c --queries-file=k --file=k --host=d --port=d --user=d --password=d --database=d --url=d --keyspace=d"},
	{names: "mysqladmin mariadb-admin", args: "d*", opts: "h=d u=d P=d S=d i=d c=d r= --host=d --user=d --port=d --socket=d --sleep=d --count=d"},
	{names: "dropdb dropuser createdb createuser pg_isready", args: "d*", opts: "h=d p=d U=d E=d O=d T=d D=d l=d c=d t=d d=d --host=d --port=d --username=d --maintenance-db=d --owner=d --template=d --encoding=d --locale=d"},
	{names: "redis-cli valkey-cli keydb-cli", args: "d*", style: "stop", lang: "redis", opts: "h=d p=d a=d n=d u=d s=d r=d i=d t=d D=d X=d --user=d --pass=d --host=d --port=d --pattern=d --count=d --rdb=w --functions-rdb=w --eval=r --cacert=r --cacertdir=l --cert=r --key=r"},
	{names: "mongosh mongo", args: "d*", lang: "mongo", opts: "h=d p=d u=d f=k --eval=c --file=k --host=d --port=d --username=d --password=d --db=d --authenticationDatabase=d --tlsCAFile=r --tlsCertificateKeyFile=r"},
}

// databaseClient also takes its commands from its standard input.
func databaseClient(name string, args []shell.Field) []Use {
	p := table()[name]
	uses := append(p.uses(args, shell.Texts(args)), Use{Kind: Input, Lang: p.lang})
	for _, arg := range args {
		if pager, ok := strings.CutPrefix(arg.Text, "--pager="); ok {
			uses = append(uses, sh(pager))
		}
	}
	return uses
}

// redis is told a command by its operands, or else by its standard input.
func redis(name string, args []shell.Field) []Use {
	texts := shell.Texts(args)
	uses := databaseClient(name, args)
	if at := Options(name, texts).Operands; len(at) > 0 {
		uses[len(uses)-1] = Use{Kind: Code, Lang: "redis", Text: strings.Join(texts[at[0]:], " ")}
	}
	return uses
}

// mongo also runs the files that its operands name.
func mongo(name string, args []shell.Field) []Use {
	uses := databaseClient(name, args)
	for i, use := range uses {
		if use.Kind == Data && strings.HasSuffix(use.Text, ".js") {
			uses[i].Kind, uses[i].Lang = Script, "mongo"
		}
	}
	return uses
}

// calculator takes its program from its standard input, unless it is told of one.
func calculator(name string, args []shell.Field) []Use {
	uses := table()[name].uses(args, shell.Texts(args))
	for _, use := range uses {
		if use.Kind == Code || use.Kind == Script {
			return uses
		}
	}
	return append(uses, Use{Kind: Input, Lang: table()[name].lang})
}
