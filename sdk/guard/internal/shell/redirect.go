package shell

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// redirections are what the redirections of a statement do.
type redirections struct {
	stdin  Stream
	into   string // the file that standard output goes to
	append bool
	moved  bool // standard output goes elsewhere
	back   bool // it goes to where it went before exec sent it elsewhere
	kept   bool // another descriptor goes to where standard output went before it was moved
	fed    bool // standard input was opened
	opens  []descriptor
}

// redirects opens the redirections of a statement.
func (in *Interpreter) redirects(r *redirections, list []*syntax.Redirect, st *state, place *Place) {
	if len(list) == 0 {
		return
	}
	x := in.expansion(st, place)
	defer in.expansions.put(x)
	for _, redir := range list {
		fd := ""
		if redir.N != nil {
			fd = x.number(redir.N.Value)
		}
		switch redir.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			r.feed(fd, known(x.document(redir)))
			continue
		case syntax.WordHdoc:
			r.feed(fd, known(x.one(redir.Word)+"\n"))
			continue
		}
		in.redirect(r, redir, fd, x)
	}
}

// feed opens a descriptor for reading a text.
func (r *redirections) feed(fd string, content Stream) {
	if fd == "" || fd == "0" {
		r.stdin, r.fed = content, true
		return
	}
	r.open(fd, content)
}

// redirect opens one file, or duplicates a descriptor.
func (in *Interpreter) redirect(r *redirections, redir *syntax.Redirect, fd string, x *expansion) {
	fields := x.fields([]*syntax.Word{redir.Word})
	if len(fields) == 0 {
		fields = []Field{{Text: Unset}}
	}
	target := fields[0]
	if redir.Op == syntax.DplIn || redir.Op == syntax.DplOut {
		number := strings.TrimSuffix(target.Text, "-")
		if strings.Trim(number, "0123456789") == "" || target.Text == Unknown {
			reads := redir.Op == syntax.DplIn
			r.fed = r.fed || fd == "0" || fd == "" && reads
			if target.Text == Unknown && reads && (fd == "" || fd == "0") {
				r.stdin = Stream{Piped: true, From: From("a descriptor")} // as that of a coprocess
			}
			if number != "" && target.Text != Unknown {
				r.duplicate(in, x.state, fd, number, reads)
			}
			return
		}
	}
	if strings.HasPrefix(target.Text, "/dev/tcp/") || strings.HasPrefix(target.Text, "/dev/udp/") {
		if toItself(target.Text) {
			r.connect(redir, fd)
			return
		}
		in.problem(x.place, Network, "bash opens a network connection for "+target.Text)
	}
	if redir.Op == syntax.RdrIn || redir.Op == syntax.DplIn {
		in.visitor.Open(x.place, ForReading, target)
		if x.state.isInput(target.Text) {
			r.feed(fd, r.stdin) // what it is already
			return
		}
		if fd != "" && fd != "0" {
			r.open(fd, Stream{File: x.state.abs(target.Text)})
			return
		}
		r.fed = true
		if r.stdin = (Stream{File: target.Text}); !HasUnknown(target.Text) {
			if written, ok := r.reads(x.state, target.Text); ok {
				r.stdin = written
			}
		}
		return
	}
	in.visitor.Open(x.place, ForWriting, target)
	if redir.Op == syntax.RdrInOut {
		in.visitor.Open(x.place, ForReading, target)
		x.state.overwritten(target.Text)
		if x.state.isInput(target.Text) {
			r.feed(fd, r.stdin)
			return
		}
		r.open(fd, Stream{File: x.state.abs(target.Text)})
		if r.fed = r.fed || fd == "" || fd == "0"; fd == "" || fd == "0" {
			r.stdin = x.state.content(Stream{File: x.state.abs(target.Text)})
		}
		return
	}
	if in.passes(target.Text) {
		return
	}
	if target.Text == "/dev/stderr" && fd != "2" {
		if _, ok := r.opened(x.state, "2"); ok {
			r.duplicate(in, x.state, fd, "2", false)
			return
		}
	}
	both := redir.Op == syntax.RdrAll || redir.Op == syntax.AppAll || redir.Op == syntax.DplOut && fd == ""
	if both || fd == "" || fd == "1" {
		r.into, r.moved = target.Text, true
		r.append = redir.Op == syntax.AppOut || redir.Op == syntax.AppAll
	}
	if (both || fd != "" && fd != "1") && !safe[target.Text] {
		if both {
			fd = "2"
		}
		if redir.Op != syntax.AppOut && fd != "2" {
			x.state.write(target.Text, text(""))
		} else if fd == "2" && !both {
			x.state.mayWrite(x.state.abs(target.Text), Stream{Piped: true, From: From("what is told of errors")})
		}
		r.open(fd, Stream{File: x.state.abs(target.Text)})
	}
}

// mayNotOpen says whether one of the redirections may fail, as what it reads from isn't there, or what it writes to is a directory or in
// none: then the statement does nothing.
func (in *Interpreter) mayNotOpen(list []*syntax.Redirect, st *state, place *Place) bool {
	x := in.expansion(st, place)
	defer in.expansions.put(x)
	for i, r := range list {
		if r.Word == nil || r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc || r.Op == syntax.WordHdoc {
			continue
		}
		from, _, known := x.simple(r.Word)
		if r.Op != syntax.RdrIn && r.Op != syntax.DplIn && r.Op != syntax.DplOut {
			if !known || HasUnknown(from) || !strings.HasPrefix(from, "/dev/") && in.mayNotWrite(st.abs(from), place) {
				return true
			}
			continue
		}
		if number := strings.TrimSuffix(from, "-"); r.Op != syntax.RdrIn {
			_, open := st.files.get(in, "/dev/fd/"+number)
			opens := func(before *syntax.Redirect) bool { return before.N != nil && before.N.Value == number }
			if known && strings.Trim(number, "0123456789") == "" && (len(number) > 1 || number > "2") && !open && !slices.ContainsFunc(list[:i], opens) {
				return true
			}
			continue
		}
		if _, written := st.files.get(in, st.abs(from)); !known || !written && !strings.HasPrefix(from, "/dev/") {
			return true
		}
	}
	return false
}

// mayNotWrite says whether a file is known to be a directory, or to be in none that this text may make.
func (in *Interpreter) mayNotWrite(file string, place *Place) bool {
	dir := filepath.Dir(file)
	return in.visitor.Directory(file) || in.visitor.Missing(dir+"/.") && !in.mentioned(place.Span, dir)
}

// safe are files that keep nothing of what goes there.
var safe = map[string]bool{"/dev/null": true, "/dev/tty": true}

// reads is what a file has that a redirection opens, as far as the text has written it.
func (r *redirections) reads(st *state, file string) (Stream, bool) {
	if number, ok := strings.CutPrefix(file, "/dev/fd/"); ok {
		there, ok := r.opened(st, number)
		return st.content(there), ok
	}
	return st.files.get(st.in, st.abs(file))
}

// passes says whether what goes to a file goes on to whoever reads what the command prints: it is a descriptor of the command's.
func (in *Interpreter) passes(file string) bool {
	switch file = path.Clean(file); file {
	case "/dev/stdout":
		return true
	case "/dev/stderr", "/dev/fd/2", "/proc/self/fd/2":
		return in.merged
	}
	return strings.HasPrefix(file, "/dev/fd/") || strings.HasPrefix(file, "/proc/self/fd/")
}

// merges says whether a text may send what it prints as errors to where its output goes. What goes there is then taken for output:
// the two are not told apart further.
func merges(source string) bool {
	for _, sign := range []string{"|&", "2>&", "2>>&", "2>/dev/std", "2>/dev/fd", "2> /dev/std", "2> /dev/fd", "/proc/self/fd"} {
		if strings.Contains(source, sign) {
			return true
		}
	}
	return false
}

// output sends what was printed where the redirections want it, and returns what is left for the next command.
func (r *redirections) output(states []*state, out Stream) Stream {
	r.failed(states, out)
	if !r.moved {
		return out
	}
	for _, st := range states {
		if r.into == "" {
			continue
		}
		content := out
		if before, ok := st.files.get(st.in, st.abs(r.into)); ok && r.append {
			content = before.then(out)
		}
		st.write(r.into, content)
	}
	if r.kept && out.Text != "" {
		return Stream{Piped: true, Text: out.Text, From: out.From.And(From("another descriptor"))}
	}
	return text("")
}

// failed sends what code printed to the file of its errors, too: the two are not told apart.
func (r *redirections) failed(states []*state, out Stream) {
	if out.Known || out.Text == "" {
		return
	}
	for _, st := range states {
		if there, ok := r.opened(st, "2"); ok && there.File != "" {
			st.mayWrite(there.File, out)
		}
	}
}

// connect makes a connection a descriptor: what comes from there isn't known, and what goes there nobody here reads.
func (r *redirections) connect(redir *syntax.Redirect, fd string) {
	from := Stream{Piped: true, From: From("a connection")}
	switch {
	case fd == "0", fd == "" && (redir.Op == syntax.RdrIn || redir.Op == syntax.RdrInOut):
		r.feed(fd, from)
	case fd == "", fd == "1":
		r.into, r.moved = "", true
	default:
		r.open(fd, from)
	}
}

// toItself says whether a connection of bash's is one to the machine itself.
func toItself(path string) bool {
	host, _, _ := strings.Cut(path[len("/dev/tcp/"):], "/")
	return host == "localhost" || host == "127.0.0.1" || host == "::1"
}
