// Package getopt parses a program's arguments like getopt_long: clusters of short options, attached and separate
// values, long options and their abbreviations, options after operands, and "--".
//
// It knows no programs: a [Spec] lists the options with values.
package getopt

import (
	"strings"
	"unicode/utf8"
)

// Spec lists which options of a program take values, and their purpose.
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

// ParseSpec parses a spec in compact form: "o=w e=d --output=w -name=d". A name of one letter is a short option.
func ParseSpec(form string) Spec {
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

// Option is an option with its value.
type Option struct {
	Name  string // with its dashes
	Value string // the first value
	Has   bool   // it has a value
	Roles string // what its values are for; "" if the spec doesn't know the option
	Arg   int    // the index of the argument that holds the option
	At    int    // the index of the argument that holds the first value
	First bool   // it is the first in its argument
}

// ParsedArgs are parsed arguments.
type ParsedArgs struct {
	Options  []Option
	Operands []int // their indexes
	Rest     int   // the index of the argument that begins the command of a [Rest] option; 0 if there is none
}

// ParseArgs parses arguments.
func (s Spec) ParseArgs(args []string) ParsedArgs {
	var out ParsedArgs
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "--":
			s.addOperands(&out, args, i+1)
			return out
		case s.isLongOption(arg):
			i = s.parseLong(&out, args, i)
		case len(arg) > 1 && arg[0] == '-':
			i = s.parseCluster(&out, args, i, arg[1:], true)
		case s.Bare && i == 0:
			i = s.parseCluster(&out, args, i, arg, false)
		case len(arg) > 1 && (arg[0] == '+' || arg[0] == '!') && s.Values[arg[:1]] != "":
			value := strings.TrimPrefix(arg, "+")
			out.addOption(Option{Name: arg[:1], Value: value, Has: true, Roles: s.Values[arg[:1]], Arg: i, At: i, First: true})
		case s.Slash && isSlashSwitch(arg):
			name, value, has := strings.Cut(arg, ":")
			out.addOption(Option{Name: name, Value: value, Has: has, Roles: s.Values[name], Arg: i, At: i, First: true})
		case out.Rest < 0:
			out.Rest = i
			return out
		case s.Stop == len(out.Operands)+1:
			s.addOperands(&out, args, i)
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

// addOperands treats all arguments from an index as operands, or as the command an option announced.
func (s Spec) addOperands(out *ParsedArgs, args []string, from int) {
	if out.Rest < 0 {
		out.Rest = min(from, len(args)-1)
		return
	}
	for i := from; i < len(args); i++ {
		out.Operands = append(out.Operands, i)
	}
}

// isLongOption reports whether an argument is a long option.
func (s Spec) isLongOption(arg string) bool {
	if len(arg) < 2 || arg[0] != '-' || strings.HasPrefix(arg, "--") || s.Single {
		return strings.HasPrefix(arg, "-") && len(arg) > 1
	}
	name, _, _ := strings.Cut(arg, "=")
	return len(name) > 2 && s.Values[name] != ""
}

// isSlashSwitch reports whether an argument is /name or /name:value.
func isSlashSwitch(arg string) bool {
	name, _, _ := strings.Cut(arg, ":")
	return len(name) > 1 && name[0] == '/' && !strings.ContainsAny(name[1:], "/.=")
}

// parseLong parses a long option and returns the index of its last argument.
func (s Spec) parseLong(out *ParsedArgs, args []string, i int) int {
	name, value, has := strings.Cut(args[i], "=")
	if s.Single && strings.HasPrefix(name, "--") {
		name = name[1:]
	}
	roles, mark := splitPrefix(s.findRoles(name))
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
	out.addOption(opt)
	return last
}

// findRoles looks up a long option, or its unambiguous abbreviation.
func (s Spec) findRoles(name string) string {
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

// parseCluster parses a cluster of short options and returns the index of the last argument.
func (s Spec) parseCluster(out *ParsedArgs, args []string, i int, letters string, dash bool) int {
	last := i
	for rest := letters; rest != ""; {
		_, size := utf8.DecodeRuneInString(rest)
		name, first := "-"+rest[:size], len(rest) == len(letters)
		rest = rest[size:]
		roles, mark := splitPrefix(s.Values[name])
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
		out.addOption(opt)
		if roles != "" && dash {
			break
		}
	}
	return last
}

// splitPrefix splits the prefix from an option's roles.
func splitPrefix(roles string) (string, byte) {
	if roles != "" && (roles[0] == Attached || roles[0] == Rest) {
		return roles[1:], roles[0]
	}
	return roles, 0
}

func (a *ParsedArgs) addOption(opt Option) { a.Options = append(a.Options, opt) }

// HasOption reports whether one of the options is present. Abbreviations count.
func (a ParsedArgs) HasOption(names ...string) bool {
	for _, opt := range a.Options {
		for _, name := range names {
			if opt.HasName(name) {
				return true
			}
		}
	}
	return false
}

// LastValue returns the last value of the options.
func (a ParsedArgs) LastValue(names ...string) (string, bool) {
	for i := len(a.Options) - 1; i >= 0; i-- {
		for _, name := range names {
			if a.Options[i].Has && a.Options[i].HasName(name) {
				return a.Options[i].Value, true
			}
		}
	}
	return "", false
}

// HasName reports whether the option has the name, or is an abbreviation of it.
func (o Option) HasName(name string) bool {
	return o.Name == name || len(o.Name) >= 3 && strings.HasPrefix(o.Name, "--") && strings.HasPrefix(name, o.Name)
}
