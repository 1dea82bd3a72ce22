package lang

import (
	"regexp"
	"strings"
)

var (
	importAs   = regexp.MustCompile(`\bimport\s+(os|subprocess|shutil|pty|commands|pathlib)\s+as\s+(\w+)`)
	importFrom = regexp.MustCompile(`\bfrom\s+(os|subprocess|shutil|pty|commands)\s+import\s+([\w ,]+|\([\w ,\n]+\))`)
)

// imports gives the functions that Python code has imported by another name their full names again.
func (s *skeleton) imports() {
	for _, m := range importAs.FindAllStringSubmatch(s.code, -1) {
		s.rename(m[2]+`\.`, m[1]+".")
	}
	for _, m := range importFrom.FindAllStringSubmatch(s.code, -1) {
		for _, item := range strings.Split(strings.Trim(m[2], "()"), ",") {
			words := strings.Fields(item)
			switch {
			case len(words) == 1:
				s.rename(words[0]+`(\s*\()`, m[1]+"."+words[0]+"$1")
			case len(words) == 3 && words[1] == "as":
				s.rename(words[2]+`(\s*\()`, m[1]+"."+words[0]+"$1")
			}
		}
	}
}

// rename replaces what the pattern matches where a name begins.
func (s *skeleton) rename(pattern, by string) {
	re, err := regexp.Compile(`(^|[^\w.])` + pattern)
	if err != nil {
		return
	}
	by = strings.ReplaceAll(by, "$1", "${2}")
	s.code = re.ReplaceAllString(s.code, "${1}"+by)
}
