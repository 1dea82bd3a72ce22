package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// redirectState is the result of a statement's redirections.
type redirectState struct {
	stdin           Stream
	stdoutFile      string // the file that standard output goes to
	appends         bool
	redirectsStdout bool // standard output is redirected
}

// applyRedirects applies the redirections of a statement.
func (in *Interpreter) applyRedirects(list []*syntax.Redirect, st *state, stdin Stream, place *Place) redirectState {
	r := redirectState{stdin: stdin}
	if len(list) == 0 {
		return r
	}
	x := in.newExpansion(st, place)
	for _, redir := range list {
		fd := ""
		if redir.N != nil {
			fd = redir.N.Value
		}
		switch redir.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			r.feedText(fd, streamOf(x.expandDocument(redir.Hdoc, redir.Op == syntax.DashHdoc, isQuotedDelimiter(redir.Word))), st)
			continue
		case syntax.WordHdoc:
			r.feedText(fd, streamOf(x.expandWord(redir.Word)+"\n"), st)
			continue
		}
		in.applyRedirect(&r, redir, fd, x)
	}
	return r
}

// isQuotedDelimiter reports whether the delimiter of a here-document is quoted, so that its body is not expanded.
func isQuotedDelimiter(word *syntax.Word) bool {
	return slices.ContainsFunc(word.Parts, func(part syntax.WordPart) bool {
		lit, ok := part.(*syntax.Lit)
		return !ok || strings.Contains(lit.Value, `\`)
	})
}

// feedText makes a file descriptor readable with the given content.
func (r *redirectState) feedText(fd string, content Stream, st *state) {
	if fd == "" || fd == "0" {
		r.stdin = content
		return
	}
	st.writeFile("/dev/fd/"+fd, content)
}

// streamOf returns the stream of a text that may have unknown parts.
func streamOf(s string) Stream {
	if HasUnknown(s) || len(s) > MaxText {
		return Stream{Piped: true, From: []string{"an expansion"}}
	}
	return knownStream(s)
}

// applyRedirect opens a file or duplicates a file descriptor.
func (in *Interpreter) applyRedirect(r *redirectState, redir *syntax.Redirect, fd string, x *expansion) {
	fields := x.expandFields([]*syntax.Word{redir.Word})
	if len(fields) == 0 {
		fields = []Field{{Text: Unset}}
	}
	target := fields[0]
	if redir.Op == syntax.DplIn || redir.Op == syntax.DplOut {
		number := strings.TrimSuffix(target.Text, "-")
		if strings.Trim(number, "0123456789") == "" || target.Text == Unknown {
			switch {
			case redir.Op == syntax.DplOut && (fd == "" || fd == "1"):
				r.redirectsStdout = r.redirectsStdout || number == "2"
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
		in.reportProblem(x.place, Network, "bash opens a network connection for "+target.Text)
	}
	if redir.Op == syntax.RdrIn || redir.Op == syntax.DplIn {
		in.visitor.VisitPath(x.place, ForReading, target)
		if content, ok := x.state.files[x.state.absPath(target.Text)]; ok && fd != "" && fd != "0" {
			x.state.writeFile("/dev/fd/"+fd, content)
		}
		if fd == "" || fd == "0" {
			if r.stdin = (Stream{File: target.Text}); !HasUnknown(target.Text) {
				if content, ok := x.state.files[x.state.absPath(target.Text)]; ok {
					r.stdin = content
				}
			}
		}
		return
	}
	in.visitor.VisitPath(x.place, ForWriting, target)
	if redir.Op == syntax.RdrInOut {
		in.visitor.VisitPath(x.place, ForReading, target)
		return
	}
	both := redir.Op == syntax.RdrAll || redir.Op == syntax.AppAll || redir.Op == syntax.DplOut && fd == ""
	if both || fd == "" || fd == "1" {
		r.stdoutFile, r.redirectsStdout = target.Text, true
		r.appends = redir.Op == syntax.AppOut || redir.Op == syntax.AppAll
	}
}

// routeOutput writes output to the redirected file, and returns the rest for the next command.
func (r *redirectState) routeOutput(st *state, out Stream) Stream {
	if !r.redirectsStdout {
		return out
	}
	if r.stdoutFile != "" {
		content := out
		if before, ok := st.files[st.absPath(r.stdoutFile)]; ok && r.appends {
			content = before.appendStream(out)
		}
		st.writeFile(r.stdoutFile, content)
	}
	return knownStream("")
}
