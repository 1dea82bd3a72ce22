package lang

import (
	"path"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

// startedIn is a part of the code, the arguments of a call that starts a command, and the directory that the command starts in.
type startedIn struct {
	from, to int
	dir      string
}

// inDir is the argument that says where a command starts.
var inDir = pattern.New(`\b(?:cwd|chdir)\s*[=:]>?\s*"(\d+)"\s*([,)}])`)

// startsIn is the directory that a call starts a command in, by its arguments at a place of the code; "" if they don't tell. It must be a
// plain one below.
func (s *skeleton) startsIn(at int, args string) string {
	found := inDir.FindAllStringSubmatch(args)
	if len(found) != 1 || strings.Count(args, "cwd")+strings.Count(args, "chdir") != 1 {
		return ""
	}
	dir, ok := s.text(found[0][1])
	if !ok || dir == "" || strings.ContainsAny(dir, "~$`{}#*?[%\\\n'\"") || dir[0] == '-' {
		return ""
	}
	if clean := path.Clean(dir); clean[0] != '/' && clean != ".." && !strings.HasPrefix(clean, "../") {
		s.started = append(s.started, startedIn{at, at + len(args), clean})
	}
	return dir
}

// besideStarted is a path in the code as it is where the code runs, if it is an argument of a command that starts elsewhere.
func (s *skeleton) besideStarted(at int, text string) string {
	for _, started := range s.started {
		if at >= started.from && at < started.to && strings.HasPrefix(text, "../") {
			return path.Join(started.dir, text)
		}
	}
	return text
}

// in is an effect where the command starts in a directory; "" is where the code runs.
func (e Effect) in(dir string) Effect {
	switch {
	case dir == "":
	case e.Kind == Argv:
		e.Argv = append([]string{"env", "-C", dir}, e.Argv...)
	case e.Kind == Shell && !e.Fed:
		e.Text = "cd '" + dir + "' && {\n" + e.Text + "\n}"
	}
	return e
}
