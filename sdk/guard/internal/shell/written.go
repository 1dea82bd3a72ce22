package shell

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// write notes that a file is written: one that goes by several names under each of them, and one whose name isn't known wherever that
// may lead.
func (s *state) write(file string, content Stream) {
	switch {
	case safe[file]:
		return
	case strings.HasPrefix(file, "/dev/"):
		set(s.in, &s.files, s.abs(file), content)
		return
	case strings.HasSuffix(file, "/"):
		return // that fails
	case HasUnknown(file) || isPattern(file):
		for _, name := range s.matching(file) {
			if s.in.work > maxWork {
				return // it is too much to follow, which Interpret says
			}
			s.mayWrite(name, content)
		}
	}
	abs := s.abs(file)
	if s.in.keeps {
		s.mayWrite(abs, content)
	} else {
		set(s.in, &s.files, abs, content)
	}
	for link, targets := range s.in.links {
		below, ok := strings.CutPrefix(abs, link)
		if !ok || below != "" && below[0] != '/' {
			continue
		}
		for _, target := range targets {
			s.in.work += perWord
			s.mayWrite(target+below, content)
		}
	}
}

// mayWrite notes that a file may be written, or keep what it has.
func (s *state) mayWrite(file string, content Stream) {
	abs := s.abs(file)
	if before, ok := s.files.get(s.in, abs); ok && !before.same(content) {
		s.in.work += (len(before.Text) + len(content.Text)) / perWord
		content = Stream{Piped: true, Text: before.then(text("\n")).then(content).Text, From: From("several writes")}
	}
	set(s.in, &s.files, abs, content)
}

// overwritten notes that a part of a file that is known may be written over.
func (s *state) overwritten(file string) {
	if before, ok := s.files.get(s.in, s.abs(file)); ok && before.Text != "" {
		s.write(file, Stream{Piped: true, Text: Unknown, From: From("writing over a part of it")})
	}
}

// WriteMaybe records that the command writes a file unless that is there.
func (c *Call) WriteMaybe(file string, content Stream) { c.state.mayWrite(file, content) }

// Overwrite records that the command writes over a part of a file.
func (c *Call) Overwrite(file string) { c.state.overwritten(file) }

// maxOtherNames is how many other names of files are followed.
const maxOtherNames = 64

// withName are names with another one.
func withName(names []string, name string) []string {
	if name = path.Clean(name); slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}

// Linked says whether the command line makes links.
func (c *Call) Linked() bool { return len(c.in.links) > 0 }

// Link records that one name leads to what another one does.
func (c *Call) Link(from, to string, symbolic bool) {
	if c.in.links == nil {
		c.in.links = map[string][]string{}
	}
	if len(c.in.links) > maxOtherNames {
		c.in.problem(&c.Place, TooComplex, "too many links to follow")
		return
	}
	link, target := c.Abs(to), c.Abs(from)
	if symbolic && !filepath.IsAbs(from) {
		target = path.Join(path.Dir(link), from)
	}
	c.in.links[link] = withName(c.in.links[link], target)
	if !symbolic {
		c.in.links[target] = withName(c.in.links[target], link)
	}
}
