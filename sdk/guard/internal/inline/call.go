package inline

import (
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// argument is one argument of a call.
type argument struct {
	name  string   // of a named one
	text  string   // of a string or a number; with marks where it is computed
	words []string // of a list
	list  bool

	options []argument // of an object of named values
}

// known reports whether an argument stands in the code, all of it.
func (a argument) known() bool { return !a.list && a.text != "" && !HasComputed(a.text) }

// strings returns the words that an argument gives to a command.
func (a argument) strings() []string {
	if a.list {
		return a.words
	}
	return []string{a.text}
}

// positionalNames are names of first arguments, which may be given by name.
var positionalNames = map[string]bool{"command": true, "cmd": true, "path": true, "file": true}

// call adds what a call does whose arguments begin at i.
func (s *scanner) call(c *Call, i int) {
	switch c.Does {
	case "fork":
		s.forks = true
		return
	case "socket":
		s.sockets = true
		return
	}
	args, n := s.arguments(i)
	if n == 0 {
		return
	}
	raw := s.code[i : i+n]
	if c.Option != "" && !strings.Contains(raw, c.Option) {
		return
	}
	if before := len(s.out); strings.Contains(raw, "cwd") || strings.Contains(raw, "chdir") {
		defer func() {
			for j := before; j < len(s.out); j++ {
				s.out[j].Moved = true
			}
		}()
	}
	var positional []argument
	options := map[string]argument{}
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
	s.file(List, options["cwd"])
	if before := len(s.out); options["input"].known() || options["stdin_data"].known() {
		defer func() {
			for j := before; j < len(s.out); j++ {
				s.out[j].Input = options["input"].text + options["stdin_data"].text
			}
		}()
	}
	positional = positional[min(max(c.From-1, 0), len(positional)):]
	if c.As != "" {
		s.template(c.As, positional)
		return
	}
	if len(positional) == 0 {
		return
	}
	first := positional[0]
	switch c.Does {
	case "shell":
		s.command(c, positional[:1])
	case "command":
		s.command(c, positional)
	case "code":
		if first.known() {
			s.out = append(s.out, effects(s.language, first.text, s.depth+1)...)
		} else {
			s.out = append(s.out, Effect{Kind: Computed, Text: "it runs code"})
		}
	case "enter":
		s.moved = true
		s.file(List, first)
	case "open":
		mode, ok := options["mode"]
		if !ok && len(positional) > 1 {
			mode = positional[1]
		}
		s.open(mode.text, first, positional)
	case "copy", "move":
		s.file(map[string]Kind{"copy": Read, "move": Delete}[c.Does], first)
		if len(positional) > 1 {
			s.file(Write, positional[1])
		}
	default:
		for _, a := range positional[:1] {
			for _, text := range a.strings() {
				s.file(Kind(c.Does), argument{text: text})
			}
		}
	}
}

// file adds what is done with a file whose name stands in the code.
func (s *scanner) file(kind Kind, a argument) {
	if a.known() {
		s.out = append(s.out, Effect{Kind: kind, Text: a.text})
	}
}

// open adds what is done with a file by its mode. Perl's open has the mode before the file, or within the one text,
// and starts a command where the mode has a bar.
func (s *scanner) open(mode string, first argument, args []argument) {
	file := first
	if s.language.Words && s.language.Plain != "" && len(args) > 1 {
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
		s.command(&Call{}, append([]argument{file}, args[min(3, len(args)):]...))
	case strings.ContainsAny(mode, ">wax+"):
		s.file(Write, file)
	default:
		s.file(Read, file)
	}
}

// command adds a command: one string is a line for the shell, several are words.
func (s *scanner) command(c *Call, args []argument) {
	var words []string
	for _, a := range args {
		words = append(words, a.strings()...)
	}
	if c.Drop > 0 && c.Drop <= len(words) {
		words = append(words[:c.Drop-1:c.Drop-1], words[c.Drop:]...)
	}
	switch {
	case len(words) == 0 || words[0] == "" || strings.Trim(words[0], shell.Unknown+" ") == "":
		s.start(Effect{Kind: Computed, Text: "it starts a command"})
	case len(words) == 1 && !args[0].list:
		s.start(Effect{Kind: Shell, Text: words[0]})
	default:
		s.start(Effect{Kind: Argv, Argv: words})
	}
}

// template adds the command that does the same as the call, with the arguments in their places.
func (s *scanner) template(as string, args []argument) {
	var argv []string
	for word := range strings.FieldsSeq(as) {
		open := strings.IndexByte(word, '{')
		if open < 0 {
			argv = append(argv, word)
			continue
		}
		number, optional := strings.CutSuffix(strings.TrimSuffix(word[open+1:], "}"), "?")
		n, _ := strconv.Atoi(number)
		value := argument{text: shell.Unknown}
		if n <= len(args) {
			value = args[n-1]
		}
		for _, text := range value.strings() {
			if !optional && (text == "" || HasComputed(text)) {
				return
			}
			argv = append(argv, word[:open]+text)
		}
	}
	s.out = append(s.out, Effect{Kind: Argv, Argv: argv})
}
