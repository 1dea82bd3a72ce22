package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// reading is what the options of read and mapfile say.
type reading struct {
	names   []string
	list    bool   // the first name is that of an array
	raw     bool   // backslashes are letters
	delim   string // what ends a line
	count   string // how many characters are read at most, or lines
	exactly bool   // so many, whatever they are
	other   bool   // it reads elsewhere, or fills the array from another place on
}

// drain notes that something may have read of the input, where that is known: else it makes no difference.
func (s *state) drain() { s.drained = s.drained || s.in.fed > 0 || s.input != nil }

// readsNothing are commands that read nothing.
var readsNothing = map[string]bool{"echo": true, "printf": true, "test": true, "[": true, "true": true, "false": true, ":": true}

func readOptions(args []string, mapfile bool) reading {
	r := reading{list: mapfile, raw: mapfile, delim: "\n"}
	valued := "adinNptu"
	if mapfile {
		valued = "dnOsuCc"
	}
	for i := 0; i < len(args); i++ {
		letters, option := strings.CutPrefix(args[i], "-")
		if !option || letters == "" {
			r.names = append(r.names, args[i])
			continue
		}
		for at, letter := range letters {
			if !strings.ContainsRune(valued, letter) {
				r.raw = r.raw || letter == 'r'
				continue
			}
			value := letters[at+len(string(letter)):]
			if value == "" && i+1 < len(args) {
				i++
				value = args[i]
			}
			r.option(letter, value)
			break
		}
	}
	return r
}

func (r *reading) option(letter rune, value string) {
	switch letter {
	case 'a':
		r.names, r.list = append(r.names, value), true
	case 'd':
		if r.delim = "\x00"; value != "" {
			r.delim = value[:1]
		}
	case 'n', 'N':
		r.count, r.exactly = value, letter == 'N'
	case 'O', 's', 'u':
		r.other = r.other || value != "0"
	case 't':
		r.other = r.other || strings.Trim(value, "0.") == "" // it only asks whether there is something to read
	}
}

// lines are those that are read from a text; not known if that isn't, or if only a part of it is read.
func (r *reading) lines(stdin Stream, mapfile bool) []string {
	unknown := []string{Unknown}
	if !stdin.Known || r.other || !r.raw && strings.Contains(stdin.Text, `\`) {
		return unknown
	}
	if r.exactly {
		r.delim = "\x00"
	}
	lines := strings.Split(strings.TrimSuffix(stdin.Text, r.delim), r.delim)
	if r.count == "" || r.count == "0" && mapfile {
		return lines
	}
	if n, err := strconv.Atoi(r.count); err != nil || mapfile && n < len(lines) || !mapfile && n < len(lines[0]) {
		return unknown
	}
	return lines
}

// read sets the variables that read and mapfile fill. A one-line input that is known is assigned; else the variables
// aren't known.
func (in *Interpreter) read(c *Call, st *state, args []string) {
	mapfile := c.Argv[0].Text != "read"
	r := readOptions(args, mapfile)
	in.named(&c.Place, r.names...)
	if callback := optionValue(args, 'C'); mapfile && callback != "" {
		in.code(&c.Place, callback+" 0 "+Item, st.clone(), Stream{}) // for the lines that it reads
	}
	lines := r.lines(c.Stdin, mapfile)
	if st.drained && len(lines) == 1 && lines[0] != Unknown {
		lines[0] = Unset // or nothing is left to read
	}
	st.drain()
	if len(r.names) == 0 {
		r.names = []string{"REPLY"}
		if r.list {
			r.names = []string{"MAPFILE"}
		}
	}
	separators, known := st.separators()
	if value, ok := c.Env["IFS"]; ok {
		separators, known = value, !HasUnknown(value)
	}
	if !known && splits(lines[0], separators) || !mapfile && !even(lines[0], strings.Trim(separators, blanks)) {
		lines[0] = Unknown
	}
	words := strings.FieldsFunc(lines[0], func(r rune) bool { return strings.ContainsRune(separators, r) })
	switch {
	case mapfile:
		words = lines
	case r.exactly:
		words = lines[:1]
	}
	if r.list {
		if len(lines) > 1 && !mapfile {
			words = []string{Unknown}
		}
		st.setList(r.names[0], words)
		return
	}
	for i, name := range r.names {
		value := ""
		switch {
		case len(lines) > 1, lines[0] == Unknown:
			value = Unknown
		case i == len(r.names)-1 && i < len(words):
			value = remaining(lines[0], words, i, separators)
		case i < len(words):
			value = words[i]
		}
		st.set(name, value)
	}
}

// readsText says whether a statement reads variables from text that stands beside it, which sets them whether it succeeds or not: it
// fails where the text ends before what should end it.
func readsText(stmt *syntax.Stmt, st *state) bool {
	simple, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(simple.Args) < 2 || simple.Args[0].Lit() != "read" || len(stmt.Redirs) != 1 {
		return false
	}
	if st.redefines("read") {
		return false
	}
	for i, word := range simple.Args[1:] {
		delimiter := simple.Args[i].Lit()
		switch text := word.Lit(); {
		case strings.HasPrefix(delimiter, "-") && strings.HasSuffix(delimiter, "d"):
		case text == "" || text[0] != '-' && !syntax.ValidName(text) || text[0] == '-' && strings.Trim(text[1:], "rsed") != "":
			return false
		}
	}
	switch stmt.Redirs[0].Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return stmt.Redirs[0].N == nil
	}
	return false
}

// remaining is what the last of several names gets: the words from i on, with what stands between them.
func remaining(line string, words []string, i int, separators string) string {
	rest := line
	for _, word := range words[:i] {
		_, rest, _ = strings.Cut(rest, word)
	}
	return strings.Trim(rest, separators)
}
