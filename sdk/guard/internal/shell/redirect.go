package shell

import (
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
}

// redirects opens the redirections of a statement.
func (in *Interpreter) redirects(list []*syntax.Redirect, st *state, stdin Stream, place *Place) redirections {
	r := redirections{stdin: stdin}
	if len(list) == 0 {
		return r
	}
	x := in.expansion(st, place)
	for _, redir := range list {
		fd := ""
		if redir.N != nil {
			fd = redir.N.Value
		}
		switch redir.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			r.feed(fd, known(x.document(redir.Hdoc, redir.Op == syntax.DashHdoc, plainDelimiter(redir.Word))), st)
			continue
		case syntax.WordHdoc:
			r.feed(fd, known(x.one(redir.Word)+"\n"), st)
			continue
		}
		in.redirect(&r, redir, fd, x)
	}
	return r
}

// plainDelimiter reports whether the delimiter of a here-document is quoted, so that nothing in it is expanded.
func plainDelimiter(word *syntax.Word) bool {
	return slices.ContainsFunc(word.Parts, func(part syntax.WordPart) bool {
		lit, ok := part.(*syntax.Lit)
		return !ok || strings.Contains(lit.Value, `\`)
	})
}

// feed opens a descriptor for reading a text.
func (r *redirections) feed(fd string, content Stream, st *state) {
	if fd == "" || fd == "0" {
		r.stdin = content
		return
	}
	st.write("/dev/fd/"+fd, content)
}

// known is the stream of a text that may have unknown parts.
func known(s string) Stream {
	if HasUnknown(s) || len(s) > MaxText {
		return Stream{Piped: true, From: []string{"an expansion"}}
	}
	return text(s)
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
			switch {
			case redir.Op == syntax.DplOut && (fd == "" || fd == "1"):
				r.moved = r.moved || number == "2"
			case redir.Op == syntax.DplIn && (fd == "" || fd == "0"):
				r.stdin = Stream{File: "/dev/fd/" + number}
				if content, ok := x.state.files["/dev/fd/"+number]; ok {
					r.stdin = content
				}
			}
			return
		}
	}
	if strings.HasPrefix(target.Text, "/dev/tcp/") || strings.HasPrefix(target.Text, "/dev/udp/") {
		in.problem(x.place, Network, "bash opens a network connection for "+target.Text)
	}
	if redir.Op == syntax.RdrIn || redir.Op == syntax.DplIn {
		in.visitor.Open(x.place, ForReading, target)
		if written, ok := x.state.files[x.state.abs(target.Text)]; ok && fd != "" && fd != "0" {
			x.state.write("/dev/fd/"+fd, written)
		}
		if fd == "" || fd == "0" {
			if r.stdin = (Stream{File: target.Text}); !HasUnknown(target.Text) {
				if written, ok := x.state.files[x.state.abs(target.Text)]; ok {
					r.stdin = written
				}
			}
		}
		return
	}
	in.visitor.Open(x.place, ForWriting, target)
	if redir.Op == syntax.RdrInOut {
		in.visitor.Open(x.place, ForReading, target)
		return
	}
	both := redir.Op == syntax.RdrAll || redir.Op == syntax.AppAll || redir.Op == syntax.DplOut && fd == ""
	if both || fd == "" || fd == "1" {
		r.into, r.moved = target.Text, true
		r.append = redir.Op == syntax.AppOut || redir.Op == syntax.AppAll
	}
}

// output sends what was printed where the redirections want it, and returns what is left for the next command.
func (r *redirections) output(st *state, out Stream) Stream {
	if !r.moved {
		return out
	}
	if r.into != "" {
		content := out
		if before, ok := st.files[st.abs(r.into)]; ok && r.append {
			content = before.then(out)
		}
		st.write(r.into, content)
	}
	return text("")
}
