package rules

import (
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/getopt"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// predicates are conditions that other fields can't express, by their name in "when".
var predicates = map[string]func(*RuleCommand) bool{
	"clock-stamp":    hasTimeOperand,
	"dry-run":        isDryRun,
	"encoded-option": hasEncodedCommand,
	"force":          func(c *RuleCommand) bool { return c.parsedOptions().HasOption("-f", "--force") },
	"help":           asksForHelp,
	"host-path":      hasHostPathOperand,
	"http-delete":    isHTTPDelete,
	"item":           hasItemPlaceholder,
	"open-mask":      isPermissiveUmask,
	"sigkill":        sendsSigkill,
	"wide-mode":      func(c *RuleCommand) bool { return isPermissiveMode(findFileMode(c)) },
}

// hasTimeOperand reports whether the first operand is a time: MMDDhhmm[[CC]YY][.ss].
func hasTimeOperand(c *RuleCommand) bool {
	digits, _, _ := strings.Cut(c.firstOperand(), ".")
	return len(digits) >= 8 && strings.Trim(digits, "0123456789") == ""
}

// isDryRun reports whether the command changes nothing, because of --dry-run or --help.
func isDryRun(c *RuleCommand) bool {
	dry := false
	for i, arg := range c.normalizedArgs() {
		option, value, _ := strings.Cut(arg, "=")
		isValue := func(o getopt.ParsedOption) bool { return o.Has && o.At == i && o.Arg < i }
		switch {
		case slices.ContainsFunc(c.parsedOptions().Options, isValue):
			continue
		case option == "--help", option == "-help":
			return true
		case option == "--no-dry-run":
			return false
		case option != "--dry-run":
			continue
		case value == "" && i+1 < len(c.Args):
			value = c.normalizedArgs()[i+1] // as npm takes it
		}
		if slices.Contains([]string{"none", "false", "0", "no"}, value) {
			return false
		}
		dry = true
	}
	return dry
}

// hasEncodedCommand reports whether an option is PowerShell's -EncodedCommand or an abbreviation of it.
func hasEncodedCommand(c *RuleCommand) bool {
	return slices.ContainsFunc(c.normalizedArgs(), func(arg string) bool {
		name := strings.TrimLeft(arg, "-/")
		return name != arg && name != "" && (name == "ec" || strings.HasPrefix("encodedcommand", name)) // abbreviated, as in PowerShell
	})
}

// asksForHelp reports whether --help precedes the arguments of a started command.
func asksForHelp(c *RuleCommand) bool {
	operands := c.parsedOptions().Operands
	return slices.ContainsFunc(c.parsedOptions().Options, func(option getopt.ParsedOption) bool {
		return option.Name == "--help" && (len(operands) <= c.verb || option.Arg < operands[c.verb])
	})
}

func hasHostPathOperand(c *RuleCommand) bool {
	return slices.ContainsFunc(c.parsedOptions().Operands, func(at int) bool {
		host, _, ok := strings.Cut(c.Args[at], ":")
		return ok && host != "" && !strings.Contains(host, "/")
	})
}

// isHTTPDelete reports whether an HTTP client sends a DELETE request.
func isHTTPDelete(c *RuleCommand) bool {
	method, ok := c.parsedOptions().LastOptionValue("-X", "--request", "--method")
	if !ok {
		method = c.firstOperand()
	}
	return strings.EqualFold(method, "DELETE")
}

// hasItemPlaceholder reports whether another command, such as find, supplies a part of an argument.
func hasItemPlaceholder(c *RuleCommand) bool {
	return slices.ContainsFunc(c.Args, func(arg string) bool { return strings.Contains(arg, shell.Item) })
}

// isPermissiveUmask reports whether a umask lets all users write new files.
func isPermissiveUmask(c *RuleCommand) bool {
	mask := c.firstOperand()
	if mask != "" && strings.Trim(mask, "01234567") == "" {
		return (mask[len(mask)-1]-'0')&2 == 0
	}
	return isPermissiveMode(mask)
}

// sendsSigkill reports whether kill sends signal 9, or sends a signal to every process.
func sendsSigkill(c *RuleCommand) bool {
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

// findFileMode returns the mode argument of a command: an option's value or the first argument that looks like a mode.
func findFileMode(c *RuleCommand) string {
	if mode, ok := c.parsedOptions().LastOptionValue("-m", "--mode"); ok {
		return mode
	}
	for _, arg := range c.Args {
		if symbolicMode().MatchString(arg) || octalMode().MatchString(arg) {
			return arg
		}
	}
	return c.firstOperand()
}

// isPermissiveMode reports whether a file mode lets all users write, or sets setuid or setgid.
func isPermissiveMode(mode string) bool {
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

// RuleCommand is a simple command to which rules are applied.
type RuleCommand struct {
	Name string   // the canonical name of the program
	Args []string // without the name
	Via  []string // programs that start it, outermost first

	takes   *getopt.OptionSet // options with values that rules add for the program
	parsed  *getopt.ParsedArgs
	lowered []string
	verb    int // number of operands that match the verb of the current rule
}

// NewRuleCommand returns a command with the given words.
func NewRuleCommand(name string, args, via []string) *RuleCommand {
	return &RuleCommand{Name: name, Args: args, Via: via}
}

// parsedOptions returns the options and operands. It parses them on first use.
func (c *RuleCommand) parsedOptions() *getopt.ParsedArgs {
	if c.parsed == nil {
		var parsed getopt.ParsedArgs
		if c.takes != nil {
			parsed = c.takes.ParseArgs(c.Args)
		} else {
			parsed = programs.ParseArguments(c.Name, c.Args)
		}
		c.parsed = &parsed
	}
	return c.parsed
}

// normalizedArgs returns the arguments in lower case, with single spaces.
func (c *RuleCommand) normalizedArgs() []string {
	if c.lowered == nil {
		c.lowered = make([]string, len(c.Args))
		for i, arg := range c.Args {
			c.lowered[i] = strings.ToLower(strings.Join(strings.Fields(arg), " "))
		}
	}
	return c.lowered
}

// firstOperand returns the first operand, or "".
func (c *RuleCommand) firstOperand() string {
	if operands := c.parsedOptions().Operands; len(operands) > 0 {
		return c.Args[operands[0]]
	}
	return ""
}
