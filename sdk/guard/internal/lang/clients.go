package lang

import (
	"regexp"
	"strings"
)

var (
	sqlShell   = regexp.MustCompile(`(?im)^\s*(?:\.(?:shell|system)|\\!|system)\s+(.+)$`)
	sqlDot     = regexp.MustCompile(`(?im)^\s*[.\\](?:read|output|once|import|open|save|backup|restore|cd|log|excel|load|archive|i|ir|include|o|out|g|w|source|tee|copy\b.*?\b(?:from|to))\s+(?:-\S+\s+)*['"]?([^\s'";]+)`)
	sqlLiteral = regexp.MustCompile(`(?i)\b(?:readfile|writefile|attach(?:\s+database)?|from|to|infile|outfile|dumpfile|edit|load_extension|load_file|pg_read_file|pg_read_binary_file|pg_ls_dir|lo_import|lo_export|read_csv\w*|read_parquet|read_json\w*|read_text|fsdir|into)\s*\(?\s*'([^']*)'`)
	sqlProgram = regexp.MustCompile(`(?i)\bprogram\s+'([^']*)'`)
)

// SQL says what SQL, and the commands of SQL clients between it, do outside the database.
func SQL(code string) []Effect {
	var out []Effect
	for _, m := range sqlShell.FindAllStringSubmatch(code, -1) {
		out = append(out, Effect{Kind: Shell, Text: m[1]})
	}
	for _, m := range sqlProgram.FindAllStringSubmatch(code, -1) {
		out = append(out, Effect{Kind: Shell, Text: m[1]})
	}
	for _, re := range []*regexp.Regexp{sqlDot, sqlLiteral} {
		for _, m := range re.FindAllStringSubmatch(code, -1) {
			out = append(out, Effect{Kind: Path, Text: strings.TrimPrefix(m[1], "|")})
		}
	}
	return out
}

var (
	vimShell = regexp.MustCompile(`^(?:(?:sil(?:ent)?!?|exe(?:cute)?|r(?:ead)?|w(?:rite)?|%|[\d,$.']+|bufdo|argdo|g/[^/]*/)\s*)*["']?!\s*([^\s"'].*)$`)
	vimTerm  = regexp.MustCompile(`^(?:bo(?:tright)?|vert(?:ical)?|tab)?\s*ter(?:m(?:inal)?)?\s+(.+)$`)
	vimCall  = regexp.MustCompile(`\b(?:system|systemlist|job_start|jobstart|termopen|libcall|libcallnr)\s*\(`)
	vimCode  = regexp.MustCompile(`^(?:py(?:thon)?3?x?|lua|perl|ruby|tcl)\s+(.+)$`)
	vimFile  = regexp.MustCompile(`^(?:w(?:rite)?|sav(?:eas)?|e(?:dit)?|r(?:ead)?|so(?:urce)?|sp(?:lit)?|vs(?:plit)?|tabe(?:dit)?|f(?:ile)?|mks(?:ession)?|cd|lcd|n(?:ext)?)!?\s+(?:\+\S+\s+)?([^!\s]\S*)`)
)

// Vim says what a command of vi, vim or less does.
func Vim(code string) []Effect {
	if lines := strings.Split(code, "\n"); len(lines) > 1 {
		var out []Effect
		for _, line := range lines {
			out = append(out, Vim(line)...)
		}
		return out
	}
	var out []Effect
	for _, command := range strings.Split(code, "|") {
		command = strings.TrimLeft(command, ": \t")
		switch {
		case vimShell.MatchString(command):
			// What stands behind a bar belongs to the shell command.
			_, rest, _ := strings.Cut(code, command)
			out = append(out, Effect{Kind: Shell, Text: strings.Trim(vimShell.FindStringSubmatch(command)[1]+rest, `"'`)})
			return out
		case vimTerm.MatchString(command):
			out = append(out, Effect{Kind: Shell, Text: vimTerm.FindStringSubmatch(command)[1]})
		case vimCall.MatchString(command):
			out = append(out, Script("vim", command)...)
		case vimCode.MatchString(command):
			out = append(out, Script("python", vimCode.FindStringSubmatch(command)[1])...)
		case vimFile.MatchString(command):
			out = append(out, Effect{Kind: Path, Text: vimFile.FindStringSubmatch(command)[1]})
		}
	}
	return out
}

// Make says what code of make does: $(shell …) runs commands, and so do recipes.
func Make(code string) []Effect {
	var out []Effect
	rest := code
	for {
		_, after, ok := strings.Cut(rest, "$(shell ")
		if !ok {
			break
		}
		depth, end := 1, len(after)
		for i, r := range after {
			if r == '(' {
				depth++
			} else if r == ')' {
				if depth--; depth == 0 {
					end = i
					break
				}
			}
		}
		out = append(out, Effect{Kind: Shell, Text: after[:end]})
		rest = after[end:]
	}
	for _, line := range strings.Split(code, "\n") {
		if recipe, ok := strings.CutPrefix(line, "\t"); ok {
			out = append(out, Effect{Kind: Shell, Text: strings.TrimLeft(recipe, "@-+")})
		} else if _, recipe, ok := strings.Cut(line, ";"); ok {
			out = append(out, Effect{Kind: Shell, Text: strings.TrimLeft(recipe, " @-+")})
		}
	}
	return out
}

var (
	gdbShell = regexp.MustCompile(`(?m)^\s*(?:shell|!|make|platform shell)\s*(.+)$`)
	gdbCode  = regexp.MustCompile(`(?m)^\s*(?:python|py|script|pi)\s+(.+)$`)
	tclStart = regexp.MustCompile(`(?m)(?:^|[;\[{"\s])(?:spawn|exec|system)\s+(?:-\w+\s+)*([^;\]}\n]+)`)
)

// Gdb says what commands of a debugger do.
func Gdb(code string) []Effect {
	var out []Effect
	for _, m := range gdbShell.FindAllStringSubmatch(code, -1) {
		out = append(out, Effect{Kind: Shell, Text: m[1]})
	}
	for _, m := range gdbCode.FindAllStringSubmatch(code, -1) {
		out = append(out, Script("python", m[1])...)
	}
	return out
}

// Tcl says which commands a script of Tcl or expect starts, and which files its strings name.
func Tcl(code string) []Effect {
	var out []Effect
	for _, m := range tclStart.FindAllStringSubmatch(code, -1) {
		out = append(out, Effect{Kind: Shell, Text: strings.Trim(m[1], `"`)})
	}
	return append(out, Script("tcl", code)...)
}
