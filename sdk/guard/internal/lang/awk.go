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
	tokens := awkConstants(awkJoined(awkTokens(code)))
	out := awkPrints(tokens)
	printing := false
	printed := map[string]string{} // by file
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
			file := awkString(tokens[i+1:])
			printed[file] += awkPrinted(tokens[:i])
			out = append(out, Effect{Kind: Write, Text: file, Content: printed[file]})
		case (t.text == ">" || t.text == ">>") && printing && next.text == "ENVIRON" && i+4 < len(tokens) && tokens[i+3].text == "HOME":
			out = append(out, Effect{Kind: Write, Text: "~/" + awkString(tokens[i+5:])})
		case t.text == "<" && i > 0 && awkGetline(tokens[:i]) && next.kind == '"':
			out = append(out, Effect{Kind: Read, Text: awkString(tokens[i+1:])})
		case t.kind == 'a' && t.text == "ARGV" && next.text == "[":
			if file, ok := awkSet(tokens[i+2:]); ok {
				out = append(out, Effect{Kind: Read, Text: file})
			}
		case t.text == "@":
			out = append(out, Effect{Kind: Dynamic, Text: "awk's @ loads code or calls a function by its name"})
		case t.kind == '"' && strings.HasPrefix(t.text, "/inet"):
			out = append(out, Effect{Kind: Remote, Text: t.text})
		}
	}
	return out
}

// awkJoined puts strings together that stand side by side, which is how awk puts them together, and takes the brackets off single ones.
func awkJoined(tokens []token) []token {
	out := tokens[:0]
	for _, t := range tokens {
		n := len(out)
		switch {
		case t.kind == '"' && n > 0 && out[n-1].kind == '"' && len(out[n-1].text)+len(t.text) < maxConstant:
			out[n-1].text += t.text
		case t.kind == '.' && t.text == ")" && n > 2 && out[n-1].kind == '"' && out[n-2].text == "(" && out[n-2].kind == '.' && (out[n-3].text == ">" || out[n-3].text == ">>" || out[n-3].text == "<" || out[n-3].text == "|" || out[n-3].text == "="):
			out[n-2] = out[n-1]
			out = out[:n-1]
		default:
			out = append(out, t)
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
		if (t.text == "sub" || t.text == "gsub") && tokens[i+1].text == "(" {
			if name := lastIn(tokens[i+2:]); name != "" {
				variable[name] = true
			}
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

// lastIn is the variable that is the last argument of a call; "" if it is something else.
func lastIn(tokens []token) string {
	depth := 0
	for i, t := range tokens {
		switch {
		case t.kind == '.' && t.text == "(":
			depth++
		case t.kind == '.' && t.text == ")" && depth > 0:
			depth--
		case t.kind == '.' && t.text == ")":
			if i > 1 && tokens[i-1].kind == 'a' && tokens[i-2].text == "," {
				return tokens[i-1].text
			}
			return ""
		}
	}
	return ""
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
	start, depth := len(tokens), 0
	for start > 0 {
		t := tokens[start-1]
		if t.text == ")" && t.kind == '.' {
			depth++
		} else if t.text == "(" && t.kind == '.' {
			depth--
		}
		if depth > 0 && t.text != "{" && t.text != ";" {
			start--
			continue
		}
		if t.kind != '"' && t.kind != 'a' && t.text != ")" && t.text != "(" && t.text != "$" && t.kind != '0' || t.text == "while" || t.text == "if" || t.text == "print" {
			break
		}
		start--
	}
	return awkString(tokens[start:])
}

// awkPrinted is what is printed by the statement that ends the tokens, if it is constant.
func awkPrinted(tokens []token) string {
	for i := len(tokens) - 1; i >= 0 && i >= len(tokens)-8; i-- {
		if tokens[i].text == "print" || tokens[i].text == "printf" {
			if text := awkString(tokens[i+1:]); !shell.HasUnknown(text) {
				return text + "\n"
			}
			return ""
		}
	}
	return ""
}

// awkSet is the string that an element of an array is set to, its index being what the tokens begin with.
func awkSet(tokens []token) (string, bool) {
	for i, t := range tokens {
		if t.text == "]" {
			return awkString(tokens[min(i+2, len(tokens)):]), i+2 < len(tokens) && tokens[i+1].text == "=" && tokens[i+2].kind == '"'
		}
		if t.text == ";" || t.text == "\n" || t.text == "}" {
			break
		}
	}
	return "", false
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

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }
