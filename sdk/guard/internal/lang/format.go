package lang

import (
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

var (
	// formatted are strings that others, or numbers, are put into.
	formatted = pattern.New(`"(\d+)"\s*\.\s*format\s*\(\s*("\d+"(?:\s*,\s*"\d+")*)\s*\)`)
	percent   = pattern.New(`"(\d+)"\s*%\s*(?:("\d+")|[(\[]((?:\s*(?:"\d+"|\d+)\s*,?)+)[)\]])`)
	sprintf   = pattern.New(`\b(?:sprintf|format)\s*\(\s*"(\d+)"((?:\s*,\s*"\d+")+)\s*\)|\b(?:sprintf|format)\s+"(\d+)"((?:\s*,\s*"\d+")+)`)
	// element is one of a list of strings, by its index.
	element = pattern.New(`[\[(]\s*("\d+"(?:\s*,\s*"\d+")*)\s*,?\s*[\])]\s*\[\s*(-?\d+)\s*\]`)
	// tableOf is a table of strings that a variable is set to.
	tableOf   = pattern.New(`(?:^|[;\n({]|\b(?:const|let|var|my)\b)\s*[%$]?([A-Za-z_]\w*)\s*=\s*[{(]((?:\s*(?:"\d+"|\w+)\s*(?::|=>)\s*"\d+"\s*,?)+)[})]`)
	tablePair = pattern.New(`(?:"(\d+)"|(\w+))\s*(?::|=>)\s*"(\d+)"`)

	// takes is what takes an entry out of a table, behind its name.
	takes = pattern.New(`^\s*(?:\[\s*:?(?:"(\d+)"|(\w+))\s*\]|\{\s*(?:"(\d+)"|(\w+))\s*\}|\.get\s*\(\s*"(\d+)"\s*\)|\.(\w+))`)

	braced = pattern.New(`\{(\d*)\}`)
	verbs  = pattern.New(`%[-+ 0-9.]*([sdcri%])`)
	values = pattern.New(`"(\d+)"|(\d+)`)
)

// format puts strings together that are put into others, and takes them out of lists and tables.
func (s *skeleton) format(language string) {
	texts := func(list string) (out []string) {
		for _, m := range values.FindAllStringSubmatch(list) {
			if text, ok := s.text(m[1]); ok {
				out = append(out, text)
			} else {
				out = append(out, m[2])
			}
		}
		return out
	}
	by := func(number, list, otherwise string) string {
		text, ok := s.text(number)
		parts := texts(list)
		next := 0
		text = verbs.ReplaceAllStringFunc(text, func(verb string) string {
			if verb == "%%" {
				return "%"
			}
			if next >= len(parts) {
				ok = false
				return verb
			}
			next++
			if code, err := strconv.Atoi(parts[next-1]); err == nil && strings.HasSuffix(verb, "c") {
				return string(rune(code))
			}
			return parts[next-1]
		})
		if !ok {
			return otherwise
		}
		return s.literal(text, otherwise)
	}
	if language == "python" && strings.Contains(s.code, "format") {
		s.replace(formatted, func(m []string) string {
			text, ok := s.text(m[1])
			parts := texts(m[2])
			next := 0
			text = braced.ReplaceAllStringFunc(text, func(place string) string {
				at := next
				if n, err := strconv.Atoi(strings.Trim(place, "{}")); err == nil {
					at = n
				}
				next++
				if at >= len(parts) {
					ok = false
					return place
				}
				return parts[at]
			})
			if !ok {
				return m[0]
			}
			return s.literal(text, m[0])
		})
	}
	if (language == "python" || language == "ruby") && strings.Contains(s.code, "%") {
		s.replace(percent, func(m []string) string { return by(m[1], m[2]+m[3], m[0]) })
	}
	if language == "perl" || language == "ruby" || language == "php" {
		s.replace(sprintf, func(m []string) string { return by(m[1]+m[3], m[2]+m[4], m[0]) })
	}
	if strings.Contains(s.code, ":") || strings.Contains(s.code, "=>") {
		s.tables()
	}
	if !strings.Contains(s.code, "[") {
		return
	}
	s.elements()
}

// elements puts the strings in the place of what takes them out of lists by their indexes.
func (s *skeleton) elements() {
	var b strings.Builder
	done := 0
	for _, m := range element.FindAllStringSubmatchIndex(s.worth(element)) {
		before := s.code[:m[0]]
		if s.language == "python" || s.language == "node" { // where no argument stands without a bracket
			before = strings.TrimRight(before, " \t")
		}
		if before != "" && (wordByte(before[len(before)-1]) && !conditions[wordBefore(before+" ")] || strings.IndexByte(`)]}"`, before[len(before)-1]) >= 0) {
			continue // the arguments of a call, or the key of an element
		}
		g := pattern.Groups(s.code, m)
		parts := values.FindAllString(g[1])
		at, err := strconv.Atoi(g[2])
		if at < 0 {
			at += len(parts)
		}
		if err != nil || at < 0 || at >= len(parts) {
			continue
		}
		b.WriteString(s.code[done:m[0]])
		b.WriteString(parts[at])
		done = m[1]
	}
	if done > 0 {
		s.code, s.pairs = b.String()+s.code[done:], nil
	}
}

// byReflection is what sets members of something that it is given.
var byReflection = pattern.New(`\b(?:Object\s*\.\s*(?:assign|defineProperty|defineProperties)|Reflect\s*\.\s*\w+|setattr|vars|globals|__dict__|__setattr__)\b`)

// tables puts strings in the place of what takes them out of tables that variables are set to and to nothing else.
func (s *skeleton) tables() {
	if byReflection.MatchString(s.worth(byReflection)) {
		return
	}
	for n, m := range tableOf.FindAllStringSubmatch(s.worth(tableOf)) {
		if n == maxConstants {
			return
		}
		name, entries := m[1], map[string]string{}
		for _, pair := range tablePair.FindAllStringSubmatch(m[2]) {
			key := pair[2]
			if text, ok := s.text(pair[1]); ok {
				key = text
			}
			entries[key] = `"` + pair[3] + `"`
		}
		times := 0
		for place := range places(s.code, name) {
			behind := s.code[place+len(name):]
			if m := memberOf.FindStringSubmatch(behind); assignedTo.MatchString(behind) || sets(behind) || s.gets(place, name) || m != nil && storing[m[1]] {
				if times++; times > 1 {
					break
				}
			}
		}
		if times == 1 {
			s.take(name, entries)
		}
	}
}

// take puts the entries of a table in the place of what takes them out of it.
func (s *skeleton) take(name string, entries map[string]string) {
	var b strings.Builder
	done := 0
	for at := range mentions(s.code, name) {
		m := takes.FindStringSubmatch(s.code[at+len(name):])
		if m == nil || at < done {
			continue
		}
		key := m[2] + m[4] + m[6]
		if text, ok := s.text(m[1] + m[3] + m[5]); ok {
			key = text
		}
		if entry, ok := entries[key]; ok {
			b.WriteString(strings.TrimRight(s.code[done:at], "$%") + entry)
			done = at + len(name) + len(m[0])
		}
	}
	s.code, s.pairs = b.String()+s.code[done:], nil
}
