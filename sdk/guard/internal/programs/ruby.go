package programs

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/getopt"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// testNamers are the options by which Ruby's test runners are told the names of tests.
var testNamers = set("-n --name -e --exclude -x -i --include -t --testcase --ignore-name --ignore-testcase")

// testArguments are the arguments of a test of Ruby's without the names of tests that are written as regular expressions, which
// look like paths: -n /join/.
func testArguments(script string, args []shell.Field) []shell.Field {
	if lower := strings.ToLower(script); !strings.Contains(lower, "test") && !strings.Contains(lower, "spec") {
		return args
	}
	rest := make([]shell.Field, 0, len(args))
	for i, arg := range args {
		option, value, _ := strings.Cut(arg.Text, "=")
		switch {
		case i > 0 && testNamers[args[i-1].Text] && slashed(arg.Text), testNamers[option] && slashed(value):
		case strings.HasPrefix(arg.Text, "-n") && slashed(arg.Text[2:]):
		default:
			rest = append(rest, arg)
		}
	}
	return rest
}

// slashed says whether a word is a regular expression between slashes, flags behind it.
func slashed(word string) bool {
	end := strings.LastIndexByte(word, '/')
	return end > 0 && word[0] == '/' && strings.Trim(word[end+1:], "imxounse") == ""
}

var railsSpec = stop(getopt.Parse("e=d --environment=d"))

// rails runs code, or a file, behind the verb runner, and tests behind the verb test.
func rails(_ string, args []shell.Field) []Use {
	if len(args) == 0 {
		return nil
	}
	rest := args[1:]
	switch args[0].Text {
	case "test", "t", "test:all", "test:system", "spec":
		return unknown(testArguments("test", rest))
	case "runner", "r":
		parsed := railsSpec.Parse(shell.Texts(rest))
		if len(parsed.Operands) == 0 {
			return nil
		}
		code := rest[parsed.Operands[0]]
		kind := Code
		if code.Text == "-" || strings.HasSuffix(code.Text, ".rb") && !strings.ContainsAny(code.Text, " (;") {
			kind = Script
		}
		return append([]Use{{Kind: kind, Lang: "ruby", Text: code.Text}}, unknown(rest[parsed.Operands[0]+1:])...)
	}
	if console := args[0].Text; console == "console" || console == "c" {
		return append(unknown(rest), Use{Kind: Input, Lang: "ruby"})
	}
	return unknown(args)
}

// rubyTests are the test runners of Ruby that are programs of their own.
func rubyTests(_ string, args []shell.Field) []Use { return unknown(testArguments("test", args)) }
