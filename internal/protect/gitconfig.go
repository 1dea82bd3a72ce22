package protect

import (
	"path"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
)

// harmless are the settings of git that name nothing to be run or to be read as settings, and that cloning, or making a
// repository or a branch, writes. A `*` stands for a subsection.
var harmless = strings.Fields(`
	core.repositoryformatversion core.filemode core.bare core.logallrefupdates core.ignorecase core.precomposeunicode
	core.symlinks core.autocrlf core.eol core.sparsecheckout core.sparsecheckoutcone
	extensions.objectformat extensions.refstorage extensions.partialclone extensions.worktreeconfig
	remote.*.url remote.*.fetch remote.*.tagopt remote.*.promisor remote.*.partialclonefilter remote.*.pushurl
	branch.*.remote branch.*.merge branch.*.rebase submodule.*.url submodule.*.active submodule.active
	core.quotepath core.abbrev core.compression log.date log.decorate rerere.enabled rerere.autoupdate
	merge.conflictstyle diff.algorithm diff.renames diff.mnemonicprefix status.showuntrackedfiles color.ui
	gc.auto gc.autodetach maintenance.auto commit.gpgsign tag.gpgsign help.autocorrect column.ui advice.detachedhead
	push.autosetupremote push.followtags rebase.autostash rebase.autosquash branch.autosetupmerge branch.autosetuprebase
	user.name user.email user.signingkey init.defaultbranch pull.rebase pull.ff push.default fetch.prune lfs.repositoryformatversion`)

var (
	sectionLine = lazyregexp.New(`^\[([A-Za-z0-9-]+)(?:\s+"(?:[^"\\]|\\.)*")?\]$`)
	settingLine = lazyregexp.New(`^([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?$`)
)

// HarmlessGitConfig returns the lines of a repository's settings that have git run nothing, and read nothing elsewhere;
// whole reports that they are all. What is not understood is not harmless. Worktree is asked about a work tree that is
// set.
func HarmlessGitConfig(text []byte, worktree func(dir string) bool) (kept []byte, whole bool) {
	section := ""
	whole = true
	lines := strings.SplitAfter(string(text), "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		m := sectionLine().FindStringSubmatch(line)
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case m != nil:
			if section = strings.ToLower(m[1]); strings.Contains(line, `"`) {
				section += ".*"
			}
		case harmlessSetting(section, line, worktree):
		default:
			if whole = false; line[0] == '[' {
				section = "" // nothing in it is known
			}
			for strings.HasSuffix(strings.TrimSpace(lines[i]), `\`) && i+1 < len(lines) {
				i++ // the line goes on
			}
			continue
		}
		kept = append(kept, lines[i]...)
	}
	return kept, whole
}

func harmlessSetting(section, line string, worktree func(string) bool) bool {
	m := settingLine().FindStringSubmatch(line)
	if m == nil || strings.HasSuffix(line, `\`) || strings.ContainsAny(line, "\x00\r") {
		return false
	}
	key, value := strings.ToLower(m[1]), m[2]
	switch name := section + "." + key; {
	case name == "core.worktree":
		return !path.IsAbs(value) && !strings.ContainsAny(value, `"\`) && worktree(value)
	case strings.HasSuffix(key, "url") && strings.Contains(value, "::"): // a program that speaks for it
		return false
	default:
		return slices.Contains(harmless, name)
	}
}
