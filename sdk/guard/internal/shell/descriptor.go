package shell

import (
	"slices"
	"strconv"
	"strings"
)

// sink is where commands print to.
type sink struct{ into string } // an absolute path; "" for what the text never reads again

// descriptor is what a redirection has opened, of those that are neither input nor output.
type descriptor struct {
	path    string // as which its number is known: /dev/fd/3
	content Stream // File names what it was opened for
}

// maxDescriptor is how many descriptors the shell is followed in numbering by itself.
const maxDescriptor = 32

// number is the descriptor that a redirection is about: that which a variable gets, as in {log}>x, is chosen here.
func (x *expansion) number(fd string) string {
	name, named := strings.CutPrefix(fd, "{")
	if !named {
		return fd
	}
	for n := 10; n < 10+maxDescriptor; n++ {
		fd = strconv.Itoa(n)
		if _, taken := x.state.files.get(x.in, "/dev/fd/"+fd); !taken {
			break
		}
	}
	x.state.set(strings.TrimSuffix(name, "}"), fd)
	return fd
}

// opened is what a descriptor was opened for, by this statement or before it.
func (r *redirections) opened(st *state, fd string) (Stream, bool) {
	path := "/dev/fd/" + fd
	for _, d := range r.opens {
		if d.path == path {
			return d.content, true
		}
	}
	return st.files.get(st.in, path)
}

// open opens a descriptor.
func (r *redirections) open(fd string, content Stream) {
	path := "/dev/fd/" + fd
	for i, d := range r.opens {
		if d.path == path {
			r.opens[i].content = content // the last one counts
			return
		}
	}
	r.opens = append(r.opens, descriptor{path, content})
}

// duplicate makes a descriptor the same as another one.
func (r *redirections) duplicate(in *Interpreter, st *state, fd, from string, reads bool) {
	there, ok := r.opened(st, from)
	r.kept = r.kept || from == "1" && fd != "" && fd != "0" && fd != "1" && !r.moved
	switch {
	case fd == "0" || fd == "" && reads:
		if ok {
			r.stdin = st.content(there)
		}
	case fd == "1" || fd == "":
		switch {
		case from == "1":
		case ok && there.File != "":
			r.into, r.append, r.moved = there.File, true, true
		default:
			r.into, r.moved = "", from == "2" && !in.merged
			r.back = from != "2" // where it went before exec sent it elsewhere
		}
	case from == "0":
		r.open(fd, r.stdin)
	case from == "1" && r.moved && r.into != "":
		r.open(fd, Stream{File: st.abs(r.into)})
	case from == "1" && st.printer != nil && st.printer.into != "":
		r.open(fd, Stream{File: st.printer.into})
	case ok:
		r.open(fd, there)
	default:
		if _, before := st.files.get(st.in, "/dev/fd/"+fd); before {
			r.open(fd, Stream{})
		}
	}
}

// content is what there is to read from a descriptor.
func (s *state) content(d Stream) Stream {
	if d.File == "" {
		return d
	}
	if written, ok := s.files.get(s.in, d.File); ok {
		return written
	}
	return d
}

// enter makes the descriptors that a statement opens known to what runs in it. It returns what leave needs.
func (r *redirections) enter(st *state) (before []descriptor) {
	for i := range r.opens {
		d := r.opens[len(r.opens)-1-i]
		was, _ := st.files.get(st.in, d.path)
		before = append(before, descriptor{d.path, was})
		st.write(d.path, d.content)
	}
	return before
}

// fills says of the file that a statement prints to that what is in there meanwhile isn't known.
func (r *redirections) fills(st *state) {
	if r.moved && r.into != "" {
		st.write(r.into, Stream{Piped: true, From: From("what is being written")})
	}
}

// leave closes the descriptors that a statement has opened, where it has been.
func leave(states []*state, before []descriptor) {
	for i := range before {
		d := before[len(before)-1-i]
		for _, st := range states {
			st.write(d.path, d.content)
		}
	}
}

// exec makes the redirections those of all that follows.
func (r *redirections) exec(st *state) {
	r.enter(st)
	if r.fed {
		stdin := r.stdin
		st.input, st.drained = &stdin, false
	}
	switch {
	case r.moved && r.into == "":
		st.printer = &sink{}
	case r.moved:
		st.printer = &sink{into: st.abs(r.into)}
		if !r.append {
			st.write(r.into, text(""))
		}
	case r.back:
		st.printer = nil
	}
}

// printed takes what a command has printed to where exec has sent it, and returns what is left.
func (s *state) printed(out Stream) Stream {
	if s.printer == nil {
		return out
	}
	if s.printer.into != "" {
		before, _ := s.files.get(s.in, s.printer.into)
		s.in.work += len(before.Text) / perWord
		s.write(s.printer.into, before.then(out))
	}
	return text("")
}

// inputs are the names that the system has for the standard input.
var inputs = map[string]bool{"/dev/stdin": true, "/dev/fd/0": true, "/proc/self/fd/0": true, "/proc/thread-self/fd/0": true}

// IsInput says whether a file is the standard input, perhaps by another name that the text has given it.
func (c *Call) IsInput(file string) bool { return c.state.isInput(file) }

func (s *state) isInput(file string) bool {
	abs := s.abs(file)
	if inputs[abs] || len(s.in.links[abs]) == 0 {
		return inputs[abs]
	}
	names := []string{abs} // each once
	for i := 0; i < len(names); i++ {
		for _, name := range s.in.links[names[i]] {
			s.in.work += perWord
			if inputs[name] {
				return true
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return false
}
