package programs

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// find takes starting points, then an expression.
func find(_ string, args []shell.Field) []Use {
	var uses []Use
	i := 0
	for ; i < len(args); i++ {
		text := args[i].Text
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
		uses = append(uses, Use{Kind: List, Text: text, Glob: args[i].Glob})
	}
	for ; i < len(args); i++ {
		switch test := args[i].Text; test {
		case "-exec", "-execdir", "-ok", "-okdir":
			end := i + 1
			for end < len(args) && args[end].Text != ";" && (args[end].Text != "+" || args[end-1].Text != "{}") {
				end++
			}
			uses = append(uses, Use{Kind: Command, Argv: placeholders(args[i+1:min(end, len(args))], "{}")})
			i = end
		case "-fprint", "-fprint0", "-fls":
			uses, i = next(uses, Write, args, i)
		case "-fprintf":
			uses, i = next(uses, Write, args, i)
			i++
		case "-newer", "-anewer", "-cnewer", "-samefile", "-files0-from":
			uses, i = next(uses, Read, args, i)
		case "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-lname", "-ilname", "-printf",
			"-type", "-xtype", "-size", "-perm", "-user", "-group", "-uid", "-gid", "-mtime", "-atime", "-ctime", "-mmin", "-amin", "-cmin",
			"-maxdepth", "-mindepth", "-links", "-inum", "-fstype", "-used", "-regextype", "-context":
			i++
		default:
			if strings.HasPrefix(test, "-newer") {
				uses, i = next(uses, Read, args, i)
			}
		}
	}
	return uses
}

// fd is find with other words.
func fd(_ string, args []shell.Field) []Use {
	var uses []Use
	operands := 0
	for i := 0; i < len(args); i++ {
		switch text := args[i].Text; {
		case text == "-x" || text == "-X" || text == "--exec" || text == "--exec-batch":
			return append(uses, Use{Kind: Command, Argv: placeholders(args[i+1:], "{}")})
		case text == "-e" || text == "-t" || text == "-d" || text == "-E" || text == "-g" || text == "-S" || text == "-j":
			i++
		case text == "--base-directory" || text == "-C" || text == "--search-path":
			uses, i = next(uses, List, args, i)
		case strings.HasPrefix(text, "-"):
		default:
			if operands++; operands > 1 {
				uses = append(uses, Use{Kind: List, Text: text, Glob: args[i].Glob})
			}
		}
	}
	return uses
}
