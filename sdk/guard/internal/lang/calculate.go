package lang

import "strings"

// names makes a set of words.
func names(words string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(words) {
		set[word] = true
	}
	return set
}

// variables are names that people give to variables. As nothing is known of what they hold, such may not be called.
var variables = names("a b c d e f g h i j k l m n o p q r s t u v w x y z base root dir full rel result parts part out target joined left right")

// calculations are the names that code may hold besides which does nothing but calculate and print, by language: keywords, and
// functions and members of which none, wherever it is found, opens a file or finds another function by its name.
var calculations = func() map[string]map[string]bool {
	common := `join normalize relative resolve dirname basename extname split parse format sep strip replace startswith endswith upper lower
		if else for in of and or not return print name stem suffix path true false null None True False end len lambda json `
	return map[string]map[string]bool{
		"node": names(common + `for const let var function new typeof require import from console log error table posix win32 isAbsolute process cwd exit stdout write
			JSON stringify Object entries keys values String Number URL href pathname searchParams origin fileURLToPath pathToFileURL url util inspect assert equal strictEqual deepEqual
			deepStrictEqual ok map filter forEach slice concat startsWith endsWith includes trim toUpperCase toLowerCase length undefined toNamespacedPath ext`),
		"python": names(common + `import from as os posixpath ntpath pathlib normpath splitext relpath isabs commonpath commonprefix normcase Path PurePath PurePosixPath PureWindowsPath
			parent parents suffixes relative_to joinpath as_posix with_suffix with_name with_stem is_absolute is_relative_to anchor str repr list tuple sorted set assert
			urllib urljoin urlparse urlsplit quote unquote re sub dumps shlex lstrip rstrip`),
		"other": names(common + `IO inspect puts Path expand absname rootname relative split type String Enum do end fn`), // Elixir
		"ruby":  names(common + `puts require File expand_path Pathname cleanpath relative_path_from to_s parent absolute do inspect gsub map URI`),
	}
}()

// calculators are the modules that have nothing but such functions, or of which only those can be named.
var calculators = names("path node:path path/posix node:path/posix path/win32 url node:url util node:util assert node:assert assert/strict node:assert/strict querystring pathname uri json set")

// calculates says whether code does nothing but calculate and print, so that the paths in it are only text: every name in it is
// one of few, and what it loads as well, and it leaves nothing behind for other code.
func calculates(language, code string) bool {
	known := calculations[language]
	if known == nil {
		return false
	}
	s := strip(language, code)
	for _, l := range s.literals {
		if l.tick && !l.template || l.regex || strings.Contains(l.text, "#{") || l.template && strings.Contains(l.text, "${") {
			return false
		}
	}
	for i := 0; i < len(s.code); {
		c := s.code[i]
		switch {
		case c >= 0x80 || strings.IndexByte("`$\\@", c) >= 0:
			return false
		case c == '[' && i > 0 && (wordByte(s.code[i-1]) || strings.IndexByte(`)]".?`, s.code[i-1]) >= 0) && !indexed(s.code[i+1:]):
			return false // a member whose name is made by code
		case c == '"':
			i += 2 + strings.IndexByte(s.code[i+1:], '"')
			continue
		case !letter(c) && c != '_':
			i++
			continue
		}
		end := i + 1
		for end < len(s.code) && (letter(s.code[end]) || digit(s.code[end]) || s.code[end] == '_') {
			end++
		}
		name, behind := s.code[i:end], s.code[end:]
		next := strings.TrimLeft(behind, " \t\n})]")
		set := strings.HasPrefix(next, "=") && !strings.HasPrefix(next, "==") && !strings.HasPrefix(next, "=>")
		if set && !strings.HasPrefix(strings.TrimLeft(next[1:], " \t\n"), "require") {
			return false // what is run behind this code may use it
		}
		if name == "replace" && language == "python" && (strings.HasSuffix(s.code[:i], "os.") || strings.Contains(s.code, "Path")) {
			return false // it moves a file
		}
		called := strings.HasPrefix(strings.TrimLeft(behind, " \t\n?."), "(")
		if !known[name] && (!variables[name] || called) || strings.HasPrefix(behind, `"`) && (language == "python" && name != "r") {
			return false
		}
		if language != "python" && (name == "require" || name == "import" || name == "from") && !s.loadsCalculator(name, behind) {
			return false
		}
		i = end
	}
	return true
}

// indexed says whether a number or the end stands in a bracket that has been opened.
func indexed(behind string) bool {
	number := strings.TrimLeft(behind, "-0123456789: ")
	return strings.HasPrefix(number, "]")
}

// loadsCalculator says whether what stands behind one of the words that load modules names one of those that only calculate.
func (s *skeleton) loadsCalculator(word, behind string) bool {
	behind = strings.TrimLeft(behind, " \t\n")
	if word == "import" {
		return behind != "" && behind[0] != '(' && behind[0] != '"' && strings.Contains(behind, "from")
	}
	behind = strings.TrimLeft(behind, "( ")
	if behind == "" || behind[0] != '"' {
		return false
	}
	module, ok := s.text(behind[1 : 1+max(0, strings.IndexByte(behind[1:], '"'))])
	return ok && calculators[module]
}
