package lang

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

var (
	sqlShell = pattern.New(`(?im)^\s*(?:\.(?:sh|she|shel|shell|sy|sys|syst|syste|system)|\\!|system)\s+(.+)$`)
	// sqlPiped is a command that output goes to, or that something is read from.
	sqlPiped   = pattern.New(`(?im)^\s*(?:\.(?:once|output|import|o|read|rea|excel)|\\(?:o|out|g|gx|w|write|copy\b.*\b(?:to|from)\s+program))\s+(?:-\S+\s+)*['"]?\|\s*([^\n]+)$|\\g\s*\|\s*([^\n]+)$`)
	sqlEdit    = pattern.New(`(?i)\bedit\s*\(\s*[^()]*,\s*'([^']*)'\s*\)`)
	sqlDot     = pattern.New(`(?im)^\s*(?:source\s|\\\.|[.\\](?:read|output|once|import|open|save|backup|restore|cd|log|excel|load|archive|i|ir|include|o|out|g|w|source|tee|copy\b.*?\b(?:from|to))\s)\s*(?:-\S+\s+)*['"]?([^\s'";]+)`)
	sqlLiteral = pattern.New(`(?i)\b(?:readfile|writefile|attach(?:\s+database)?|from|to|infile|outfile|dumpfile|edit|load_extension|load_file|pg_read_file|pg_read_binary_file|pg_ls_dir|lo_import|lo_export|read_csv\w*|read_parquet|read_json\w*|read_text|fsdir|into)\s*\(?\s*'([^']*)'`)
	sqlQuoted  = pattern.New(`(?i)\b(?:infile|outfile|dumpfile|load_file|attach(?:\s+database)?)\s*\(?\s*"([^"]*)"`) // as MySQL and SQLite have them
	sqlProgram = pattern.New(`(?i)\bprogram\s+'([^']*)'`)
)

// SQL says what SQL, and the commands of SQL clients between it, do outside the database.
func SQL(code string) []Effect {
	var out []Effect
	for _, m := range sqlShell.FindAllStringSubmatch(code) {
		out = append(out, Effect{Kind: Shell, Text: m[1]})
	}
	for _, m := range sqlPiped.FindAllStringSubmatch(code) {
		out = append(out, Effect{Kind: Shell, Text: strings.TrimRight(m[1]+m[2], `'"`)})
	}
	for _, m := range sqlEdit.FindAllStringSubmatch(code) {
		out = append(out, Effect{Kind: Shell, Text: m[1]})
	}
	for _, m := range sqlProgram.FindAllStringSubmatch(code) {
		out = append(out, Effect{Kind: Shell, Text: m[1]})
	}
	for _, re := range []*pattern.Pattern{sqlDot, sqlLiteral, sqlQuoted} {
		for _, m := range re.FindAllStringSubmatch(code) {
			out = append(out, Effect{Kind: Path, Text: strings.TrimPrefix(m[1], "|")})
		}
	}
	return out
}

var (
	vimShell = pattern.New(`^(?:(?:sil(?:ent)?!?|exe(?:cute)?|r(?:ead)?|w(?:rite)?|e(?:dit)?|%|[\d,$.']+|bufdo|argdo|g/[^/]*/)\s*)*["']?!\s*([^\s"'].*)$`)
	vimTerm  = pattern.New(`^(?:bo(?:tright)?|vert(?:ical)?|tab)?\s*ter(?:m(?:inal)?)?\s+(.+)$`)
	vimCall  = pattern.New(`\b(?:system|systemlist|job_start|term_start|jobstart|termopen|libcall|libcallnr)\s*\(`)
	// vimComputed is a command of the shell that an expression gives.
	vimComputed = pattern.New(`^exe(?:cute)?\s+.*["']\s*(?:r\s*|sil(?:ent)?\s*)?!["']\s*(?:\.|,)|^exe(?:cute)?\s+["']?!["']?\s*\.`)
	// vimStarts gives functions that start commands the name that other languages have for it.
	vimStarts = strings.NewReplacer("systemlist(", "system(", "job_start(", "system(", "jobstart(", "system(", "termopen(", "system(", "term_start(", "system(")
	// vimWhen is what stands before a command that runs when something happens.
	vimWhen   = pattern.New(`^(?:au(?:tocmd)?!?\s+(?:\w+\s+)?[\w,]+\s+\S+|[nvic]?(?:nore)?map\s+\S+|com(?:mand)?!?(?:\s+-\S+)*\s+\w+)\s+(?:\+\+\w+\s+)*:?`)
	vimDelete = pattern.New(`\bdelete\s*\(\s*[^()]*,\s*["'](?:rf|d)["']\s*\)`)
	vimCode   = pattern.New(`^(?:py(?:thon)?3?x?|perl|ruby|tcl)\s+(.+)$`)
	vimLua    = pattern.New(`^lua\s+(.+)$`)
	// vimFeeds is a command that gives lines of the text to another one.
	vimFeeds = pattern.New(`^(?:w(?:rite)?|%|[\d,$.']+|g/[^/]*/)[\d,$.']*(?:w(?:rite)?)?\s*!`)
	// luaVim are commands of vim in Lua.
	luaVim  = pattern.New(`\bvim\.(?:cmd|api\.nvim_command|api\.nvim_exec2?)\s*\(?\s*(?:"([^"]*)"|'([^']*)'|\[\[(.*?)\]\])`)
	vimFile = pattern.New(`^(?:w(?:rite)?|sav(?:eas)?|e(?:dit)?|r(?:ead)?|so(?:urce)?|sp(?:lit)?|vs(?:plit)?|tabe(?:dit)?|f(?:ile)?|mks(?:ession)?|cd|lcd|n(?:ext)?)!?\s+(?:\+\S+\s+)?([^!\s]\S*)`)
)

var (
	// vimPuts is a list of lines that is written to a file.
	vimPuts = pattern.New(`\bwritefile\s*\(\s*\[([^\[\]]*)\]\s*,\s*["']([^"']+)["']`)
	// vimEnters are commands, and keys, that put a line into the text.
	vimEnters = pattern.New(`^(?:.*?\b(?:append|setline)\s*\(\s*[^,()]*(?:\([^()]*\))?\s*,\s*\[?\s*["']([^"']*)["']|(?:exe(?:cute)?\s*["'])?norm(?:al)?!?\s*(?:[0-9gG$^]*)[aAiIoO](.*?)(?:\\<.*)?["']?$|[\d$,.%]*(?:pu(?:t)?!?)\s*=\s*\\?["'](.*?)\\?["']?$)`)
	vimQuoted = pattern.New(`"([^"]*)"|'([^']*)'`)
)

// quotedIn are the strings in a list.
func quotedIn(list string) (texts []string) {
	for _, m := range vimQuoted.FindAllStringSubmatch(list) {
		texts = append(texts, m[1]+m[2])
	}
	return texts
}

// Entered are the lines that commands of ed, ex or vim put into the text: those behind a, i and c up to a dot, and what stands in
// calls and keys that do the same.
func Entered(code string) string {
	var text strings.Builder
	inside := false
	for _, line := range strings.Split(code, "\n") {
		command, first, one := strings.Cut(strings.TrimLeft(line, ": "), "|")
		verb := strings.TrimLeft(command, "0123456789,$.+-/%")
		switch {
		case inside && line == ".":
			inside = false
		case inside:
			text.WriteString(line + "\n")
		case verb == "a" || verb == "i" || verb == "c" || verb == "append" || verb == "insert" || verb == "change":
			if inside = !one; one {
				text.WriteString(first + "\n")
			}
		default:
			for _, part := range strings.Split(line, "|") {
				if m := vimEnters.FindStringSubmatch(strings.TrimLeft(part, ": ")); m != nil {
					text.WriteString(m[1] + m[2] + m[3] + "\n")
				}
			}
		}
	}
	return text.String()
}

// Vim says what a command of vi, vim or less does.
func Vim(code string) []Effect {
	if lines := strings.Split(code, "\n"); len(lines) > 1 {
		var out []Effect
		for _, line := range lines {
			out = append(out, Vim(line)...)
		}
		if text := Entered(code); text != "" {
			for i, e := range out {
				if e.Kind == Path {
					out[i].Content = text // it may be where the lines go
				}
			}
		}
		return out
	}
	var out []Effect
	for _, m := range vimPuts.FindAllStringSubmatch(code) {
		out = append(out, Effect{Kind: Write, Text: m[2], Content: strings.Join(quotedIn(m[1]), "\n") + "\n"})
	}
	for _, command := range strings.Split(code, "|") {
		command = strings.TrimLeft(command, ": \t")
		if at := vimWhen.FindStringIndex(command); at != nil {
			command = command[at[1]:]
		}
		switch {
		case vimShell.MatchString(command):
			// What stands behind a bar belongs to the shell command.
			_, rest, _ := strings.Cut(code, command)
			out = append(out, Effect{Kind: Shell, Text: strings.Trim(vimShell.FindStringSubmatch(command)[1]+rest, `"'`), Fed: vimFeeds.MatchString(command)})
			return out
		case vimTerm.MatchString(command):
			out = append(out, Effect{Kind: Shell, Text: vimTerm.FindStringSubmatch(command)[1]})
		case vimLua.MatchString(command):
			_, code, _ := strings.Cut(code, "lua")
			return append(out, vimScript(code)...)
		case vimComputed.MatchString(command):
			out = append(out, Effect{Kind: Dynamic, Text: "execute runs a command that is put together when it runs"})
		case vimCall.MatchString(command):
			out = append(out, Script("vim", vimStarts.Replace(command))...)
		case vimDelete.MatchString(command):
			out = append(out, Effect{Kind: Delete, Text: "delete()"})
		case vimCode.MatchString(command):
			out = append(out, Script("python", vimCode.FindStringSubmatch(command)[1])...)
		case vimFile.MatchString(command):
			out = append(out, Effect{Kind: Path, Text: vimFile.FindStringSubmatch(command)[1]})
		}
	}
	return out
}

// luaCalls are vim's functions by the names that they have without Lua.
var luaCalls = strings.NewReplacer("vim.fn.", "", "vim.system", "system")

// vimScript says what Lua does that vim runs.
func vimScript(code string) []Effect {
	var out []Effect
	for _, m := range luaVim.FindAllStringSubmatch(code) {
		out = append(out, Vim(m[1]+m[2]+m[3])...)
	}
	return append(out, Script("lua", luaCalls.Replace(code))...)
}

var (
	gdbShell  = pattern.New(`(?m)^\s*(?:shell|!|make|platform shell)\s*(.+)$`)
	gdbCode   = pattern.New(`(?m)^\s*(?:python|py|script|pi)\s+(.+)$`)
	gdbPipe   = pattern.New(`(?m)^\s*(?:pipe\s|\|)[^|\n]*\|\s*(.+)$`)
	gdbFiles  = pattern.New(`(?m)^\s*(?:source(?:\s+-\w+)*|file|exec-file|symbol-file|add-symbol-file|core(?:-file)?|cd|restore|set\s+logging\s+(?:file|redirect)|save\s+[\w-]+|generate-core-file|gcore|dump\s+\w+(?:\s+\w+)?|append\s+\w+(?:\s+\w+)?|compile\s+file)\s+(\S+)`)
	gdbCall   = pattern.New(`\b(?:system|popen)\s*\(\s*"((?:[^"\\]|\\.)*)"`)
	tclDelete = pattern.New(`\bfile\s+delete\s+-force\b`)
	tclFiles  = pattern.New(`\b(?:open|source|cd|glob(?:\s+-\w+)*|file\s+\w+(?:\s+-\w+)*|load)\s+([^\s\];]+)`)
	tclOpens  = pattern.New(`\bopen\s+(\S+)\s+[wa]`)
	tclPuts   = pattern.New(`\bputs\s+(?:-nonewline\s+)?\$\w+\s+("(?:[^"\\]|\\.)*"|\{[^{}]*\})`)
	tclEval   = pattern.New(`(?m)(?:^|[;\[{])\s*(?:eval|uplevel|subst)\s+[^;\n]*\[`)
	tclStart  = pattern.New(`(?m)(?:^|[;\[{"\s])(?:spawn|exec|system)\s+(?:-\w+\s+)*([^;\]}\n]+)`)
)

// Gdb says what commands of a debugger do.
func Gdb(code string) []Effect {
	var out []Effect
	for _, m := range gdbShell.FindAllStringSubmatch(code) {
		out = append(out, Effect{Kind: Shell, Text: m[1]})
	}
	for _, m := range gdbPipe.FindAllStringSubmatch(code) {
		out = append(out, Effect{Kind: Shell, Text: m[1], Fed: true})
	}
	for _, m := range gdbCall.FindAllStringSubmatch(code) {
		out = append(out, Effect{Kind: Shell, Text: m[1]})
	}
	for _, m := range gdbFiles.FindAllStringSubmatch(code) {
		if file := strings.Trim(m[1], `"'`); strings.HasPrefix(file, "/") || strings.HasPrefix(file, "..") || strings.HasPrefix(file, "~") {
			out = append(out, Effect{Kind: Path, Text: file})
		}
	}
	for _, m := range gdbCode.FindAllStringSubmatch(code) {
		out = append(out, Script("python", m[1])...)
	}
	return out
}

// Tcl says which commands a script of Tcl or expect starts, and which files its strings name.
func Tcl(code string) []Effect {
	var out []Effect
	for _, m := range tclStart.FindAllStringSubmatch(code) {
		out = append(out, Effect{Kind: Shell, Text: strings.Trim(m[1], `"`)})
	}
	for _, m := range tclFiles.FindAllStringSubmatch(code) {
		if file := strings.Trim(m[1], `"{}`); strings.HasPrefix(file, "/") || strings.HasPrefix(file, "..") || strings.HasPrefix(file, "~") {
			out = append(out, Effect{Kind: Path, Text: file})
		}
	}
	if m := tclOpens.FindStringSubmatch(code); m != nil {
		var text strings.Builder
		for _, p := range tclPuts.FindAllStringSubmatch(code) {
			text.WriteString(strings.Trim(p[1], `"{}`) + "\n")
		}
		out = append(out, Effect{Kind: Write, Text: strings.Trim(m[1], `"{}`), Content: text.String(), Adds: true})
	}
	if tclEval.MatchString(code) {
		out = append(out, Effect{Kind: Dynamic, Text: "eval runs code that is only known when it runs"})
	}
	if tclDelete.MatchString(code) {
		out = append(out, Effect{Kind: Delete, Text: "file delete -force"})
	}
	return append(out, Script("tcl", code)...)
}

// unquoted is code of a Lisp without the quotes in front of its lists and symbols, which begin strings in other languages.
func unquoted(code string) string {
	var b strings.Builder
	in := false
	for i := 0; i < len(code); i++ {
		switch c := code[i]; {
		case c == '\\' && in && i+1 < len(code):
			b.WriteByte(c)
			i++
		case c == '"':
			in = !in
		case !in && (c == '\'' || c == '`'):
			continue
		}
		b.WriteByte(code[i])
	}
	return b.String()
}
