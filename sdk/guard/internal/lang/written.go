package lang

import "github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"

var (
	// writers are calls that write a string to a file: by the file's name and the string.
	writers = pattern.New(`\b(?:writeFileSync|writeFile|appendFileSync|outputFileSync|writeTextFileSync|writeTextFile|file_put_contents|(?:File|IO)\.(?:bin)?write|Bun\.write)\s*\(?\s*"(\d+)"\s*,\s*"(\d+)"`)
	// chained are the same with the string behind the file.
	chained = pattern.New(`\b(?:open|Path)\s*\(\s*"(\d+)"[^()]*\)\s*[.:]\s*write\w*\s*\(?\s*"(\d+)"`)
	// opened are files that a variable or a block stands for.
	opened  = pattern.New(`\bopen\s*\(\s*"(\d+)"\s*,[^()]*\)\s*(?:as\s+(\w+)\s*:|do\s*\|\s*(\w+)\s*\||\{\s*\|\s*(\w+)\s*\|)|\b(\w+)\s*=\s*open\s*\(\s*"(\d+)"\s*,[^()]*\)`)
	written = pattern.New(`\b(\w+)\.(?:write|puts|print|<<)\s*\(?\s*"(\d+)"`)
)

// writes finds the files that code writes a constant to. Several writes to one file are put together.
func (s *skeleton) writes() []Effect {
	content := map[string]string{}
	var order []string
	add := func(file, text string) {
		name, ok := s.text(file)
		added, too := s.text(text)
		if !ok || !too || name == "" {
			return
		}
		if _, known := content[name]; !known {
			order = append(order, name)
		}
		if len(content[name])+len(added) < maxConstant {
			content[name] += added
		}
	}
	for _, m := range writers.FindAllStringSubmatch(s.worth(writers)) {
		add(m[1], m[2])
	}
	for _, m := range chained.FindAllStringSubmatch(s.worth(chained)) {
		add(m[1], m[2])
	}
	for _, m := range opened.FindAllStringSubmatch(s.worth(opened)) {
		for _, w := range written.FindAllStringSubmatch(s.worth(written)) {
			if w[1] == m[2]+m[3]+m[4]+m[5] {
				add(m[1]+m[6], w[2])
			}
		}
	}
	out := make([]Effect, 0, len(order))
	for _, name := range order {
		out = append(out, Effect{Kind: Write, Text: name, Content: content[name]})
	}
	return out
}
