// Package getopt parses a program's arguments like getopt_long: clusters of short options, attached and separate
// values, long options and their abbreviations, options after operands, and "--".
//
// It knows no programs: an [OptionSet] lists the options with values.
package getopt

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// OptionSet lists the options of a program that take values, with the roles of the values.
type OptionSet struct {
	// Values maps an option ("-o", "--output", "+") to one letter per value. The caller defines the meaning of the
	// letters. [Attached] or [Rest] may precede them. An option without values has "".
	Values map[string]string
	Single bool // long options have one dash, as in find, go and java
	Slash  bool // options may also be /name and /name:value, as in MSBuild
	Bare   bool // a first argument without a dash is a cluster, as in tar
	Stop   int  // options end at this operand, counted from 1; 0 is never
}

// Prefixes of the roles of an option.
const (
	Attached = '?' // a value exists only if attached, as in -i.bak and --color=never
	Rest     = '*' // a command begins at the value, or at the next operand, as in python -m
)

// ParseOptionSpec parses a compact form such as "o=w e=d --output=w -name=d". A name of one letter is a short option.
func ParseOptionSpec(form string) OptionSet {
	fields := strings.Fields(form)
	s := OptionSet{Values: make(map[string]string, len(fields))}
	for _, field := range fields {
		name, values, _ := strings.Cut(field, "=")
		if len(name) == 1 {
			name = "-" + name
		}
		s.Values[name] = values
	}
	return s
}

// ParsedOption is an option in a command line, with its value.
type ParsedOption struct {
	Name  string // with its dashes
	Value string // the first value
	Has   bool   // an option value is present
	Roles string // roles of its values; "" if the spec lacks the option
	Arg   int    // index of the argument that contains the option
	At    int    // index of the argument that contains the first value
	First bool   // first option in its argument
}

// ParsedArgs are the options and operands of a command line.
type ParsedArgs struct {
	Options  []ParsedOption
	Operands []int // indexes of the operands
	Rest     int   // index where the command of a [Rest] option begins; 0 if there is none
}

// ParseArgs splits arguments into options and operands.
func (s OptionSet) ParseArgs(args []string) ParsedArgs {
	var out ParsedArgs
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "--":
			s.addOperands(&out, args, i+1)
			return out
		case s.isLongOption(arg):
			i = s.parseLongOption(&out, args, i)
		case len(arg) > 1 && arg[0] == '-':
			i = s.parseShortCluster(&out, args, i, arg[1:], true)
		case s.Bare && i == 0:
			i = s.parseShortCluster(&out, args, i, arg, false)
		case len(arg) > 1 && (arg[0] == '+' || arg[0] == '!') && s.Values[arg[:1]] != "":
			value := strings.TrimPrefix(arg, "+")
			out.addOption(ParsedOption{Name: arg[:1], Value: value, Has: true, Roles: s.Values[arg[:1]], Arg: i, At: i, First: true})
		case s.Slash && isSlashSwitch(arg):
			name, value, has := strings.Cut(arg, ":")
			out.addOption(ParsedOption{Name: name, Value: value, Has: has, Roles: s.Values[name], Arg: i, At: i, First: true})
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

// addOperands adds all arguments from an index as operands, or as the command of a [Rest] option.
func (s OptionSet) addOperands(out *ParsedArgs, args []string, from int) {
	if out.Rest < 0 {
		out.Rest = min(from, len(args)-1)
		return
	}
	for i := from; i < len(args); i++ {
		out.Operands = append(out.Operands, i)
	}
}

func (s OptionSet) isLongOption(arg string) bool {
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

// parseLongOption adds a long option and returns the index of its last argument.
func (s OptionSet) parseLongOption(out *ParsedArgs, args []string, i int) int {
	name, value, has := strings.Cut(args[i], "=")
	if s.Single && strings.HasPrefix(name, "--") {
		name = name[1:]
	}
	roles, mark := splitRolePrefix(s.findLongOptionRoles(name))
	opt := ParsedOption{Name: name, Value: value, Has: has, Arg: i, At: i, Roles: roles, First: true}
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

func (s OptionSet) findLongOptionRoles(name string) string {
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

// parseShortCluster adds a cluster of short options and returns the index of its last argument.
func (s OptionSet) parseShortCluster(out *ParsedArgs, args []string, i int, letters string, dash bool) int {
	last := i
	for rest := letters; rest != ""; {
		_, size := utf8.DecodeRuneInString(rest)
		name, first := "-"+rest[:size], len(rest) == len(letters)
		rest = rest[size:]
		roles, mark := splitRolePrefix(s.Values[name])
		opt := ParsedOption{Name: name, Arg: i, At: i, Roles: roles, First: first}
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

// splitRolePrefix separates the roles of an option from the prefix Attached or Rest.
func splitRolePrefix(roles string) (string, byte) {
	if roles != "" && (roles[0] == Attached || roles[0] == Rest) {
		return roles[1:], roles[0]
	}
	return roles, 0
}

func (a *ParsedArgs) addOption(opt ParsedOption) { a.Options = append(a.Options, opt) }

// HasOption reports whether one of the options is present, also abbreviated.
func (a ParsedArgs) HasOption(names ...string) bool {
	return slices.ContainsFunc(a.Options, func(opt ParsedOption) bool { return slices.ContainsFunc(names, opt.HasName) })
}

// LastOptionValue returns the value of the last option with one of the names.
func (a ParsedArgs) LastOptionValue(names ...string) (string, bool) {
	for i := len(a.Options) - 1; i >= 0; i-- {
		for _, name := range names {
			if a.Options[i].Has && a.Options[i].HasName(name) {
				return a.Options[i].Value, true
			}
		}
	}
	return "", false
}

// HasName reports whether the option has a name or abbreviates it.
func (o ParsedOption) HasName(name string) bool {
	return o.Name == name || len(o.Name) >= 3 && strings.HasPrefix(o.Name, "--") && strings.HasPrefix(name, o.Name)
}
