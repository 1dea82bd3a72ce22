package lang

import (
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// token is a token of awk: a string ('"'), a regular expression ('/'), a word ('a'), a number ('0') or a sign.
type token struct {
	kind byte
	text string
}

// Awk says what an awk program does: it can run commands through system and pipes, and read and write files.
func Awk(code string) []Effect {
	tokens := awkConstants(awkTokens(code))
	var out []Effect
	printing := false
	for i, t := range tokens {
		next := token{}
		if i+1 < len(tokens) {
			next = tokens[i+1]
		}
		switch {
		case t.kind == 'a' && (t.text == "print" || t.text == "printf"):
			printing = true
		case t.text == ";" || t.text == "\n" || t.text == "}":
			printing = false
		case t.kind == 'a' && t.text == "system" && next.text == "(":
			out = append(out, Effect{Kind: Shell, Text: awkString(tokens[i+2:])})
		case (t.text == "|" || t.text == "|&") && next.text == "getline":
			out = append(out, Effect{Kind: Shell, Text: awkBefore(tokens[:i])})
		case t.text == "|" || t.text == "|&":
			out = append(out, Effect{Kind: Shell, Text: awkString(tokens[i+1:]), Fed: true})
		case (t.text == ">" || t.text == ">>") && printing && next.kind == '"':
			out = append(out, Effect{Kind: Write, Text: awkString(tokens[i+1:])})
		case t.text == "<" && i > 0 && awkGetline(tokens[:i]) && next.kind == '"':
			out = append(out, Effect{Kind: Read, Text: awkString(tokens[i+1:])})
		case t.text == "@":
			out = append(out, Effect{Kind: Dynamic, Text: "awk's @ loads code or calls a function by its name"})
		case t.kind == '"' && strings.HasPrefix(t.text, "/inet"):
			out = append(out, Effect{Kind: Remote, Text: t.text})
		}
	}
	return out
}

// changing are the signs behind a variable that changes in a way that isn't followed.
var changing = []string{"=", "+", "-", "[", ","}

// awkConstants replaces the variables that are only ever assigned one string by that string.
func awkConstants(tokens []token) []token {
	values := map[string]string{}
	variable := map[string]bool{}
	for i, t := range tokens {
		if t.kind != 'a' || i+1 >= len(tokens) {
			continue
		}
		switch next := tokens[i+1]; {
		case next.text == "=" && i+3 < len(tokens) && tokens[i+2].kind == '"' && (tokens[i+3].text == ";" || tokens[i+3].text == "}" || tokens[i+3].text == "\n"):
			if value, ok := values[t.text]; ok && value != tokens[i+2].text {
				variable[t.text] = true
			}
			values[t.text] = tokens[i+2].text
		case next.kind == '.' && slices.Contains(changing, next.text) || i > 0 && tokens[i-1].text == "getline":
			variable[t.text] = true
		}
	}
	out := make([]token, len(tokens))
	for i, t := range tokens {
		value, ok := values[t.text]
		if out[i] = t; ok && t.kind == 'a' && !variable[t.text] && (i+1 >= len(tokens) || tokens[i+1].text != "=") {
			out[i] = token{'"', value}
		}
	}
	return out
}

// awkGetline says whether getline, or getline and a variable, end the tokens.
func awkGetline(tokens []token) bool {
	for i := len(tokens) - 1; i >= 0 && i >= len(tokens)-4; i-- {
		if tokens[i].text == "getline" {
			return true
		}
	}
	return false
}

// awkString is the value of the expression that begins with tokens, with a mark for the parts that aren't constant.
func awkString(tokens []token) string {
	var b strings.Builder
	depth := 0
	for _, t := range tokens {
		switch {
		case t.kind == '"':
			b.WriteString(t.text)
		case t.text == "(":
			depth++
		case t.text == ")":
			if depth--; depth < 0 {
				return b.String()
			}
		case t.text == ";" || t.text == "}" || t.text == "\n" || t.text == "|" || t.text == ">":
			return b.String()
		default:
			b.WriteString(shell.Unknown)
		}
	}
	return b.String()
}

// awkBefore is the value of the expression that ends the tokens.
func awkBefore(tokens []token) string {
	start := len(tokens)
	for start > 0 {
		t := tokens[start-1]
		if t.kind != '"' && t.kind != 'a' && t.text != ")" && t.text != "(" && t.text != "$" && t.kind != '0' || t.text == "while" || t.text == "if" || t.text == "print" {
			break
		}
		start--
	}
	return awkString(tokens[start:])
}

// awkTokens splits a program.
func awkTokens(code string) []token {
	var out []token
	for i := 0; i < len(code); {
		c := code[i]
		switch {
		case c == ' ' || c == '\t':
			i++
		case c == '#':
			for i < len(code) && code[i] != '\n' {
				i++
			}
		case c == '"':
			text, n := quotedText(code[i:], '"')
			out = append(out, token{'"', text})
			i += n
		case c == '/' && regexAllowed(out):
			_, n := quotedText(code[i:], '/')
			out = append(out, token{'/', ""})
			i += n
		case letter(c):
			start := i
			for i < len(code) && (letter(code[i]) || digit(code[i])) {
				i++
			}
			out = append(out, token{'a', code[start:i]})
		case digit(c):
			start := i
			for i < len(code) && (digit(code[i]) || code[i] == '.') {
				i++
			}
			out = append(out, token{'0', code[start:i]})
		default:
			n := 1
			if two := code[i:min(i+2, len(code))]; two == "||" || two == "|&" || two == ">>" || two == ">=" || two == "<=" || two == "&&" {
				n = 2
			}
			out = append(out, token{'.', code[i : i+n]})
			i += n
		}
	}
	return out
}

// regexAllowed says whether a slash begins a regular expression and doesn't divide.
func regexAllowed(before []token) bool {
	if len(before) == 0 {
		return true
	}
	last := before[len(before)-1]
	switch last.kind {
	case '"', '0', '/':
		return false
	case 'a':
		return last.text == "return" || last.text == "print" || last.text == "in"
	}
	return last.text != ")" && last.text != "]" && last.text != "$"
}

// quotedText returns what stands between quote and the next unescaped quote, escapes resolved, and its length with
// both quotes.
func quotedText(s string, quote byte) (string, int) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			if i++; i < len(s) {
				switch s[i] {
				case 'n':
					b.WriteByte('\n')
				case 't':
					b.WriteByte('\t')
				default:
					b.WriteByte(s[i])
				}
			}
		case quote:
			return b.String(), i + 1
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), len(s)
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }
