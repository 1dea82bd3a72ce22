package guard

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/lang"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// quotations is what stands between quotes in the code of programs that calculate or look things up; dcStrings is the same of dc's.
var (
	quotations = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"|'([^']*)'`)
	dcStrings  = regexp.MustCompile(`\[([^\[\]]*)\]`)
	// outputs are files that SQLite's client writes to.
	outputs = regexp.MustCompile(`(?im)^\s*\.(?:output|once|o|out|excel)\s+['"]?([^\s'"|]+)|\bwritefile\s*\(\s*'([^']+)'`)
	// printing is what the same prints as it stands.
	printing = regexp.MustCompile(`(?m)^\s*\.print\s+(.+)$`)
	escapes  = strings.NewReplacer(`\n`, "\n", `\"`, `"`, `\t`, "\t", `\\`, `\`)
)

// says notes what a program may print of the texts in its code, for when the line runs that.
func (a *analysis) says(c *shell.Call, name string, argv []string) {
	texts, quoted := argv[1:], quotations
	switch name {
	case "expr":
		if quoted = nil; len(argv) == 5 && argv[1] == "substr" {
			texts = []string{cut(argv[2], argv[3], argv[4])}
		}
	case "jq":
		if !slices.ContainsFunc(texts, func(arg string) bool { return prints(arg, "nrj") }) {
			return // it prints JSON, in which a command has quotes
		}
	case "dc":
		quoted = dcStrings
	}
	if c.Stdin.Known && quoted != nil {
		texts = append(texts[:len(texts):len(texts)], c.Stdin.Text)
	}
	var found []string
	for _, text := range texts {
		if quoted == nil {
			found = append(found, text)
			continue
		}
		for _, m := range printing.FindAllStringSubmatch(text, -1) {
			found = append(found, strings.Trim(m[1], `'"`))
		}
		for _, m := range quoted.FindAllStringSubmatch(text, -1) {
			found = append(found, escapes.Replace(strings.Join(m[1:], "")))
		}
	}
	lines := lang.Lines(found)
	if strings.HasPrefix(name, "sqlite") && lines != "" {
		for _, m := range outputs.FindAllStringSubmatch(strings.Join(texts, "\n"), -1) {
			c.WriteMaybe(m[1]+m[2], shell.Stream{Piped: true, Text: lines, From: shell.From("sqlite's code")})
		}
	}
	if lines != "" {
		c.Output = shell.Stream{Piped: true, Text: strings.TrimLeft(c.Derived(name).Text+"\n", "\n") + lines, From: c.Stdin.From.And(shell.From(name + "'s code"))}
	} else if name == "jq" && slices.ContainsFunc(texts, func(arg string) bool {
		return strings.Contains(arg, "implode") || strings.Contains(arg, "@base") || strings.Contains(arg, "$ENV") || strings.Contains(arg, "env.")
	}) {
		c.Output = shell.Stream{Piped: true, From: c.Stdin.From.And(shell.From("base64"))} // it decodes, as that does
	}
}

// cut is the part of a text that begins at a place, counted from one, and is so long.
func cut(text, place, length string) string {
	from, err := strconv.Atoi(place)
	n, err2 := strconv.Atoi(length)
	if err != nil || err2 != nil || from < 1 || from > len(text) || n < 1 {
		return ""
	}
	return text[from-1 : min(len(text), from-1+n)]
}

// prints says whether an argument is a cluster of options with one of some letters.
func prints(arg, letters string) bool {
	return len(arg) > 1 && arg[0] == '-' && arg[1] != '-' && strings.ContainsAny(arg, letters) || arg == "--raw-output" || arg == "--null-input"
}

// jqScripts are the scripts of a package that a program of jq sets.
var jqScripts = regexp.MustCompile(`\.scripts\s*(?:\.\s*([\w-]+)|\.?\s*(?:\[\s*)?"([^"]+)"(?:\s*\])?)\s*\|?=\s*"((?:[^"\\]|\\.)*)"`)

// jqPairs are texts by names, as objects of jq have them.
var jqPairs = regexp.MustCompile(`([\w:-]+)"?\s*:\s*"((?:[^"\\]|\\.)*)"`)

// repackages notes the scripts that jq puts into a description of a package, for when the line runs them.
func (a *analysis) repackages(c *shell.Call, argv []string) {
	scripts := map[string]string{}
	for _, arg := range argv[1:] {
		if !strings.Contains(arg, "scripts") {
			continue
		}
		for _, m := range jqPairs.FindAllStringSubmatch(arg, -1) {
			scripts[m[1]] = escapes.Replace(m[2])
		}
		for _, m := range jqScripts.FindAllStringSubmatch(arg, -1) {
			scripts[m[1]+m[2]] = escapes.Replace(m[3])
		}
	}
	if len(scripts) == 0 {
		return
	}
	if text, err := json.Marshal(map[string]any{"scripts": scripts}); err == nil {
		c.Output = shell.Stream{Piped: true, Text: string(text), From: c.Stdin.From.And(shell.From("npm pkg"))}
	}
}

// entered notes the lines that an editor is told to put into the files that it edits.
func (a *analysis) entered(c *shell.Call, uses []programs.Use) {
	var text strings.Builder
	unknown := false
	for _, u := range uses {
		switch {
		case u.Kind == programs.Code && u.Lang == "vim":
			text.WriteString(lang.Entered(u.Text))
		case u.Kind == programs.Input && u.Lang == "vim":
			text.WriteString(lang.Entered(c.Stdin.Text))
			unknown = unknown || c.Stdin.Piped && !c.Stdin.Known
		}
	}
	if text.Len() == 0 && !unknown {
		return
	}
	for _, u := range uses {
		if u.Kind == programs.Write {
			c.WriteMaybe(u.Text, shell.Stream{Piped: true, Text: text.String(), From: shell.From("an editor's commands")})
		}
	}
}

// cutInto notes the pieces that split and csplit make where they aren't told how to name them.
func (a *analysis) cutInto(c *shell.Call, name string, uses []programs.Use) {
	if slices.ContainsFunc(uses, func(u programs.Use) bool { return u.Kind == programs.Write }) {
		return
	}
	if name == "split" {
		a.derived(c, name, "x")
	} else {
		a.derived(c, name, "xx")
	}
}
