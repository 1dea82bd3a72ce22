package lang

import (
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// optionLists are lists of strings.
var optionLists = pattern.New(`\[\s*"\d+"(?:\s*,\s*"\d+")*\s*,?\s*\]`)

// maxOptions is how many lists that begin with an option are taken for the arguments of one call.
const maxOptions = 8

// withOptions are commands with arguments that aren't known once more, with each list of the code that begins with an option: that may be
// what they get.
func (s *skeleton) withOptions(effects []Effect) (more []Effect) {
	if s.language != "python" && s.language != "node" || !slices.ContainsFunc(effects, endsUnknown) || !s.looks(len(s.code)) {
		return nil
	}
	var lists [][]string
	for _, m := range optionLists.FindAllStringSubmatch(s.worth(optionLists)) {
		var list []string
		for _, l := range s.referenced(m[0]) {
			list = append(list, l.text)
		}
		if strings.HasPrefix(list[0], "-") && len(lists) < maxOptions && !slices.ContainsFunc(lists, func(l []string) bool { return slices.Equal(l, list) }) {
			lists = append(lists, list)
		}
	}
	for _, e := range effects {
		if !endsUnknown(e) || len(more) >= maxCalls {
			continue
		}
		for _, list := range lists {
			more = append(more, Effect{Kind: Argv, Argv: slices.Concat(e.Argv[:len(e.Argv)-1], list)})
		}
	}
	return more
}

// endsUnknown says whether a command has arguments at its end that aren't known.
func endsUnknown(e Effect) bool {
	return e.Kind == Argv && len(e.Argv) > 1 && e.Argv[len(e.Argv)-1] == shell.Unknown
}
