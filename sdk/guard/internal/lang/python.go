package lang

import (
	"regexp"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

var (
	importAs   = pattern.New(`\bimport\s+(os|subprocess|shutil|pty|commands|pathlib)\s+as\s+(\w+)`)
	importFrom = pattern.New(`\bfrom\s+(os|subprocess|shutil|pty|commands)\s+import\s+([\w ,]+|\([\w ,\n]+\))`)
)

// maxRenamed is how many names that are imported are followed.
const maxRenamed = 16

// imports gives the functions that Python code has imported by another name their full names again. It says whether they are
// few enough.
func (s *skeleton) imports() bool {
	renamed := 0
	for _, m := range importAs.FindAllStringSubmatch(s.worth(importAs)) {
		if renamed++; renamed > maxRenamed {
			return false
		}
		s.rename(m[2]+`\.`, m[1]+".")
	}
	for _, m := range importFrom.FindAllStringSubmatch(s.worth(importFrom)) {
		for _, item := range strings.Split(strings.Trim(m[2], "()"), ",") {
			if renamed++; renamed > maxRenamed {
				return false
			}
			words := strings.Fields(item)
			switch {
			case len(words) == 1:
				s.rename(words[0]+`(\s*\()`, m[1]+"."+words[0]+"$1")
			case len(words) == 3 && words[1] == "as":
				s.rename(words[2]+`(\s*\()`, m[1]+"."+words[0]+"$1")
			}
		}
	}
	return true
}

// rename replaces what the pattern matches where a name begins.
func (s *skeleton) rename(pattern, by string) {
	re, err := regexp.Compile(`(^|[^\w.])` + pattern)
	if err != nil {
		return
	}
	by = strings.ReplaceAll(by, "$1", "${2}")
	s.code, s.pairs = re.ReplaceAllString(s.code, "${1}"+by), nil
}
