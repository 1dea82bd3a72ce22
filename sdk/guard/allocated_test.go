package guard

import (
	"runtime"
	"strings"
	"testing"
)

// Whatever grows with the square of a command's length, or doubles, shows in the memory that is taken for it.
func TestWhatIsTakenForACommand(t *testing.T) {
	const most = 64 << 20
	g := mustNew(t, everything())
	for name, line := range map[string]string{
		"readonly variables on many ways": repeated("", "readonly v=rm; a&&") + "ls",
		"integers on many ways":           repeated("", "declare -i v=1; a&&") + "ls",
		"many copies of what is read":     repeated("head -c 16 x | xxd -p", "sed - "),
		"many moves":                      repeated("echo a > t; mv a", " t"),
		"many moves of what is written":   repeated("touch ./-a; mv ", "-- ./-a "),
		"many outputs of a compiler":      repeated("echo a | sort -u", " -o/ gcc"),
		"many redirections":               repeated("ls", " 3> out"),
		"many redirections of others":     "ls" + strings.Repeat(" 3>a 4>b 5>c 6>d 7>e 8>f", 500),
		"a long pipeline":                 repeated("ls", "|sqlite"),
		"a long pipeline of nine":         repeated("ls", "|a|b|c|d|e|f|g|h|i"),
		"names that lead to each other":   repeated("declare -n a=b; declare -n b=a; ", "$a x;"),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		g.Command(Command{Text: line})
		runtime.ReadMemStats(&after)
		if taken := after.TotalAlloc - before.TotalAlloc; taken > most {
			t.Errorf("%s: %d MiB are taken for %.60q", name, taken>>20, line)
		}
	}
}

// repeated is a command of the largest size.
func repeated(begin, part string) string {
	return begin + strings.Repeat(part, (MaxCommand-len(begin)-len("ls"))/len(part))
}
