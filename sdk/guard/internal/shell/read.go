package shell

import (
	"slices"
	"strings"
)

// read sets the variables that read and mapfile fill. A one-line input that is known is assigned; else the variables
// aren't known.
func (in *Interpreter) read(c *Call, st *state, args []string) {
	mapfile := c.Argv[0].Text != "read"
	names, list := readNames(args, mapfile)
	in.named(&c.Place, names...)
	if callback := optionValue(args, 'C'); mapfile && callback != "" {
		in.code(&c.Place, callback+" 0 "+Item, st.clone(), Stream{}) // for the lines that it reads
	}
	lines := []string{Unknown}
	switch {
	case c.Stdin.Known && !mapfile && whole(args) && len(names) == 1 && !list:
		st.set(names[0], strings.Trim(c.Stdin.Text, " \t\n"))
		return
	case c.Stdin.Known && readsAll(args, mapfile, c.Stdin.Text):
		lines = strings.Split(strings.TrimSuffix(c.Stdin.Text, "\n"), "\n")
	}
	if len(names) == 0 {
		names = []string{"REPLY"}
		if list {
			names = []string{"MAPFILE"}
		}
	}
	separators := st.Get("IFS").String()
	if value, ok := c.Env["IFS"]; ok {
		separators = value
	}
	words := strings.FieldsFunc(lines[0], func(r rune) bool { return strings.ContainsRune(separators, r) })
	if mapfile {
		words = lines
	}
	if list {
		st.setList(names[0], words)
		return
	}
	for i, name := range names {
		value := ""
		switch {
		case len(lines) > 1:
			value = Unknown
		case i == len(names)-1 && i < len(words):
			value = strings.Join(words[i:], " ")
		case i < len(words):
			value = words[i]
		}
		st.set(name, value)
	}
}

// readNames returns the variables that read or mapfile fills, and whether the first is an array.
func readNames(args []string, mapfile bool) (names []string, list bool) {
	list = mapfile
	valued := "adinNptu"
	if mapfile {
		valued = "dnOsuCc"
	}
	for i := 0; i < len(args); i++ {
		letters, option := strings.CutPrefix(args[i], "-")
		if !option || letters == "" {
			names = append(names, args[i])
			continue
		}
		for at, letter := range letters {
			if !strings.ContainsRune(valued, letter) {
				continue
			}
			value := letters[at+len(string(letter)):]
			if value == "" && i+1 < len(args) {
				i++
				value = args[i]
			}
			if letter == 'a' {
				names, list = append(names, value), true
			}
			break
		}
	}
	return names, list
}

// optionValue is the value of an option of one letter, attached or in the next argument; "" if there is none.
func optionValue(args []string, letter byte) string {
	for i, arg := range args {
		if at := strings.IndexByte(arg, letter); at > 0 && arg[0] == '-' && arg[1] != '-' {
			if value := arg[at+1:]; value != "" {
				return value
			}
			if i+1 < len(args) {
				return args[i+1]
			}
		}
	}
	return ""
}

// whole says whether read takes all of its input for a line: read -d ”, as for a here-document.
func whole(args []string) bool {
	at := slices.Index(args, "-d")
	if at < 0 {
		at = slices.Index(args, "-rd")
	}
	return at >= 0 && at+1 < len(args) && args[at+1] == "" && !takes(args, "nN") && (takes(args, "r") || slices.Contains(args, "-rd"))
}

// readsAll says whether read, or mapfile, takes lines as they stand.
func readsAll(args []string, mapfile bool, text string) bool {
	if mapfile {
		return !takes(args, "dnOs")
	}
	return !takes(args, "dnN") && (takes(args, "r") || !strings.Contains(text, `\`))
}

// takes says whether one of some letters is among the options.
func takes(args []string, letters string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		return len(arg) > 1 && arg[0] == '-' && strings.ContainsAny(arg[1:], letters)
	})
}
