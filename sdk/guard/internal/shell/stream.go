package shell

import (
	"path"
	"slices"
	"strings"
)

// Stream is what a command reads or prints.
type Stream struct {
	Known bool
	Text  string // if Known, all of it; else parts that it is known to be made of, as far as the same text wrote them
	Piped bool   // it comes from another command, not from a terminal or a file
	File  string // the file that it is read from
	From  Origin // the commands that made it, if it isn't known
}

// same says whether as much is known of two streams.
func (s Stream) same(o Stream) bool { return s.Known == o.Known && s.Text == o.Text }

// text is a stream whose content is known.
func text(s string) Stream { return Stream{Known: true, Text: s, Piped: true} }

// known is the stream of a text that may have unknown parts.
func known(s string) Stream {
	switch {
	case len(s) > MaxText:
		return Stream{Piped: true, From: From("an expansion")}
	case HasUnknown(s):
		return Stream{Piped: true, Text: named.Replace(s), From: From("an expansion")}
	}
	return text(s)
}

// named stands names for what isn't known.
var named = strings.NewReplacer(Unknown, Item, Unset, "")

// transcript is what commands print one after the other.
type transcript struct {
	parts   []string
	size    int
	unknown bool
	from    Origin
	names   []string // the names in from and all after it, if there are several: they are united once, not command by command
}

func (t *transcript) add(s Stream) {
	if s.Text != "" && t.size+len(s.Text) <= MaxText {
		t.parts = append(t.parts, s.Text)
	}
	if t.size += len(s.Text); !s.Known || t.size > MaxText {
		t.unknown = true
		t.comes(s.From)
	}
}

// comes adds an origin.
func (t *transcript) comes(from Origin) {
	switch {
	case from.None() || from == t.from:
	case t.from.None():
		t.from = from
	default:
		if t.names == nil {
			t.names = slices.Clone(t.from.Names())
		}
		for i := range from.count() {
			if name := from.at(i); len(t.names) < maxNames && !slices.Contains(t.names, name) {
				t.names = append(t.names, name)
			}
		}
	}
}

// origin is that of all of it.
func (t *transcript) origin() Origin {
	if t.names == nil {
		return t.from
	}
	return Origin{all: &origins{names: t.names}}
}

// stream is all of it.
func (t *transcript) stream() Stream {
	printed := ""
	if len(t.parts) > 0 {
		printed = strings.Join(t.parts, "")
	}
	if t.unknown {
		return Stream{Piped: true, Text: printed, From: t.origin()}
	}
	return text(printed)
}

// then is the stream of two commands after each other.
func (s Stream) then(next Stream) Stream {
	both := s.Text
	if fits := len(s.Text)+len(next.Text) <= MaxText; fits {
		both += next.Text
		if s.Known && next.Known {
			return text(both)
		}
	}
	return Stream{Piped: true, Text: both, From: s.From.And(next.From)}
}

// or is what is known of a stream that is one or the other.
func (s Stream) or(o Stream) Stream {
	if s.same(o) && s.Known {
		return s
	}
	s.Known = false
	return s.then(o)
}

// program says whether a stream is the path of a program, as which tells it.
func (s Stream) program() bool { return s.Text != "" && strings.HasPrefix(s.Text, "/"+Program+"/") }

// version is the path of a program without the number of a version: python for python3.12.
func version(path string) string { return strings.TrimRight(path, "0123456789.-\n") }

// gnu are programs that GNU's go by with a g in front of their names elsewhere.
var gnu = map[string]bool{"make": true, "sed": true, "awk": true, "timeout": true, "tar": true, "find": true, "xargs": true, "date": true, "grep": true, "readlink": true, "realpath": true, "stat": true, "sort": true, "head": true, "tail": true}

// orProgram is the path of a program, as which tells it, or else another path or name of the same: of one version, the longer, and of
// one that GNU's goes by, the name that it has everywhere.
func (s Stream) orProgram(o Stream) (Stream, bool) {
	if !s.program() || !o.program() && (!o.Known || strings.ContainsAny(strings.TrimSpace(o.Text), " /\t\n")) {
		return s, false
	}
	ours, theirs := version(path.Base(s.Text)), version(path.Base(o.Text))
	switch {
	case theirs == "" || theirs == ".":
		return s, false
	case ours == theirs && len(s.Text) >= len(o.Text):
		return s, true
	case ours == theirs, gnu[theirs] && ours == "g"+theirs:
		return o, true
	}
	return s, false
}
