package lang

import (
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

var (
	// writers are calls that write a string to a file: by the file's name and the string.
	writers = pattern.New(`\b(?:writeFileSync|writeFile|appendFileSync|outputFileSync|writeTextFileSync|writeTextFile|file_put_contents|(?:File|IO)\.(?:bin)?write|Bun\.write)\s*\(?\s*"(\d+)"\s*,\s*"(\d+)"`)
	// chained are the same with the string behind the file.
	chained = pattern.New(`\b(?:open|Path)\s*\(\s*"(\d+)"[^()]*\)\s*[.:]\s*write\w*\s*\(?\s*"(\d+)"`)
	// printed are strings that Python prints to a file.
	printed = pattern.New(`\bprint\s*\(\s*"(\d+)"((?:\s*,\s*"\d+")*)\s*,\s*file\s*=\s*(?:open\s*\(\s*"(\d+)"|(\w+)\s*\))`)
	// handles are files of Perl that a handle stands for, and handled what is printed to such.
	handles = pattern.New(`\bopen\s*\(?\s*(?:my\s+)?\$?(\w+)\s*,\s*"(\d+)"(?:\s*,\s*"(\d+)")?`)
	handled = pattern.New(`\b(?:print|printf|say)\s+\{?\s*\$?(\w+)\s*\}?\s+"(\d+)"`)
	// opened are files that a variable or a block stands for.
	opened  = pattern.New(`\bopen\s*\(\s*"(\d+)"\s*,[^()]*\)\s*(?:as\s+(\w+)\s*[:,]|do\s*\|\s*(\w+)\s*\||\{\s*\|\s*(\w+)\s*\|)|\b(\w+)\s*=\s*(?:(?:io\s*\.\s*)?open\s*\(\s*"(\d+)"\s*,[^()]*\)|(?:pathlib\s*\.\s*)?Path\s*\(\s*"(\d+)"\s*\))`)
	written = pattern.New(`\b(\w+)[.:](?:write|write_text|write_bytes|puts|print|<<)\s*\(?\s*"(\d+)"`)
	// partly are calls that write what isn't a plain string to a file, up to that.
	partly = pattern.New(`\b(?:writeFileSync|writeFile|outputFileSync|writeTextFileSync|writeTextFile|file_put_contents|(?:File|IO)\.(?:bin)?write|Bun\.write)\s*\(\s*"(\d+)"\s*,|\b(?:open|Path)\s*\(\s*"(\d+)"[^()]*\)\s*\.\s*write\w*\s*\(|\b(\w+)\.write(?:_text|_bytes)?\s*\(|\b(?:print|say)\s+\{?\s*\$?(\w+)\s*\}?\s+[("$@A-Za-z]`)
	// manyLines are strings that are written to a file one behind the other.
	manyLines = pattern.New(`\b(\w+)\.writelines\s*\(\s*[\[(]((?:\s*"\d+"\s*,?)+)\s*[\])]`)
	// printsInto is where Python is told to print into a file, and plainPrints what it prints.
	printsInto  = pattern.New(`\b(?:sys\s*\.\s*stdout\s*=\s*|redirect_stdout\s*\(\s*)(?:open\s*\(\s*"(\d+)"|(\w+)\s*\))`)
	plainPrints = pattern.New(`\bprint\s*\(\s*"(\d+)"`)
	// goesOnWith is what stands behind a string of which something else is made.
	goesOnWith = pattern.New(`^\s*(?:[+%.]|\[)`)
	// oneOfSeveral is what stands behind a string that is printed with others.
	oneOfSeveral = pattern.New(`^\s*,`)
)

// entry is where a table, or a member of one, gets a string by a name.
var entry = pattern.New(`(?:\b(\w+)|"(\d+)")\s*\]?\s*(?::|=|\?\?=)\s*"(\d+)"`)

// packaged are the scripts that code puts into a description of a package, as a part of that.
func (s *skeleton) packaged() []Effect {
	var pairs []string
	add := func(at int) {
		statement := s.toItsEnd(at)
		if !s.looks(len(statement)) {
			return
		}
		for _, m := range entry.FindAllStringSubmatch(statement) {
			name := m[1]
			if name == "" {
				name, _ = s.text(m[2])
			}
			if text, ok := s.text(m[3]); ok && text != "" && len(pairs) < maxConstants {
				pairs = append(pairs, strconv.Quote(name)+":"+strconv.Quote(text))
			}
		}
	}
	for at := range mentions(s.code, "scripts") {
		add(at + len("scripts"))
	}
	for _, m := range reference.FindAllStringSubmatchIndex(s.code) {
		if text, _ := s.text(s.code[m[2]:m[3]]); text == "scripts" {
			add(m[1])
		}
	}
	if len(pairs) == 0 {
		return nil
	}
	return []Effect{{Kind: Write, Text: "package.json", Content: "{\"scripts\":{" + strings.Join(pairs, ",") + "}}", Adds: true}}
}

// toItsEnd is what stands from a place up to the end of its statement.
func (s *skeleton) toItsEnd(at int) string {
	depth := 0
	for i := at; i < len(s.code); i++ {
		switch s.code[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case ';', '\n':
			if depth <= 0 {
				return s.code[at:i]
			}
		}
	}
	return s.code[at:]
}

// maxWrites is how many times something is looked at that code may write.
const maxWrites = 4 << 10

// fileAt is a string that names a file, by its number, and where in the code the file is opened. The whole file may be what is written there.
type fileAt struct {
	number string
	at     int
	whole  bool
}

// writes finds the files that code writes a constant to. Several writes to one file are put together.
func (s *skeleton) writes(language string) []Effect {
	contents := map[string]*content{}
	var order []string
	left := maxWrites
	put := func(file fileAt, added string) {
		name, ok := s.text(file.number)
		if left--; left < 0 {
			return
		}
		if name = strings.TrimLeft(name, "<>+ "); !ok || name == "" || strings.ContainsAny(name, "|") {
			return
		}
		name = s.counted(language, file.at, name)
		if language == "perl" {
			added = s.withoutVariables(added)
		}
		c := contents[name]
		if c == nil {
			c = &content{}
			contents[name], order = c, append(order, name)
		}
		c.add(added, file.whole)
	}
	add := func(file fileAt, text string) {
		if added, ok := s.text(text); ok {
			if n, _ := strconv.Atoi(text); s.literals[n].template && s.literals[n].tick {
				added = withMarks(added)
			}
			put(file, added)
		}
	}
	files := map[string]fileAt{} // by the variables that stand for them
	for _, p := range []*pattern.Pattern{writers, chained} {
		for _, at := range p.FindAllStringSubmatchIndex(s.worth(p)) {
			m := pattern.Groups(s.code, at)
			if partly.MatchString(m[0]) && goesOnWith.MatchString(s.code[at[1]:]) {
				continue // a part of what is written
			}
			add(fileAt{m[1], at[0], true}, m[2])
		}
	}
	prints := func(file fileAt, p []string) { // several strings with a space between
		text, ok := s.text(p[1])
		for _, m := range reference.FindAllStringSubmatch(p[2]) {
			more, known := s.text(m[1])
			text, ok = text+" "+more, ok && known
		}
		if ok {
			put(file, text)
		}
	}
	printings := printed.FindAllStringSubmatchIndex(s.worth(printed))
	var to, toHandles [][]string
	for i, at := range opened.FindAllStringSubmatchIndex(s.worth(opened)) {
		m := pattern.Groups(s.code, at)
		if i == 0 {
			to = written.FindAllStringSubmatch(s.worth(written))
		}
		files[m[2]+m[5]] = fileAt{number: m[1] + m[6] + m[7], at: at[0]}
		for _, w := range to {
			if w[1] == m[2]+m[3]+m[4]+m[5] {
				add(fileAt{number: m[1] + m[6] + m[7], at: at[0]}, w[2])
			}
		}
		for _, place := range printings {
			if p := pattern.Groups(s.code, place); p[4] != "" && p[4] == m[2]+m[5] {
				prints(fileAt{number: m[1] + m[6] + m[7], at: at[0]}, p)
			}
		}
	}
	for _, at := range printings {
		p := pattern.Groups(s.code, at)
		prints(fileAt{number: p[3], at: at[0]}, p)
	}
	for i, at := range handles.FindAllStringSubmatchIndex(s.worth(handles)) {
		m := pattern.Groups(s.code, at)
		if i == 0 {
			for _, at := range handled.FindAllStringSubmatchIndex(s.worth(handled)) {
				if behind := s.code[at[1]:]; !goesOnWith.MatchString(behind) && !oneOfSeveral.MatchString(behind) {
					toHandles = append(toHandles, pattern.Groups(s.code, at))
				}
			}
		}
		number := m[3]
		if number == "" {
			number = m[2]
		}
		files[m[1]] = fileAt{number: number, at: at[0]}
		for _, w := range toHandles {
			if w[1] != m[1] {
				continue
			}
			add(files[m[1]], w[2])
		}
	}
	for _, at := range partly.FindAllStringSubmatchIndex(s.worth(partly)) {
		m := pattern.Groups(s.code, at)
		file := files[m[3]+m[4]]
		if m[4] != "" {
			at[1]-- // what is printed begins with that
		}
		if m[3]+m[4] == "" {
			file = fileAt{m[1] + m[2], at[0], true}
		}
		text := ""
		if m[4] != "" && language == "perl" {
			text = s.several(at[1])
		} else {
			text = s.template(at[1])
		}
		if text != "" && file.number != "" {
			put(file, text)
		}
	}
	for _, m := range manyLines.FindAllStringSubmatch(s.worth(manyLines)) {
		for _, line := range reference.FindAllStringSubmatch(m[2]) {
			if file := files[m[1]]; file.number != "" {
				add(file, line[1])
			}
		}
	}
	for _, m := range printsInto.FindAllStringSubmatch(s.worth(printsInto)) {
		file := fileAt{number: m[1]}
		if m[2] != "" {
			file = files[m[2]]
		}
		for _, p := range plainPrints.FindAllStringSubmatch(s.code) {
			if file.number != "" {
				add(file, p[1])
			}
		}
	}
	out := make([]Effect, 0, len(order)+1)
	for _, name := range order {
		out = append(out, Effect{Kind: Write, Text: name, Content: contents[name].text()})
	}
	out = append(out, s.rewrites(files)...)
	if left < 0 {
		out = append(out, Effect{Kind: Dynamic, Text: "it writes files more often than is followed"})
	}
	return out
}

var (
	// putsIn is where code puts a string in the place of something in a text, and putsLine where it sets a line of one.
	putsIn   = pattern.New(`\.\s*(?:replace|replaceAll)\s*\(\s*[^,()]*(?:\([^()]*\))?\s*,\s*[bBfFrRuU]{0,2}"(\d+)"|\bre\s*\.\s*subn?\s*\(\s*[^,()]*(?:\([^()]*\))?\s*,\s*[bBfFrRuU]{0,2}"(\d+)"`)
	putsLine = pattern.New(`\]\s*=\s*[bBfFrRuU]{0,2}"(\d+)"`)
	// rewritten are files that something is written to which isn't a plain string.
	rewritten   = pattern.New(`\b(?:writeFileSync|writeFile|outputFileSync)\s*\(\s*"(\d+)"\s*,\s*(?:[^"\s]|"\d+"\s*\.)|\b(?:open|Path)\s*\(\s*"(\d+)"[^()]*\)\s*\.\s*write\w*\s*\(\s*(?:[^"\s]|"\d+"\s*\.)|\b(\w+)\s*\.\s*(?:write|write_text|writelines)\s*\(\s*(?:[^"\s]|"\d+"\s*\.)|\binplace\s*=|\bfileinput\b[^\n]*"(\d+)"`)
	splitsLines = pattern.New(`\b(?:splitlines|readlines)\b|\bsplit\s*\(`)
)

// rewrites are the files that code reads and writes again with strings in other places, and these strings, a line each.
func (s *skeleton) rewrites(files map[string]fileAt) (out []Effect) {
	if s.language != "python" && s.language != "node" || !rewritten.MatchString(s.worth(rewritten)) {
		return nil
	}
	var put strings.Builder
	from := []*pattern.Pattern{putsIn}
	if splitsLines.MatchString(s.worth(splitsLines)) {
		from = append(from, putsLine)
	}
	for _, p := range from {
		for _, m := range p.FindAllStringSubmatch(s.worth(p)) {
			if text, ok := s.text(strings.Join(m[1:], "")); ok && put.Len() < maxConstant {
				put.WriteString(text + "\n")
			}
		}
	}
	if strings.TrimSpace(put.String()) == "" {
		return nil
	}
	seen := map[string]bool{}
	for _, m := range rewritten.FindAllStringSubmatch(s.code) {
		number := m[1] + m[2] + m[4]
		if number == "" {
			number = files[m[3]].number
		}
		if name, ok := s.text(number); ok && name != "" && !seen[name] && len(seen) < maxConstants {
			seen[name] = true
			out = append(out, Effect{Kind: Write, Text: name, Content: put.String(), Partly: true})
		}
	}
	return out
}
