// Package getopt takes a program's arguments apart the way getopt_long does: clusters of short options, attached and
// separate values, long options and their abbreviations, options after operands, and "--".
//
// It knows no program: which options take values is told by a [Spec].
package getopt

import (
	"strings"
	"unicode/utf8"
)

// Spec tells which options of a program take values, and what the values are for.
type Spec struct {
	// Values has a letter for each value of an option ("-o", "--output", "+"), which means what the user of Spec says.
	// [Attached] or [Rest] may stand in front of it. An option without values has "".
	Values map[string]string
	Single bool // long options have one dash, as in find, go and java
	Slash  bool // options may also be /name and /name:value, as in MSBuild
	Bare   bool // a first argument without a dash is a cluster, as in tar
	Stop   int  // options end at this operand, counted from 1; 0 is never
}

// What may stand in front of the letter of an option's value.
const (
	Attached = '?' // there is only a value if it is attached, as in -i.bak and --color=never
	Rest     = '*' // a command begins at the value, or else at the next operand, as in python -m
)

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
	Rest     int   // the index of the argument that begins the command of a [Rest] option; 0 if there is none
}

// Parse takes arguments apart.
func (s Spec) Parse(args []string) Args {
	var out Args
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "--":
			s.operands(&out, args, i+1)
			return out
		case s.isLong(arg):
			i = s.long(&out, args, i)
		case len(arg) > 1 && arg[0] == '-':
			i = s.cluster(&out, args, i, arg[1:], true)
		case s.Bare && i == 0:
			i = s.cluster(&out, args, i, arg, false)
		case len(arg) > 1 && (arg[0] == '+' || arg[0] == '!') && s.Values[arg[:1]] != "":
			value := strings.TrimPrefix(arg, "+")
			out.add(Option{Name: arg[:1], Value: value, Has: true, Roles: s.Values[arg[:1]], Arg: i, At: i, First: true})
		case s.Slash && isSwitch(arg):
			name, value, has := strings.Cut(arg, ":")
			out.add(Option{Name: name, Value: value, Has: has, Roles: s.Values[name], Arg: i, At: i, First: true})
		case out.Rest < 0:
			out.Rest = i
			return out
		case s.Stop == len(out.Operands)+1:
			s.operands(&out, args, i)
			return out
		default:
			out.Operands = append(out.Operands, i)
		}
		if out.Rest > 0 {
			return out
		}
	}
	out.Rest = max(out.Rest, 0)
	return out
}

// operands takes all arguments from the given one for operands, or for a command that an option has announced.
func (s Spec) operands(out *Args, args []string, from int) {
	if out.Rest < 0 {
		out.Rest = min(from, len(args)-1)
		return
	}
	for i := from; i < len(args); i++ {
		out.Operands = append(out.Operands, i)
	}
}

// isLong reports whether an argument is a long option.
func (s Spec) isLong(arg string) bool {
	if len(arg) < 2 || arg[0] != '-' || strings.HasPrefix(arg, "--") || s.Single {
		return strings.HasPrefix(arg, "-") && len(arg) > 1
	}
	name, _, _ := strings.Cut(arg, "=")
	return len(name) > 2 && s.Values[name] != ""
}

// isSwitch reports whether an argument is /name or /name:value.
func isSwitch(arg string) bool {
	name, _, _ := strings.Cut(arg, ":")
	return len(name) > 1 && name[0] == '/' && !strings.ContainsAny(name[1:], "/.=")
}

// long takes a long option and returns the index of the last argument that it used.
func (s Spec) long(out *Args, args []string, i int) int {
	name, value, has := strings.Cut(args[i], "=")
	if s.Single && strings.HasPrefix(name, "--") {
		name = name[1:]
	}
	roles, mark := split(s.roles(name))
	opt := Option{Name: name, Value: value, Has: has, Arg: i, At: i, Roles: roles, First: true}
	last := i
	switch {
	case mark == Rest && has:
		out.Rest = i + 1
	case mark == Rest:
		out.Rest = -1
	case !has && mark == 0 && roles != "" && i+1 < len(args):
		opt.Value, opt.Has, opt.At = args[i+1], true, i+1
		last = min(i+len(roles), len(args)-1)
	}
	out.add(opt)
	return last
}

// roles looks a long option up, also by an unambiguous abbreviation.
func (s Spec) roles(name string) string {
	if roles, ok := s.Values[name]; ok || s.Single || len(name) < 4 || !strings.HasPrefix(name, "--") {
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
func (s Spec) cluster(out *Args, args []string, i int, letters string, dash bool) int {
	last := i
	for rest := letters; rest != ""; {
		_, size := utf8.DecodeRuneInString(rest)
		name, first := "-"+rest[:size], len(rest) == len(letters)
		rest = rest[size:]
		roles, mark := split(s.Values[name])
		opt := Option{Name: name, Arg: i, At: i, Roles: roles, First: first}
		switch {
		case roles == "", mark == Attached && rest == "":
		case rest != "" && dash:
			opt.Value, opt.Has = rest, true
			if mark == Rest {
				out.Rest = i + 1
			}
		case mark == Rest:
			out.Rest = -1
		case mark == 0 && last+1 < len(args):
			opt.Value, opt.Has, opt.At = args[last+1], true, last+1
			last = min(last+len(roles), len(args)-1)
		}
		out.add(opt)
		if roles != "" && dash {
			break
		}
	}
	return last
}

// split parts the roles of an option from the mark in front of them.
func split(roles string) (string, byte) {
	if roles != "" && (roles[0] == Attached || roles[0] == Rest) {
		return roles[1:], roles[0]
	}
	return roles, 0
}

func (a *Args) add(opt Option) { a.Options = append(a.Options, opt) }

// Has reports whether one of the options was given. An abbreviated long option counts.
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

// Is reports whether the option is the named one, perhaps abbreviated.
func (o Option) Is(name string) bool {
	return o.Name == name || len(o.Name) >= 3 && strings.HasPrefix(o.Name, "--") && strings.HasPrefix(name, o.Name)
}
