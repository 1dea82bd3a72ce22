// Package getopt takes a program's arguments apart the way getopt_long does: clusters of short options, attached and
// separate values, long options and their abbreviations, options after operands, and "--".
//
// It knows no program: which options take values is told by a [Spec].
package getopt

import "strings"

// Spec tells which options of a program take values, and what the values are for.
type Spec struct {
	Values map[string]string // by option ("-o", "--output"): one letter a value, meaning what the user of Spec says
	Single bool              // long options have one dash, as in find, go and java
	Stop   bool              // options end at the first operand
	Bare   bool              // a first argument without a dash is a cluster, as in tar
}

// Parse reads a spec from its compact form: "o=w e=d --output=w -name=d". A name of one letter is a short option.
func Parse(form string) Spec {
	fields := strings.Fields(form)
	s := Spec{Values: make(map[string]string, len(fields))}
	for _, field := range fields {
		name, values, _ := strings.Cut(field, "=")
		if len(name) == 1 {
			name = "-" + name
		}
		s.Values[name] = values
	}
	return s
}

// Option is an option that was given.
type Option struct {
	Name  string // with its dashes
	Value string // the first value
	Has   bool   // it has a value
	Roles string // what its values are for; "" if the spec doesn't know the option
	Arg   int    // the index of the argument that holds the option
	At    int    // the index of the argument that holds the first value
	First bool   // it is the first in its argument
}

// Args are arguments taken apart.
type Args struct {
	Options  []Option
	Operands []int // their indexes
}

// Parse takes arguments apart.
func (s Spec) Parse(args []string) Args {
	var out Args
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			for i++; i < len(args); i++ {
				out.Operands = append(out.Operands, i)
			}
		case strings.HasPrefix(arg, "--"), len(arg) > 2 && arg[0] == '-' && s.Values[arg] != "", s.Single && len(arg) > 1 && arg[0] == '-':
			i = s.long(&out, args, i)
		case len(arg) > 1 && arg[0] == '-':
			i = s.cluster(&out, args, i, arg[1:], 1)
		case s.Bare && i == 0:
			i = s.cluster(&out, args, i, arg, 0)
		default:
			out.Operands = append(out.Operands, i)
			if s.Stop {
				for i++; i < len(args); i++ {
					out.Operands = append(out.Operands, i)
				}
			}
		}
	}
	return out
}

// long takes a long option and returns the index of the last argument that it used.
func (s Spec) long(out *Args, args []string, i int) int {
	name, value, has := strings.Cut(args[i], "=")
	if s.Single && strings.HasPrefix(name, "--") {
		name = name[1:]
	}
	opt := Option{Name: name, Value: value, Has: has, Arg: i, At: i, Roles: s.roles(name), First: true}
	if !has && opt.Roles != "" && i+1 < len(args) {
		opt.Value, opt.Has, opt.At = args[i+1], true, i+1
		i = min(i+len(opt.Roles), len(args)-1)
	}
	out.Options = append(out.Options, opt)
	return i
}

// roles looks a long option up, also by an unambiguous abbreviation.
func (s Spec) roles(name string) string {
	if roles, ok := s.Values[name]; ok || s.Single || len(name) < 4 {
		return roles
	}
	found := ""
	for full, roles := range s.Values {
		if strings.HasPrefix(full, name) {
			if found != "" && found != roles {
				return ""
			}
			found = roles
		}
	}
	return found
}

// cluster takes a cluster of short options and returns the index of the last argument that it used.
func (s Spec) cluster(out *Args, args []string, i int, letters string, dash int) int {
	last := i
	for at, r := range letters {
		name := "-" + string(r)
		opt := Option{Name: name, Arg: i, At: i, Roles: s.Values[name], First: at == 0}
		if opt.Roles == "" {
			out.Options = append(out.Options, opt)
			continue
		}
		rest := letters[at+len(string(r)):]
		switch {
		case rest != "" && dash == 1:
			opt.Value, opt.Has = rest, true
		case last+1 < len(args):
			opt.Value, opt.Has, opt.At = args[last+1], true, last+1
			last = min(last+len(opt.Roles), len(args)-1)
		}
		out.Options = append(out.Options, opt)
		if dash == 1 {
			break
		}
	}
	return last
}

// Has says whether one of the options was given. An abbreviated long option counts.
func (a Args) Has(names ...string) bool {
	for _, opt := range a.Options {
		for _, name := range names {
			if opt.Is(name) {
				return true
			}
		}
	}
	return false
}

// Value returns the last value that was given to one of the options.
func (a Args) Value(names ...string) (string, bool) {
	for i := len(a.Options) - 1; i >= 0; i-- {
		for _, name := range names {
			if a.Options[i].Has && a.Options[i].Is(name) {
				return a.Options[i].Value, true
			}
		}
	}
	return "", false
}

// Is says whether the option is the named one, perhaps abbreviated.
func (o Option) Is(name string) bool {
	return o.Name == name || len(o.Name) >= 3 && strings.HasPrefix(o.Name, "--") && strings.HasPrefix(name, o.Name)
}

// With returns a copy of the spec in which the options of form differ.
func (s Spec) With(form string) Spec {
	values := make(map[string]string, len(s.Values))
	for name, roles := range s.Values {
		values[name] = roles
	}
	for name, roles := range Parse(form).Values {
		values[name] = roles
	}
	s.Values = values
	return s
}
