package lang

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

// kept are what a database keeps that DROP deletes with all that is in it.
var kept = map[string]bool{"DATABASE": true, "SCHEMA": true, "TABLE": true, "TABLESPACE": true, "KEYSPACE": true, "OWNED": true}

// ServerSQL says what SQL for a server does: outside the database, and to what other people keep in it.
func ServerSQL(code string) []Effect {
	out := append(SQL(code), drops(code, false, 0)...)
	if strings.Contains(code, `\'`) || strings.Contains(code, `\"`) {
		out = append(out, drops(code, true, 0)...) // whether a backslash keeps a string open is up to the server
	}
	if at := strings.Index(code, `\gexec`); at >= 0 && made.MatchString(code[:at]) {
		out = append(out, Effect{Kind: Drop, Text: "what a query makes, which \\gexec runs,"})
	}
	return out
}

// made matches strings of which statements are made that delete.
var made = pattern.New(`(?i)'\s*(?:drop|truncate|delete)\s`)

// drops finds the statements that delete a table or more with everything in it. In strings, a backslash may stand for itself, or
// escape what follows it.
func drops(code string, escapes bool, depth int) (out []Effect) {
	add := func(text string) { out = append(out, Effect{Kind: Drop, Text: text}) }
	first, last, emptied := "", "", "" // of the statement: its first word, the last one, and the words that would empty a table
	end := func() {
		if emptied != "" {
			add(emptied)
		}
		first, last, emptied = "", "", ""
	}
	for i := 0; i < len(code); {
		n, body := sqlToken(code[i:], escapes)
		word := strings.ToUpper(code[i : i+n])
		i += n
		switch {
		case body != "" && first == "DO" && depth < maxScripts:
			out = append(out, drops(body, escapes, depth+1)...) // a block, which runs at once
		case word == ";" || strings.HasPrefix(word, "\\"):
			end()
		case !letter(word[0]) && word[0] != '_':
		case first == "":
			if first, last = word, word; word == "TRUNCATE" {
				add(word)
			}
		case last == "DROP" && kept[word] && first != "GRANT" && first != "REVOKE":
			add("DROP " + word)
			last = word
		case last == "DELETE" && word == "FROM" && (first == "DELETE" || first == "BEGIN"):
			emptied, last = "DELETE without WHERE", word
		case word == "WHERE" || word == "USING" || word == "LIMIT":
			emptied, last = "", word
		case last == "BEGIN" && word == "TRUNCATE":
			add(word)
		default:
			last = word
		}
	}
	end()
	return out
}

// sqlToken is how long the first token of some SQL is, and what is between the marks of a string in dollars.
func sqlToken(code string, escapes bool) (n int, body string) {
	to := func(end string, from int) int {
		if at := strings.Index(code[from:], end); at >= 0 {
			return from + at + len(end)
		}
		return len(code)
	}
	switch c := code[0]; {
	case strings.HasPrefix(code, "--"), c == '\\':
		return to("\n", 1), ""
	case strings.HasPrefix(code, "/*!"):
		return 3, "" // MySQL runs what stands in it
	case strings.HasPrefix(code, "/*"):
		return to("*/", 2), ""
	case c == '\'' || c == '"' || c == '`':
		for n = 1; n < len(code) && code[n] != c; n++ {
			if escapes && code[n] == '\\' {
				n++
			}
		}
		return min(n+1, len(code)), ""
	case c == '$':
		tag := 1
		for tag < len(code) && (letter(code[tag]) || digit(code[tag]) || code[tag] == '_') {
			tag++
		}
		if tag == len(code) || code[tag] != '$' {
			return tag, ""
		}
		mark := code[:tag+1]
		n = to(mark, len(mark))
		return n, strings.TrimSuffix(code[len(mark):n], mark)
	}
	for n < len(code) && (letter(code[n]) || digit(code[n]) || code[n] == '_') {
		n++
	}
	return max(n, 1), ""
}

// flushes are the commands of Redis that delete everything, or stop it.
var flushes = map[string]bool{"FLUSHALL": true, "FLUSHDB": true, "SHUTDOWN": true}

// Redis says what commands of Redis, one a line, do to all that it keeps.
func Redis(code string) (out []Effect) {
	for line := range strings.Lines(code) {
		words := strings.Fields(strings.ToUpper(line))
		switch {
		case len(words) == 0:
		case flushes[words[0]]:
			out = append(out, Effect{Kind: Drop, Text: words[0]})
		case len(words) > 3 && words[0] == "CONFIG" && words[1] == "SET" && words[2] == "DIR":
			out = append(out, Effect{Kind: Write, Text: strings.Fields(line)[3]}) // where the server writes what it keeps
		case strings.HasPrefix(words[0], "EVAL") && (strings.Contains(line, "FLUSH") || strings.Contains(line, "flush")):
			out = append(out, Effect{Kind: Drop, Text: "a script that flushes"})
		}
	}
	return out
}

// mongoDrops are calls that delete a collection or more with everything in it, or stop the server.
var mongoDrops = pattern.New(`\.\s*(?:dropDatabase|drop|shutdownServer)\s*\(|\.\s*(?:deleteMany|remove)\s*\(\s*\{\s*\}\s*\)|\bdropDatabase\s*:`)

// Mongo says what code for the shell of MongoDB does: it is Node's, and most strings in it are no paths.
func Mongo(code string) (out []Effect) {
	for _, e := range Script("node", code) {
		if e.Kind == Shell || e.Kind == Argv || e.Kind == Delete {
			out = append(out, e)
		}
	}
	if s := strip("node", code); mongoDrops.MatchString(s.code) {
		out = append(out, Effect{Kind: Drop, Text: strings.Trim(mongoDrops.FindString(s.code), ". ({})")})
	}
	return out
}
