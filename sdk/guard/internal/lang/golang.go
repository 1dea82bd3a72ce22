package lang

import (
	"slices"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

var (
	// removesAll deletes a directory in Go; temporaryGo is what such a directory is made by, when its name is put in.
	removesAll  = pattern.New(`\bos\s*\.\s*RemoveAll\s*\(\s*(?:"(\d+)"|filepath\.Join\(\s*([A-Za-z_]\w*|"\d+")[^()]*\)|([A-Za-z_]\w*))`)
	temporaryGo = pattern.New(`([A-Za-z_]\w*)\s*(?:,\s*\w+\s*)?:?=\s*(?:os\.MkdirTemp|ioutil\.TempDir|\w+\.TempDir)\s*\(`)
	// becomesGo is where a program of Go's becomes another one.
	becomesGo = pattern.New(`\b(?:syscall|unix)\s*\.\s*(?:Exec|ForkExec|StartProcess)\s*\(|\bos\s*\.\s*StartProcess\s*\(`)
	// inTurn are a list's first element and all further ones, and listGo is such a list.
	inTurn = pattern.New(`\bexec\.Command\s*\(\s*([A-Za-z_]\w*)\[0\]\s*,\s*([A-Za-z_]\w*)\[1:\]\s*\.\.\.`)
	listGo = pattern.New(`([A-Za-z_]\w*)\s*:?=\s*\[\]string\s*\{([^{}]*)\}`)
)

// golang finds what Go does that isn't a call of a command with its words: directories that are deleted, programs that it becomes, commands
// that a list holds. What isn't known in it is left to the walls behind, as for all that is compiled.
func (s *skeleton) golang(out *[]Effect) {
	for _, m := range removesAll.FindAllStringSubmatch(s.worth(removesAll)) {
		name := m[2] + m[3]
		if identifier.MatchString(name) && slices.ContainsFunc(temporaryGo.FindAllStringSubmatch(s.code), func(t []string) bool { return t[1] == name }) {
			continue
		}
		path, _ := s.text(m[1])
		*out = append(*out, Effect{Kind: Argv, Argv: []string{"rm", "-rf", path}})
	}
	for _, m := range becomesGo.FindAllStringIndex(s.worth(becomesGo)) {
		var argv []string
		for _, l := range s.referenced(s.region(m[1] - 1)) {
			argv = append(argv, l.text)
		}
		if len(argv) > 1 {
			*out = append(*out, Effect{Kind: Argv, Argv: argv[1:]})
		}
	}
	for _, m := range inTurn.FindAllStringSubmatch(s.worth(inTurn)) {
		for _, l := range listGo.FindAllStringSubmatch(s.code) {
			var argv []string
			for _, word := range s.referenced(l[2]) {
				argv = append(argv, word.text)
			}
			if m[1] == m[2] && l[1] == m[1] && len(argv) > 0 {
				*out = append(*out, Effect{Kind: Argv, Argv: argv})
			}
		}
	}
}
