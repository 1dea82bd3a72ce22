package lang

import (
	"slices"
	"strconv"
	"strings"
)

// strip separates code and strings.
func strip(language, code string) *skeleton {
	s := &skeleton{}
	var b strings.Builder
	hash := language != "node" && language != "lua" && language != "applescript"
	for i := 0; i < len(code); {
		c := code[i]
		switch {
		case c == '#' && hash && (i == 0 || strings.IndexByte(" \t\n;", code[i-1]) >= 0):
			for i < len(code) && code[i] != '\n' {
				i++
			}
		case language == "python" && (strings.HasPrefix(code[i:], `"""`) || strings.HasPrefix(code[i:], "'''")):
			end := strings.Index(code[i+3:], code[i:i+3])
			text := code[i+3:]
			if i += 3 + len(text); end >= 0 {
				i += end - len(text) + 3
				text = text[:end]
			}
			s.add(&b, literal{text: text})
		case language == "perl" || language == "ruby":
			if text, n, tick := operatorQuote(code[i:], i > 0 && wordByte(code[i-1])); n > 0 {
				s.add(&b, literal{text: text, tick: tick})
				i += n
				continue
			}
			fallthrough
		default:
			if c != '"' && c != '\'' && c != '`' || c == '\'' && i > 0 && wordByte(code[i-1]) && language == "perl" {
				b.WriteByte(c)
				i++
				continue
			}
			text, n := quotedText(code[i:], c)
			s.add(&b, literal{text: text, tick: c == '`', raw: c != '\''})
			i += n
		}
	}
	s.code = b.String()
	return s
}

func (s *skeleton) add(b *strings.Builder, l literal) {
	b.WriteString(`"` + strconv.Itoa(len(s.literals)) + `"`)
	s.literals = append(s.literals, l)
}

func wordByte(c byte) bool { return letter(c) || digit(c) }

// operatorQuote reads a quoting operator of Perl or Ruby: q(…), qq{…}, qx/…/, %x(…).
func operatorQuote(code string, inWord bool) (text string, n int, tick bool) {
	prefix := ""
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

// tops are the directories at the top of file systems. A string that begins with another name is rather a route, a
// pattern or a separator than a path.
var tops = map[string]bool{
	"etc": true, "home": true, "root": true, "usr": true, "var": true, "tmp": true, "proc": true, "sys": true, "dev": true, "opt": true,
	"boot": true, "mnt": true, "media": true, "srv": true, "run": true, "lib": true, "lib64": true, "bin": true, "sbin": true,
	"Users": true, "private": true, "Library": true, "System": true, "Volumes": true, "Applications": true, "nix": true, "snap": true, "data": true, "workspace": true, "lost+found": true,
}

// openers are the endings of names of functions that open or list the file that their argument names.
var openers = strings.Fields("listdir scandir walk readdir readdirSync opendir glob chdir Path open entries children cd list_dir lfs.dir cpSync copytree glob.sync")

// opens says whether a function that opens what stands next ends the code.
func opens(before string) bool {
	before = strings.TrimRight(strings.TrimSuffix(strings.TrimRight(before, " \t\n"), "("), " \t\n")
	if name := before[strings.LastIndexFunc(before, func(r rune) bool { return r != '.' && (r > 'z' || !wordByte(byte(r))) })+1:]; strings.HasPrefix(name, "Dir.") {
		return true
	}
	return slices.ContainsFunc(openers, func(opener string) bool { return strings.HasSuffix(before, opener) })
}

// paths finds the strings that name files outside the directory that the code starts in.
func (s *skeleton) paths() []Effect {
	var out []Effect
	for _, at := range reference.FindAllStringSubmatchIndex(s.code, -1) {
		i, _ := strconv.Atoi(s.code[at[2]:at[3]])
		l := s.literals[i]
		text := strings.TrimLeft(l.text, "<>+| ")
		if lower := strings.ToLower(text); strings.HasPrefix(lower, "file:") {
			text = "/" + strings.TrimLeft(text[5:], "/")
		}
		if strings.ContainsAny(text, "\n") {
			continue
		}
		top, _, _ := strings.Cut(strings.TrimLeft(text, "/"), "/")
		opened := opens(s.code[:at[0]])
		switch {
		case strings.HasPrefix(text, "/") && (tops[top] || opened && !strings.ContainsAny(text, " *\\")),
			strings.HasPrefix(text, "~/"), text == "~" && opened,
			text == ".." && opened, strings.HasPrefix(text, "../"), strings.Contains(text, "/../"):
			out = append(out, Effect{Kind: Path, Text: text})
		case strings.HasPrefix(text, `C:\`) || strings.HasPrefix(text, `C:/`):
			out = append(out, Effect{Kind: Path, Text: "/" + text})
		}
	}
	return out
}
