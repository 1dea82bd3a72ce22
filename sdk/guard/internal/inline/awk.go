package inline

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// token is a token of awk: a string ('"'), a regular expression ('/'), a word ('a'), a number ('0') or a sign.
type token struct {
	kind byte
	text string
}

// awkEffects returns what an awk program does: it can run commands through system and pipes, and read and write files.
func awkEffects(code string) []Effect {
	tokens := awkTokens(code)
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
			out = append(out, Effect{Kind: Computed, Text: "awk's @ loads code or calls a function by its name"})
		case t.kind == '"' && strings.HasPrefix(t.text, "/inet"):
			out = append(out, Effect{Kind: Remote, Text: t.text})
		}
	}
	return out
}

// awkGetline reports whether getline, or getline and a variable, end the tokens.
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
		if !awkOperand(t) {
			break
		}
		start--
	}
	return awkString(tokens[start:])
}

// awkOperand reports whether a token may be part of the expression before a pipe.
func awkOperand(t token) bool {
	switch t.kind {
	case '"', '0':
		return true
	case 'a':
		return t.text != "while" && t.text != "if" && t.text != "print"
	}
	return t.text == ")" || t.text == "(" || t.text == "$"
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
			text, n := quoted(code[i:], '"')
			out = append(out, token{'"', text})
			i += n
		case c == '/' && regexAllowed(out):
			_, n := quoted(code[i:], '/')
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
			switch code[i:min(i+2, len(code))] {
			case "||", "|&", ">>", ">=", "<=", "&&":
				n = 2
			}
			out = append(out, token{'.', code[i : i+n]})
			i += n
		}
	}
	return out
}

// regexAllowed reports whether a slash begins a regular expression and doesn't divide.
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

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }

func digit(c byte) bool { return c >= '0' && c <= '9' }
