package protect

import (
	"bufio"
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"
)

// harmless are the settings of git that name nothing to be run or to be read as settings, and that cloning, or making a
// repository or a branch, writes. A `*` stands for a subsection.
var harmless = strings.Fields(`
	core.repositoryformatversion core.filemode core.bare core.logallrefupdates core.ignorecase core.precomposeunicode
	core.symlinks core.autocrlf core.eol core.sparsecheckout core.sparsecheckoutcone
	extensions.objectformat extensions.refstorage extensions.partialclone extensions.worktreeconfig
	remote.*.url remote.*.fetch remote.*.tagopt remote.*.promisor remote.*.partialclonefilter remote.*.pushurl
	branch.*.remote branch.*.merge branch.*.rebase submodule.*.url submodule.*.active submodule.active
	user.name user.email init.defaultbranch pull.rebase pull.ff push.default fetch.prune lfs.repositoryformatversion`)

var (
	sectionLine = regexp.MustCompile(`^\[([A-Za-z0-9-]+)(?:\s+"(?:[^"\\]|\\.)*")?\]$`)
	settingLine = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?$`)
)

// HarmlessGitConfig reports whether the text of a repository's settings has git run nothing, and read none elsewhere.
// What it does not understand is not. Worktree is asked about a work tree that is set.
func HarmlessGitConfig(text []byte, worktree func(dir string) bool) bool {
	section, named := "", false
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
			continue
		case strings.HasSuffix(line, `\`) || strings.ContainsRune(line, 0):
			return false
		}
		if m := sectionLine.FindStringSubmatch(line); m != nil {
			section, named = strings.ToLower(m[1]), strings.Contains(line, `"`)
			continue
		}
		m := settingLine.FindStringSubmatch(line)
		if m == nil {
			return false
		}
		key, value := strings.ToLower(m[1]), m[2]
		name := section + "." + key
		if named {
			name = section + ".*." + key
		}
		switch {
		case name == "core.worktree":
			if path.IsAbs(value) || strings.ContainsAny(value, `"\`) || !worktree(value) {
				return false
			}
		case strings.HasSuffix(key, "url") && strings.Contains(value, "::"): // a program that speaks for it
			return false
		case !slices.Contains(harmless, name):
			return false
		}
	}
	return lines.Err() == nil
}
