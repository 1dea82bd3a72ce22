package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// redirectResult is the effect of a statement's redirections on its input and output.
type redirectResult struct {
	stdin           StreamContent
	stdoutFile      string // target file of standard output
	appends         bool
	redirectsStdout bool // standard output is redirected
}

func (in *Interpreter) applyRedirects(list []*syntax.Redirect, st *shellState, stdin StreamContent, place *CommandLocation) redirectResult {
	r := redirectResult{stdin: stdin}
	if len(list) == 0 {
		return r
	}
	x := in.newWordExpander(st, place)
	for _, redir := range list {
		fd := ""
		if redir.N != nil {
			fd = redir.N.Value
		}
		switch redir.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			r.setInputContent(fd, TextStream(x.expandHeredoc(redir.Hdoc, redir.Op == syntax.DashHdoc, isQuotedHeredocDelimiter(redir.Word))), st)
			continue
		case syntax.WordHdoc:
			r.setInputContent(fd, TextStream(x.expandWordUnsplit(redir.Word)+"\n"), st)
			continue
		}
		in.applyRedirect(&r, redir, fd, x)
	}
	return r
}

// isQuotedHeredocDelimiter reports whether the delimiter of a here-document is quoted, so that its body is not
// expanded.
func isQuotedHeredocDelimiter(word *syntax.Word) bool {
	return slices.ContainsFunc(word.Parts, func(part syntax.WordPart) bool {
		lit, ok := part.(*syntax.Lit)
		return !ok || strings.Contains(lit.Value, `\`)
	})
}

// setInputContent sets the content of an input file descriptor.
func (r *redirectResult) setInputContent(fd string, content StreamContent, st *shellState) {
	if fd == "" || fd == "0" {
		r.stdin = content
		return
	}
	st.recordFileContent("/dev/fd/"+fd, content)
}

// textStream returns a stream with a text as content. The content is unknown if a part of the text is.
func TextStream(s string) StreamContent {
	if HasUnknown(s) || len(s) > MaxText {
		return StreamContent{Piped: true, From: []string{"an expansion"}}
	}
	return knownStream(s)
}

// applyRedirect applies one redirection to a file or file descriptor.
func (in *Interpreter) applyRedirect(r *redirectResult, redir *syntax.Redirect, fd string, x *wordExpander) {
	fields := x.expandArguments([]*syntax.Word{redir.Word})
	if len(fields) == 0 {
		fields = []Argument{{Text: Unset}}
	}
	target := fields[0]
	if redir.Op == syntax.DplIn || redir.Op == syntax.DplOut {
		number := strings.TrimSuffix(target.Text, "-")
		if strings.Trim(number, "0123456789") == "" || target.Text == Unknown {
			switch {
			case redir.Op == syntax.DplOut && (fd == "" || fd == "1"):
				r.redirectsStdout = r.redirectsStdout || number == "2"
			case redir.Op == syntax.DplIn && (fd == "" || fd == "0"):
				r.stdin = StreamContent{File: "/dev/fd/" + number}
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
			x.state.recordFileContent("/dev/fd/"+fd, content)
		}
		if fd == "" || fd == "0" {
			if r.stdin = (StreamContent{File: target.Text}); !HasUnknown(target.Text) {
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

// routeOutput records redirected output as file content, and returns the output for the next command.
func (r *redirectResult) routeOutput(st *shellState, out StreamContent) StreamContent {
	if !r.redirectsStdout {
		return out
	}
	if r.stdoutFile != "" {
		content := out
		if before, ok := st.files[st.absPath(r.stdoutFile)]; ok && r.appends {
			content = before.appendStream(out)
		}
		st.recordFileContent(r.stdoutFile, content)
	}
	return knownStream("")
}
