package shell

import (
	"slices"
	"strings"
)

// filters are programs that print what they read, in part or changed.
var filters = func() map[string]bool {
	m := map[string]bool{}
	for _, name := range strings.Fields("cat tac head tail sort uniq cut tr sed awk gawk mawk perl ruby paste nl fold fmt expand unexpand column shuf grep egrep fgrep rg " +
		"sponge envsubst dos2unix unix2dos iconv pr join comm jq yq strings rev m4 cpp pv bat batcat less more zcat ghead gtail gsort gsed") {
		m[name] = true
	}
	return m
}()

// Written returns what earlier commands of the same text wrote into a file, if any did.
func (c *Call) Written(path string) (Stream, bool) {
	abs := c.state.abs(path)
	s, ok := c.state.files.get(c.in, abs)
	if ok && s.File != "" && strings.HasPrefix(abs, "/dev/fd/") {
		s = c.state.content(s)
	}
	return s, ok
}

// maxMatching is how many files a pattern is followed as.
const maxMatching = 16

// Matching are the files that earlier commands of the same text wrote and that a pattern, or a name of which parts aren't known,
// may mean.
func (c *Call) Matching(pattern string) []string { return c.state.matching(pattern) }

func (s *state) matching(pattern string) []string {
	if s.files == nil || !HasUnknown(pattern) && !isPattern(pattern) {
		return nil
	}
	any := stars.Replace(pattern)
	if !strings.HasPrefix(any, "*") {
		any = s.abs(any)
	}
	names := s.files.keys(s.in, func(name string) bool {
		s.in.work += perWord
		return !strings.HasPrefix(name, "/dev/") && matches(any, name)
	})
	return names[:min(len(names), maxMatching)]
}

// stars stands stars for what isn't known.
var stars = strings.NewReplacer(Unknown, "*", Unset, "*", Item, "*")

// matches says whether a name may be one that a pattern means. A star stands for anything, and brackets for one character.
func matches(pattern, name string) bool {
	star, from := -1, 0
	p, n := 0, 0
	for n < len(name) {
		next := p + 1
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from, p = p, n, next
			continue
		case p < len(pattern) && pattern[p] == '[' && strings.IndexByte(pattern[p:], ']') > 0:
			next = p + strings.IndexByte(pattern[p:], ']') + 1
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
		case star >= 0:
			from++
			p, n = star+1, from
			continue
		default:
			return false
		}
		p, n = next, n+1
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// concatenated is what cat prints, if it reads only what is known.
func concatenated(c *Call, args []string) (Stream, bool) {
	if len(args) == 0 {
		return c.Stdin, true
	}
	var out transcript
	for i, arg := range args {
		switch written, ok := c.Written(arg); {
		case arg == "-":
			out.add(c.Stdin)
		case len(arg) > 1 && arg[0] == '-', c.Argv[i+1].Glob, !ok:
			return Stream{}, false
		case len(args) == 1:
			return written, true
		default:
			out.add(written)
		}
	}
	return out.stream(), true
}

// Derived is what the command makes out of what it reads: all that is known of it is somewhere in that.
func (c *Call) Derived(name string) Stream {
	if c.derived == nil || c.derivedBy != name {
		out := c.filtered(Stream{Piped: true, From: From(name)})
		c.derived, c.derivedBy = &out, name
	}
	return *c.derived
}

// filtered adds to what a filter prints what it reads, as far as the text wrote that.
func (c *Call) filtered(out Stream) Stream {
	var read transcript
	for _, f := range c.Argv[1:] {
		if written, ok := c.Written(f.Text); ok {
			read.add(written)
			out.From = c.in.origin(out.From, written.From)
			continue
		}
		for _, name := range c.Matching(f.Text) {
			written, _ := c.Written(name)
			read.add(written)
			out.From = c.in.origin(out.From, written.From)
		}
	}
	if len(read.parts) == 0 || slices.Contains(c.Texts(), "-") {
		read.add(c.Stdin)
	}
	out.Text = read.stream().Text
	return out
}
