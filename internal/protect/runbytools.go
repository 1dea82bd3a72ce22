package protect

import (
	_ "embed"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"sync"
)

//go:embed runbytools.json
var runByToolsList []byte

// runByTools are the names, in lower case, of files that build tools and hooks run or read as code. Few of them are
// patterns, so that a look at many thousands of paths is cheap.
var runByTools = sync.OnceValue(func() (all struct {
	names    map[string]bool
	patterns []string
}) {
	var list []string
	if err := json.Unmarshal(runByToolsList, &list); err != nil {
		panic(err) // a test reads them
	}
	all.names = map[string]bool{}
	for _, text := range list {
		if strings.ContainsAny(text, `*?[\`) {
			all.patterns = append(all.patterns, text)
		} else {
			all.names[text] = true
		}
	}
	return all
})

// IsRunByTools reports whether build tools or hooks of a project run a file, or read it as code, judging by its name.
// Agents may change these files; history marks the changes. Files of installed packages do not count.
func IsRunByTools(name string) bool {
	base, known := strings.ToLower(path.Base(name)), runByTools()
	isKnown := known.names[base] || path.Base(name) == "WORKSPACE" || // in capitals, since many directories are called so
		slices.ContainsFunc(known.patterns, func(pattern string) bool {
			ok, _ := path.Match(pattern, base)
			return ok
		})
	return isKnown && !strings.Contains(name, "/node_modules/")
}
