package lang

import (
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

// strip separates code and strings.
func strip(language, code string) *skeleton {
	s := &skeleton{language: language}
	var b strings.Builder
	b.Grow(len(code))
	hash := language != "node" && language != "lua" && language != "applescript"
	for i := 0; i < len(code); {
		if n := ordinary(language, code, i); n > 0 {
			text := code[i : i+n]
			if i += n; language == "python" && i < len(code) && (code[i] == '"' || code[i] == '\'') {
				text = withoutPrefix(text)
			}
			b.WriteString(text)
			continue
		}
		c := code[i]
		switch {
		case c == '[' && language == "lua" && strings.HasPrefix(code[i:], "[["):
			text, rest, _ := strings.Cut(code[i+2:], "]]")
			i = len(code) - len(rest)
			s.add(&b, literal{text: text})
		case c == '#' && hash && (i == 0 || strings.IndexByte(" \t\n;", code[i-1]) >= 0):
			for i < len(code) && code[i] != '\n' {
				i++
			}
		case c == '/' && language == "node" && comment(code[i:]) > 0:
			i += comment(code[i:])
			b.WriteByte(' ')
		case language == "python" && (strings.HasPrefix(code[i:], `"""`) || strings.HasPrefix(code[i:], "'''")):
			end := strings.Index(code[i+3:], code[i:i+3])
			text := code[i+3:]
			if i += 3 + len(text); end >= 0 {
				i += end - len(text) + 3
				text = text[:end]
			}
			if strings.Contains(text, `\`) {
				text, _ = unescaped(`"`+text, 0, escapes(language, '"', ""))
			}
			s.add(&b, literal{text: text})
		case c == '<' && (language == "perl" || language == "ruby") && strings.HasPrefix(code[i:], "<<"):
			body, n, rest, tick := "", 0, "", false
			if s.documents++; s.documents <= maxDocuments {
				body, n, rest, tick = document(code[i:])
			}
			if n == 0 {
				b.WriteString("<<")
				i += 2
				continue
			}
			s.add(&b, literal{text: body, tick: tick, raw: true})
			code, i = rest, 0
		case s.regex(&b, language, code[i:]) > 0:
			i += s.matched
		case language == "perl" || language == "ruby":
			if words, n := wordList(code[i:], i > 0 && wordByte(code[i-1])); n > 0 {
				brackets := "[]"
				if language == "perl" {
					brackets = "()"
				}
				b.WriteByte(brackets[0])
				for at, word := range words {
					if at > 0 {
						b.WriteByte(',')
					}
					s.add(&b, literal{text: word})
				}
				b.WriteByte(brackets[1])
				i += n
				continue
			}
			if text, n, tick := operatorQuote(code[i:], i > 0 && wordByte(code[i-1])); n > 0 {
				if strings.Contains(text, `\`) && inserting(code[i:]) {
					if language == "perl" && cases(text) {
						text = cased(text)
					}
					text, _ = unescaped(`"`+text, 0, 8)
				}
				s.add(&b, literal{text: text, tick: tick})
				i += n
				continue
			}
			fallthrough
		default:
			if c == '\\' && i+1 < len(code) {
				if code[i+1] == '\n' && language == "python" {
					i += 2 // the line goes on
					continue
				}
				if r, n := numbered(code[i+1:], 16); n > 0 && language == "node" && code[i+1] == 'u' {
					b.WriteRune(r) // of a name
					i += n + 1
					continue
				}
			}
			if c != '"' && c != '\'' && c != '`' || c == '\'' && i > 0 && wordByte(code[i-1]) && language == "perl" {
				b.WriteByte(c)
				i++
				continue
			}
			rest, quote := code[i:], c
			if end := withStrings(language, rest); end > 0 {
				rest, quote = rest[:end], 0
			}
			text, n := unescaped(rest, quote, escapes(language, c, code[max(0, i-1):i]))
			if quote == 0 {
				n++
			}
			if language == "perl" && c != '\'' && cases(code[i:i+n]) {
				text, _ = unescaped(cased(code[i:i+n]), c, 8)
			}
			s.add(&b, literal{text: text, tick: c == '`', raw: c != '\'' || language == "python", template: language == "node"})
			i += n
		}
	}
	s.code = b.String()
	return s
}

// maxString is how much of a string is read to find such.
const maxString = 1 << 10

// withStrings is where a string of Ruby's ends that has strings in what is put into it, as in "#{"a"}"; 0 for any other.
func withStrings(language, code string) int {
	if language != "ruby" || code[0] == '\'' {
		return 0
	}
	code = code[:min(len(code), maxString)]
	depth, strung := 0, false
	for i := 1; i < len(code); i++ {
		switch c := code[i]; {
		case c == '\\':
			i++
		case c == '#' && strings.HasPrefix(code[i:], "#{"):
			depth++
			i++
		case depth > 0 && c == '{':
			depth++
		case depth > 0 && c == '}':
			depth--
		case c == code[0] && depth == 0:
			if !strung {
				return 0
			}
			return i
		case depth > 0 && (c == '"' || c == '\'' || c == '`'):
			end := strings.IndexByte(code[i+1:], c)
			if end < 0 {
				return 0
			}
			strung = true
			i += end + 1
		}
	}
	return 0
}

// ordinary is how much of code, from a place on, is neither string nor comment, whatever stands around it.
func ordinary(language, code string, from int) int {
	letters := language == "perl" || language == "ruby" // in which strings and expressions may begin with some
	for i := from; i < len(code); i++ {
		switch c := code[i]; {
		case letters && strings.IndexByte("mqsty", c) >= 0 && (i == 0 || !wordByte(code[i-1])):
			return i - from
		case !wordByte(c) && c != ' ' && c != '\n' && c != '(' && c != ')' && c != ',' && c != '.' && c != '=' && c != ':':
			return i - from
		}
	}
	return len(code) - from
}

// withoutPrefix is code of Python's in front of a string without the letters that say of which kind it is: what counts of b, r and u is
// in the string.
func withoutPrefix(code string) string {
	rest := strings.TrimRight(code, "bBrRuU")
	if n := len(code) - len(rest); n == 0 || n > 2 || rest != "" && wordByte(rest[len(rest)-1]) {
		return code
	}
	return rest
}

// maxDocuments is how many here-documents are read.
const maxDocuments = 128

// documents begin here-documents of Perl and Ruby.
var documents = pattern.New("^<<[~-]?(?:\"([^\"\n]+)\"|'([^'\n]+)'|`([^`\n]+)`|([A-Z_]\\w*))")

// document reads a here-document, the mark of which code begins with. It returns the code behind the mark, without the document; n is 0 if
// there is none.
func document(code string) (body string, n int, rest string, tick bool) {
	m := documents.FindStringSubmatch(code)
	if m == nil {
		return "", 0, "", false
	}
	line := strings.IndexByte(code, '\n')
	if line < 0 {
		return "", 0, "", false
	}
	tag, start := m[1]+m[2]+m[3]+m[4], line+1
	for at := start; at < len(code); {
		end := len(code)
		if next := strings.IndexByte(code[at:], '\n'); next >= 0 {
			end = at + next
		}
		if strings.TrimSpace(code[at:end]) == tag {
			return code[start:at], len(m[0]), code[len(m[0]):start] + code[end:], m[3] != ""
		}
		at = end + 1
	}
	return "", 0, "", false
}

// comment is how long the comment is that code begins with; 0 if it begins with none.
func comment(code string) int {
	switch {
	case strings.HasPrefix(code, "//"):
		if end := strings.IndexByte(code, '\n'); end > 0 {
			return end
		}
		return len(code)
	case strings.HasPrefix(code, "/*"):
		if end := strings.Index(code[2:], "*/"); end >= 0 {
			return end + 4
		}
	}
	return 0
}

func (s *skeleton) add(b *strings.Builder, l literal) {
	b.WriteString(`"` + strconv.Itoa(len(s.literals)) + `"`)
	s.literals = append(s.literals, l)
}

func wordByte(c byte) bool { return letter(c) || digit(c) }

// wordList reads a list of words of Perl or Ruby: qw(a b), %w[a b]. It returns how long it is.
func wordList(code string, inWord bool) (words []string, n int) {
	if inWord || len(code) < 4 || code[:2] != "qw" && code[:2] != "%w" && code[:2] != "%W" {
		return nil, 0
	}
	at := strings.IndexByte("({[</|!", code[2])
	if at < 0 {
		return nil, 0
	}
	end := strings.IndexByte(code[3:], ")}]>/|!"[at])
	if end < 0 {
		return nil, 0
	}
	return strings.Fields(code[3 : 3+end]), end + 4
}

// operatorQuote reads a quoting operator of Perl or Ruby: q(…), qq{…}, qx/…/, %x(…).
func operatorQuote(code string, inWord bool) (text string, n int, tick bool) {
	prefix := ""
	if code[0] != 'q' && code[0] != '%' {
		return "", 0, false
	}
	for _, p := range []string{"%x", "qx", "qq", "q", "%q", "%Q"} {
		if strings.HasPrefix(code, p) && len(code) > len(p) && strings.IndexByte("({[</|!~", code[len(p)]) >= 0 {
			prefix = p
			break
		}
	}
	if prefix == "" || inWord {
		return "", 0, false
	}
	closing := code[len(prefix)]
	if i := strings.IndexByte("({[<", closing); i >= 0 {
		closing = ")}]>"[i]
	}
	end := strings.IndexByte(code[len(prefix)+1:], closing)
	if end < 0 {
		return "", 0, false
	}
	return code[len(prefix)+1 : len(prefix)+1+end], len(prefix) + end + 2, strings.HasSuffix(prefix, "x")
}

// inserting says whether a quoting operator resolves escapes.
func inserting(code string) bool {
	return strings.HasPrefix(code, "qq") || strings.HasPrefix(code, "qx") || strings.HasPrefix(code, "%") && !strings.HasPrefix(code, "%q")
}

// tops are the directories at the top of file systems. A string that begins with another name is rather a route, a
// pattern or a separator than a path.
var tops = map[string]bool{
	"etc": true, "home": true, "root": true, "usr": true, "var": true, "tmp": true, "proc": true, "sys": true, "dev": true, "opt": true,
	"boot": true, "mnt": true, "media": true, "srv": true, "run": true, "lib": true, "lib64": true, "bin": true, "sbin": true,
	"Users": true, "private": true, "Library": true, "System": true, "Volumes": true, "Applications": true, "nix": true, "snap": true, "data": true, "workspace": true, "lost+found": true,
}

// openers are the endings of names of functions that open or list the file that their argument names.
var openers = strings.Fields("listdir scandir walk readdir readdirSync opendir glob chdir Path open entries children cd list_dir lfs.dir symlink symlinkSync symlink_to os.link linkSync cpSync copytree glob.sync")

// opens says whether a function that opens what stands next ends the code.
func opens(before string) bool {
	before = strings.TrimRight(strings.TrimSuffix(strings.TrimRight(before, " \t\n"), "("), " \t\n")
	if name := before[strings.LastIndexFunc(before, func(r rune) bool { return r != '.' && (r > 'z' || !wordByte(byte(r))) })+1:]; strings.HasPrefix(name, "Dir.") {
		return true
	}
	return slices.ContainsFunc(openers, func(opener string) bool { return strings.HasSuffix(before, opener) })
}

// told matches code behind which a string is only told, compared or kept, and ends what may stand behind that string then.
var (
	told = pattern.New(`(?:\b(?:print|puts|echo|startswith|startsWith|start_with\?|endswith|endsWith|end_with\?|includes|indexOf|getenv|b64encode|strict_encode64)|\benviron\.get|\bconsole\.(?:log|error|warn|info|debug)|\.(?:assert_(?:called|any|has|not)\w*|toHaveBeen\w*|toEqual|toStrictEqual|toBe)|\bhave_received\(:\w+\)\.with)\s*\(?\s*(?:"\d+"\s*,\s*)*[bfru]?$|\benviron\s*\[\s*"\d+"\s*\]\s*=\s*$`)
	ends = pattern.New(`^\s*(?:[,);}\n]|$)`)
)

// isTold says whether the string at a place of the code does nothing but be shown, compared or kept.
func (s *skeleton) isTold(at int) bool {
	behind := at + 1 + strings.IndexByte(s.code[at+1:], '"') + 1
	return told.MatchString(s.code[max(0, at-maxTold):at]) && ends.MatchString(s.code[behind:])
}

// maxTold is how far before a string is looked for what it is for.
const maxTold = 80

// references are the literals that the code has, with where each of them stands.
func (s *skeleton) references() iter.Seq2[int, literal] {
	return func(yield func(int, literal) bool) {
		code := s.code
		for at := strings.IndexByte(code, '"'); at >= 0 && at < len(code); {
			end := strings.IndexByte(code[at+1:], '"')
			if end < 0 {
				return
			}
			n, err := strconv.ParseUint(code[at+1:at+1+end], 10, 32)
			if err != nil {
				at += 1 + end // the mark may begin the next
				continue
			}
			if !yield(at, s.literals[n]) {
				return
			}
			at += end + 2
			next := strings.IndexByte(code[at:], '"')
			if next < 0 {
				return
			}
			at += next
		}
	}
}

// paths finds the strings that name files outside the directory that the code starts in.
func (s *skeleton) paths(language string) []Effect {
	var out []Effect
	for at, l := range s.references() {
		text := strings.TrimLeft(l.text, "<>+| ")
		if lower := strings.ToLower(text); strings.HasPrefix(lower, "file:") {
			text = "/" + strings.TrimLeft(text[5:], "/")
		}
		if strings.ContainsAny(text, "\n") {
			continue
		}
		top, _, _ := strings.Cut(strings.TrimLeft(text, "/"), "/")
		if top == text && text != "~" && text != ".." && !strings.Contains(text, `:\`) {
			continue // a plain word
		}
		opened := opens(s.code[:at])
		switch {
		case s.isTold(at):
		case strings.HasPrefix(text, "/") && (tops[top] || opened && !strings.ContainsAny(text, " *\\")),
			strings.HasPrefix(text, "~/"), text == "~" && opened,
			text == ".." && opened, strings.HasPrefix(text, "../"), strings.Contains(text, "/../"):
			if s.kept(language, at) {
				continue
			}
			e := Effect{Kind: Path, Text: s.counted(language, at, s.besideStarted(at, text))}
			if up, ok := s.beside(language, at); ok && !l.tick && strings.HasPrefix(text, beginsBeside(language)) {
				e.Beside = strings.Repeat("../", up) + strings.TrimLeft(text, "/")
			}
			out = append(out, e)
		case strings.HasPrefix(text, `C:\`) || strings.HasPrefix(text, `C:/`):
			out = append(out, Effect{Kind: Path, Text: "/" + text})
		}
	}
	return out
}
