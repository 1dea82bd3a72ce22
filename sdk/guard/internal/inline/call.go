package inline

import (
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// callArgument is one argument of a function call.
type callArgument struct {
	name   string   // of a keyword argument
	text   string   // value of a string or number, with shell.Unknown for computed parts
	words  []string // words of a list
	isList bool

	options []callArgument // members of an object literal
}

// isLiteral reports whether the whole argument is a string or number literal.
func (a callArgument) isLiteral() bool { return !a.isList && a.text != "" && !HasComputedPart(a.text) }

// commandWords returns the words that the argument adds to a command line.
func (a callArgument) commandWords() []string {
	if a.isList {
		return a.words
	}
	return []string{a.text}
}

// positionalNames are keyword names of first arguments. Their keyword form counts as the positional one.
var positionalNames = map[string]bool{"command": true, "cmd": true, "path": true, "file": true}

// addCallEffects adds the effects of a call whose arguments begin at i.
func (s *callScanner) addCallEffects(c *CallEffectRule, i int) {
	switch c.Action {
	case "fork":
		s.callsFork = true
		return
	case "socket":
		s.opensSocket = true
		return
	}
	args, n := s.readCallArguments(i)
	if n == 0 {
		return
	}
	raw := s.code[i : i+n]
	if c.RequiredOption != "" && !strings.Contains(raw, c.RequiredOption) {
		return
	}
	if firstEffect := len(s.effects); strings.Contains(raw, "cwd") || strings.Contains(raw, "chdir") {
		defer func() {
			for j := firstEffect; j < len(s.effects); j++ {
				s.effects[j].ChangesDir = true
			}
		}()
	}
	var positional []callArgument
	options := map[string]callArgument{}
	for _, a := range args {
		for _, option := range append(a.options, a) {
			options[option.name] = option
		}
		if a.name == "" || positionalNames[a.name] {
			positional = append(positional, a)
		}
	}
	if words, ok := options["args"]; ok {
		positional = append(positional, words)
	}
	s.addLiteralFileEffect(List, options["cwd"])
	if firstEffect := len(s.effects); options["input"].isLiteral() || options["stdin_data"].isLiteral() {
		defer func() {
			for j := firstEffect; j < len(s.effects); j++ {
				s.effects[j].Input = options["input"].text + options["stdin_data"].text
			}
		}()
	}
	positional = positional[min(max(c.FirstArg-1, 0), len(positional)):]
	if c.Template != "" {
		s.addTemplateCommandEffect(c.Template, positional)
		return
	}
	if len(positional) == 0 {
		return
	}
	first := positional[0]
	switch c.Action {
	case "shell":
		s.addCommandEffect(c, positional[:1])
	case "command":
		s.addCommandEffect(c, positional)
	case "code":
		if first.isLiteral() {
			s.effects = append(s.effects, findEffects(s.language, first.text, s.depth+1)...)
		} else {
			s.effects = append(s.effects, CodeEffect{Kind: Computed, Text: "it runs code"})
		}
	case "enter":
		s.changesDir = true
		s.addLiteralFileEffect(List, first)
	case "open":
		mode, ok := options["mode"]
		if !ok && len(positional) > 1 {
			mode = positional[1]
		}
		s.addFileOpenEffect(mode.text, first, positional)
	case "copy", "move":
		s.addLiteralFileEffect(map[string]EffectKind{"copy": Read, "move": Delete}[c.Action], first)
		if len(positional) > 1 {
			s.addLiteralFileEffect(Write, positional[1])
		}
	default:
		for _, a := range positional[:1] {
			for _, text := range a.commandWords() {
				s.addLiteralFileEffect(EffectKind(c.Action), callArgument{text: text})
			}
		}
	}
}

// addLiteralFileEffect adds a file effect if the file name is a literal.
func (s *callScanner) addLiteralFileEffect(kind EffectKind, a callArgument) {
	if a.isLiteral() {
		s.effects = append(s.effects, CodeEffect{Kind: kind, Text: a.text})
	}
}

// addFileOpenEffect adds the effect of opening a file in a mode. In Perl the mode precedes the file or is in the same
// string, and "|" in it starts a command.
func (s *callScanner) addFileOpenEffect(mode string, first callArgument, args []callArgument) {
	file := first
	if s.language.QuoteOperators && s.language.RawQuotes != "" && len(args) > 1 {
		if file = args[1]; len(args) > 2 {
			mode, file = args[1].text, args[2]
		} else {
			mode, file.text = file.text, strings.Trim(file.text, "<>+| ")
		}
	} else if trimmed := strings.TrimSpace(file.text); strings.HasPrefix(trimmed, "|") {
		mode, file.text = "|", trimmed[1:]
	}
	switch {
	case strings.Contains(mode, "|"):
		s.addCommandEffect(&CallEffectRule{}, append([]callArgument{file}, args[min(3, len(args)):]...))
	case strings.ContainsAny(mode, ">wax+"):
		s.addLiteralFileEffect(Write, file)
	default:
		s.addLiteralFileEffect(Read, file)
	}
}

// addCommandEffect adds a started command. A single string is a shell command line; several are an argument vector.
func (s *callScanner) addCommandEffect(c *CallEffectRule, args []callArgument) {
	var words []string
	for _, a := range args {
		words = append(words, a.commandWords()...)
	}
	if c.DropWord > 0 && c.DropWord <= len(words) {
		words = append(words[:c.DropWord-1:c.DropWord-1], words[c.DropWord:]...)
	}
	switch {
	case len(words) == 0 || words[0] == "" || strings.Trim(words[0], shell.Unknown+" ") == "":
		s.addProcessStartEffect(CodeEffect{Kind: Computed, Text: "it starts a command"})
	case len(words) == 1 && !args[0].isList:
		s.addProcessStartEffect(CodeEffect{Kind: Shell, Text: words[0]})
	default:
		s.addProcessStartEffect(CodeEffect{Kind: Argv, Argv: words})
	}
}

// addTemplateCommandEffect adds the command that has the same effect as the call. It fills the arguments into the
// command template.
func (s *callScanner) addTemplateCommandEffect(as string, args []callArgument) {
	var argv []string
	for word := range strings.FieldsSeq(as) {
		open := strings.IndexByte(word, '{')
		if open < 0 {
			argv = append(argv, word)
			continue
		}
		number, optional := strings.CutSuffix(strings.TrimSuffix(word[open+1:], "}"), "?")
		n, _ := strconv.Atoi(number)
		value := callArgument{text: shell.Unknown}
		if n <= len(args) {
			value = args[n-1]
		}
		for _, text := range value.commandWords() {
			if !optional && (text == "" || HasComputedPart(text)) {
				return
			}
			argv = append(argv, word[:open]+text)
		}
	}
	s.effects = append(s.effects, CodeEffect{Kind: Argv, Argv: argv})
}
