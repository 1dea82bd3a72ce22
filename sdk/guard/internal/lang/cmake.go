package lang

import (
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

var (
	cmakeCall = pattern.New(`(?i)\b(execute_process|file)\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)`)
	// cmakeWords end the words of a command in execute_process.
	cmakeWords = names(`WORKING_DIRECTORY TIMEOUT RESULT_VARIABLE RESULTS_VARIABLE OUTPUT_VARIABLE ERROR_VARIABLE INPUT_FILE OUTPUT_FILE ERROR_FILE OUTPUT_QUIET ERROR_QUIET
		COMMAND_ECHO OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_STRIP_TRAILING_WHITESPACE ENCODING ECHO_OUTPUT_VARIABLE ECHO_ERROR_VARIABLE COMMAND_ERROR_IS_FATAL`)
)

var (
	cmakeSets = pattern.New(`(?i)\bset\s*\(\s*(\w+)\s+([^()$]*)\)`)
	// cmakeCustom are commands that run when it is built.
	cmakeCustom = pattern.New(`(?i)\b(add_custom_target|add_custom_command)\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)`)
	// cmakeEnds end the words of a command that runs then.
	cmakeEnds = names(`DEPENDS BYPRODUCTS WORKING_DIRECTORY COMMENT VERBATIM USES_TERMINAL SOURCES OUTPUT MAIN_DEPENDENCY DEPFILE TARGET PRE_BUILD PRE_LINK POST_BUILD APPEND COMMAND_EXPAND_LISTS JOB_POOL IMPLICIT_DEPENDS`)
)

// cmakeVariables puts the values of variables in their places.
func cmakeVariables(code string) string {
	if !strings.Contains(code, "${") {
		return code
	}
	code = strings.ReplaceAll(code, "${CMAKE_COMMAND}", "cmake")
	for n, m := range cmakeSets.FindAllStringSubmatch(code) {
		if n == maxConstants {
			break
		}
		name, value := "${"+m[1]+"}", strings.TrimSpace(m[2])
		if len(code)+strings.Count(code, name)*len(value) > maxExpanded {
			break
		}
		code = strings.ReplaceAll(code, name, value)
	}
	return code
}

// CMakeBuild says which commands run when the targets of code of CMake are built. Those that aren't part of all must be named.
func CMakeBuild(code string, targets []string) (out []Effect) {
	for _, m := range cmakeCustom.FindAllStringSubmatch(cmakeVariables(code)) {
		words := cmakeArguments(m[2])
		if len(words) > 1 && strings.EqualFold(m[1], "add_custom_target") && words[1] != "ALL" && !slices.Contains(targets, words[0]) {
			continue
		}
		out = append(out, cmakeCommands(words, cmakeEnds)...)
	}
	return out
}

// CMake says which commands code of CMake starts while it configures, and which files it changes then.
func CMake(code string) []Effect {
	var out []Effect
	for _, m := range cmakeCall.FindAllStringSubmatch(cmakeVariables(code)) {
		words := cmakeArguments(m[2])
		if strings.EqualFold(m[1], "file") {
			out = append(out, cmakeFile(words)...)
			continue
		}
		out = append(out, cmakeCommands(words, cmakeWords)...)
	}
	return out
}

// cmakeCommands are the commands among the arguments of a call: each stands behind COMMAND, up to one of some words.
func cmakeCommands(words []string, ends map[string]bool) (out []Effect) {
	var argv []string
	inside := false
	for _, word := range append(words, "COMMAND") {
		switch {
		case word == "COMMAND":
			if len(argv) > 0 {
				out = append(out, Effect{Kind: Argv, Argv: argv})
			}
			argv, inside = nil, true
		case ends[word]:
			inside = false
		case inside:
			argv = append(argv, word)
		}
	}
	return out
}

// cmakeFile is what file(…) does with the files that it names.
func cmakeFile(words []string) (out []Effect) {
	if len(words) < 2 {
		return nil
	}
	switch strings.ToUpper(words[0]) {
	case "REMOVE_RECURSE":
		return []Effect{{Kind: Delete, Text: "file(REMOVE_RECURSE)"}}
	case "WRITE", "APPEND", "TOUCH", "READ", "STRINGS", "REMOVE":
		return []Effect{{Kind: Path, Text: words[1]}}
	case "COPY", "INSTALL", "RENAME", "COPY_FILE", "CREATE_LINK", "MAKE_DIRECTORY", "DOWNLOAD", "UPLOAD":
		for _, word := range words[1:] {
			if strings.HasPrefix(word, "/") || strings.HasPrefix(word, "..") || strings.HasPrefix(word, "~") {
				out = append(out, Effect{Kind: Path, Text: word})
			}
		}
	}
	return out
}

// cmakeArguments splits arguments: quoted ones may hold spaces, and a # begins a comment.
func cmakeArguments(text string) (words []string) {
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case strings.IndexByte(" \t\r\n;", c) >= 0:
			i++
		case c == '#':
			for i < len(text) && text[i] != '\n' {
				i++
			}
		case c == '"':
			word, n := quotedText(text[i:], '"')
			words = append(words, word)
			i += n
		default:
			start := i
			for i < len(text) && strings.IndexByte(" \t\r\n;\"", text[i]) < 0 {
				i++
			}
			words = append(words, text[start:i])
		}
	}
	return words
}
