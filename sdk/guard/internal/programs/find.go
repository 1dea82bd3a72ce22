package programs

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// findValueTests are tests and actions of find whose value is not a file.
var findValueTests = wordSet(`-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -printf -type
	-xtype -size -perm -user -group -uid -gid -mtime -atime -ctime -mmin -amin -cmin -maxdepth -mindepth -links -inum
	-fstype -used -regextype -context`)

// findFileTests are tests of find with a value that is a file.
var findFileTests = wordSet("-anewer -cnewer -samefile -files0-from")

// unknownDirs is the use of directories that find searches although no argument names them: symlink targets and entries
// of a file list.
var unknownDirs = ArgumentUse{Kind: List, Text: shell.Unknown}

// usesOfFind returns the uses of find's arguments: starting points, then an expression.
func usesOfFind(c programCall) []ArgumentUse {
	var uses []ArgumentUse
	i := 0
	for ; i < len(c.args); i++ {
		text := c.args[i].Text
		if text == "-L" {
			uses = append(uses, unknownDirs)
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
		uses = append(uses, wholeArgumentUse(List, c.args[i]))
	}
	for ; i < len(c.args); i++ {
		test, kind := c.args[i].Text, Data
		switch {
		case test == "-exec" || test == "-execdir" || test == "-ok" || test == "-okdir":
			var argv []shell.Argument
			argv, i = findActionCommand(c.args, i+1)
			uses = append(uses, ArgumentUse{Kind: Command, Argv: replaceItemPlaceholders(argv, "{}")})
			continue
		case test == "-follow":
			uses = append(uses, unknownDirs)
			continue
		case test == "-files0-from":
			uses = append(uses, unknownDirs)
			kind = Read
		case test == "-fprint" || test == "-fprint0" || test == "-fls" || test == "-fprintf":
			kind = Write
		case strings.HasPrefix(test, "-newer"), findFileTests[test]:
			kind = Read
		case !findValueTests[test]:
			continue
		}
		if i++; i < len(c.args) {
			uses = append(uses, wholeArgumentUse(kind, c.args[i]))
		}
		if test == "-fprintf" {
			i++
		}
	}
	return uses
}

// findActionCommand returns the command of a find action such as -exec, and the index of the argument that ends it.
func findActionCommand(args []shell.Argument, from int) ([]shell.Argument, int) {
	end := from
	for end < len(args) && args[end].Text != ";" && (args[end].Text != "+" || args[end-1].Text != "{}") {
		end++
	}
	return args[min(from, len(args)):min(end, len(args))], end
}
