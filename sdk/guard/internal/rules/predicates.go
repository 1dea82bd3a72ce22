package rules

import (
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/getopt"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// predicates are the conditions that the other fields of a rule can't say, by the names that "when" has for them.
var predicates = map[string]func(*Command) bool{
	"clock-stamp":    clockStamp,
	"dry-run":        dryRun,
	"encoded-option": encodedOption,
	"force":          func(c *Command) bool { return c.options().Has("-f", "--force") },
	"help":           help,
	"host-path":      hostPath,
	"http-delete":    httpDelete,
	"item":           item,
	"open-mask":      openMask,
	"sigkill":        sigkill,
	"wide-mode":      func(c *Command) bool { return wide(modeOf(c)) },
}

// clockStamp reports whether the first operand is a time to set, MMDDhhmm[[CC]YY][.ss].
func clockStamp(c *Command) bool {
	digits, _, _ := strings.Cut(c.operand(), ".")
	return len(digits) >= 8 && strings.Trim(digits, "0123456789") == ""
}

// dryRun reports whether the command only tells what it would do, or how it is used.
func dryRun(c *Command) bool {
	dry := false
	for i, arg := range c.lower() {
		option, value, _ := strings.Cut(arg, "=")
		isValue := func(o getopt.Option) bool { return o.Has && o.At == i && o.Arg < i }
		switch {
		case slices.ContainsFunc(c.options().Options, isValue):
			continue
		case option == "--help", option == "-help":
			return true
		case option == "--no-dry-run":
			return false
		case option != "--dry-run":
			continue
		case value == "" && i+1 < len(c.Args):
			value = c.lower()[i+1] // as npm takes it
		}
		if slices.Contains([]string{"none", "false", "0", "no"}, value) {
			return false
		}
		dry = true
	}
	return dry
}

// encodedOption reports whether an option is PowerShell's -EncodedCommand, of which every beginning stands for it.
func encodedOption(c *Command) bool {
	return slices.ContainsFunc(c.lower(), func(arg string) bool {
		name := strings.TrimLeft(arg, "-/")
		return name != arg && name != "" && (name == "ec" || abbreviates(name, "encodedcommand"))
	})
}

// abbreviates reports whether a name begins with an option, as PowerShell takes it.
func abbreviates(option, name string) bool { return strings.HasPrefix(name, option) }

// help reports whether --help stands before what follows the verb, and so isn't an argument of what the command starts.
func help(c *Command) bool {
	operands := c.options().Operands
	for _, option := range c.options().Options {
		if option.Name == "--help" && (len(operands) <= c.verb || option.Arg < operands[c.verb]) {
			return true
		}
	}
	return false
}

// hostPath reports whether an operand is host:path.
func hostPath(c *Command) bool {
	return slices.ContainsFunc(c.options().Operands, func(at int) bool {
		host, _, ok := strings.Cut(c.Args[at], ":")
		return ok && host != "" && !strings.Contains(host, "/")
	})
}

// httpDelete reports whether a program that makes requests over HTTP is told the method DELETE.
func httpDelete(c *Command) bool {
	method, ok := c.options().Value("-X", "--request", "--method")
	if !ok {
		method = c.operand()
	}
	return strings.EqualFold(method, "DELETE")
}

// item reports whether an argument is a name that another command finds.
func item(c *Command) bool {
	return slices.ContainsFunc(c.Args, func(arg string) bool { return strings.Contains(arg, shell.Item) })
}

// openMask reports whether a mask leaves others the right to write.
func openMask(c *Command) bool {
	mask := c.operand()
	if mask != "" && strings.Trim(mask, "01234567") == "" {
		return (mask[len(mask)-1]-'0')&2 == 0
	}
	return wide(mask)
}

// sigkill reports whether kill sends signal 9, or reaches every process.
func sigkill(c *Command) bool {
	for i, arg := range c.Args {
		signal, option := strings.CutPrefix(strings.ToUpper(arg), "-")
		switch {
		case !option:
		case signal == "1" && i > 0:
			return true
		case (signal == "S" || signal == "N" || signal == "-SIGNAL") && i+1 < len(c.Args):
			signal = strings.ToUpper(c.Args[i+1])
		case i == 0 && len(signal) > 1 && (signal[0] == 'S' && !strings.HasPrefix(signal, "SIG") || signal[0] == 'N'):
			signal = signal[1:]
		}
		signal = strings.TrimPrefix(strings.TrimPrefix(signal, "-SIGNAL="), "SIG")
		if option && (strings.TrimLeft(signal, "0") == "9" || signal == "KILL") {
			return true
		}
	}
	return false
}

var (
	symbolicMode = lazyregexp.New(`^[ugoa]*[-+=][rwxXstugo,+=-]*$`)
	octalMode    = lazyregexp.New(`^[-+=]?[0-7]+$`)
)

// modeOf is the mode that an option has, or else the first argument that looks like one, as in chmod -R -x.
func modeOf(c *Command) string {
	if mode, ok := c.options().Value("-m", "--mode"); ok {
		return mode
	}
	for _, arg := range c.Args {
		if symbolicMode().MatchString(arg) || octalMode().MatchString(arg) {
			return arg
		}
	}
	return c.operand()
}

// wide reports whether a mode lets everybody write, or sets the set-user-id or set-group-id bit.
func wide(mode string) bool {
	if octalMode().MatchString(mode) {
		digits := strings.TrimLeft(mode, "+=-0")
		special := len(digits) > 3 && digits[len(digits)-4] >= '2'
		return special || digits != "" && (digits[len(digits)-1]-'0')&2 != 0
	}
	for clause := range strings.SplitSeq(mode, ",") {
		who, what, _ := strings.Cut(strings.ReplaceAll(clause, "=", "+"), "+")
		switch {
		case strings.Contains(what, "s") && !strings.Contains(who, "-"):
			return true
		case strings.ContainsAny(what, "wug") && strings.ContainsAny(who, "oa"): // w, or what the owner or group may
			return true
		}
	}
	return false
}
