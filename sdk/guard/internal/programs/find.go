package programs

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// findValues are tests and actions of find with a value that names no file.
var findValues = set(`-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -printf -type
	-xtype -size -perm -user -group -uid -gid -mtime -atime -ctime -mmin -amin -cmin -maxdepth -mindepth -links -inum
	-fstype -used -regextype -context`)

// findReads are tests of find that look at another file.
var findReads = set("-anewer -cnewer -samefile -files0-from")

// unnamed are the places that find searches and no word names: where links lead, and what a file lists.
var unnamed = Use{Kind: List, Text: shell.Unknown}

// find takes starting points, then an expression.
func find(c call) []Use {
	var uses []Use
	i := 0
	for ; i < len(c.args); i++ {
		text := c.args[i].Text
		if text == "-L" {
			uses = append(uses, unnamed)
		}
		if text == "-H" || text == "-L" || text == "-P" || strings.HasPrefix(text, "-O") {
			continue
		}
		if text == "-D" {
			i++
			continue
		}
		if strings.HasPrefix(text, "-") || text == "(" || text == "!" {
			break
		}
		uses = append(uses, field(List, c.args[i]))
	}
	for ; i < len(c.args); i++ {
		test, kind := c.args[i].Text, Data
		switch {
		case test == "-exec" || test == "-execdir" || test == "-ok" || test == "-okdir":
			var argv []shell.Field
			argv, i = findCommand(c.args, i+1)
			uses = append(uses, Use{Kind: Command, Argv: placeholders(argv, "{}")})
			continue
		case test == "-follow":
			uses = append(uses, unnamed)
			continue
		case test == "-files0-from":
			uses = append(uses, unnamed)
			kind = Read
		case test == "-fprint" || test == "-fprint0" || test == "-fls" || test == "-fprintf":
			kind = Write
		case strings.HasPrefix(test, "-newer"), findReads[test]:
			kind = Read
		case !findValues[test]:
			continue
		}
		if i++; i < len(c.args) {
			uses = append(uses, field(kind, c.args[i]))
		}
		if test == "-fprintf" {
			i++
		}
	}
	return uses
}

// findCommand is the command of an action of find, and the index of what ends it.
func findCommand(args []shell.Field, from int) ([]shell.Field, int) {
	end := from
	for end < len(args) && args[end].Text != ";" && (args[end].Text != "+" || args[end-1].Text != "{}") {
		end++
	}
	return args[min(from, len(args)):min(end, len(args))], end
}
