package protect

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
)

// harmless are git settings that name neither a program nor further settings. `*` is a subsection.
var harmless = strings.Fields(`
	core.repositoryformatversion core.filemode core.bare core.logallrefupdates core.ignorecase core.precomposeunicode
	core.symlinks core.autocrlf core.eol core.sparsecheckout core.sparsecheckoutcone core.sharedrepository
	core.splitindex core.untrackedcache core.bigfilethreshold core.commitgraph
	extensions.objectformat extensions.refstorage extensions.partialclone extensions.worktreeconfig
	extensions.relativeworktrees
	remote.*.url remote.*.fetch remote.*.tagopt remote.*.promisor remote.*.partialclonefilter remote.*.pushurl
	remote.*.mirror remote.*.prune remote.*.prunetags remote.*.skipdefaultupdate remote.*.skipfetchall
	remote.*.followremotehead remote.*.gh-resolved remote.pushdefault checkout.defaultremote
	branch.*.remote branch.*.merge branch.*.rebase branch.*.pushremote branch.*.description
	branch.*.vscode-merge-base branch.*.gh-merge-base core.longpaths core.hidedotfiles
	submodule.*.url submodule.*.active submodule.*.path submodule.*.branch submodule.*.ignore submodule.*.shallow
	submodule.*.update submodule.*.fetchrecursesubmodules submodule.active
	core.quotepath core.abbrev core.compression log.date log.decorate rerere.enabled rerere.autoupdate
	merge.conflictstyle diff.algorithm diff.renames diff.mnemonicprefix status.showuntrackedfiles color.ui
	gc.auto gc.autodetach maintenance.auto maintenance.strategy commit.gpgsign tag.gpgsign help.autocorrect column.ui
	advice.detachedhead receive.denynonfastforwards index.version feature.manyfiles
	push.autosetupremote push.followtags rebase.autostash rebase.autosquash branch.autosetupmerge branch.autosetuprebase
	user.name user.email user.signingkey init.defaultbranch pull.rebase pull.ff push.default fetch.prune
	lfs.repositoryformatversion`)

var (
	sectionLine = lazyregexp.New(`^\[([A-Za-z0-9-]+)(?:\s+"(?:[^"\\]|\\.)*")?\]$`)
	settingLine = lazyregexp.New(`^([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?$`)
	driverLine  = lazyregexp.New(`^\[(?i:filter|diff|merge)\s+"((?:[^"\\]|\\.)*)"`)
)

// findRiskyConfigLines returns the lines of a git configuration that are not known to be harmless, each after its section.
// worktree reports whether a work tree is in the workspace.
func findRiskyConfigLines(text []byte, worktree func(dir string) bool) (risky []string) {
	header, section := "", ""
	lines := strings.Split(string(text), "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		m := sectionLine().FindStringSubmatch(line)
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case m != nil:
			header, section = line, strings.ToLower(m[1])
			if strings.Contains(line, `"`) {
				section += ".*"
			}
		case isHarmlessSetting(section, line, worktree):
		default:
			if line[0] == '[' {
				header, section = line, "" // an unknown section: all its lines are risky
			}
			for strings.HasSuffix(line, `\`) && i+1 < len(lines) { // the line goes on
				i++
				line = strings.TrimSuffix(line, `\`) + strings.TrimSpace(lines[i])
			}
			risky = append(risky, header+" "+line)
		}
	}
	return risky
}

func isHarmlessSetting(section, line string, worktree func(string) bool) bool {
	m := settingLine().FindStringSubmatch(line)
	if m == nil || strings.HasSuffix(line, `\`) || strings.ContainsAny(line, "\x00\r") {
		return false
	}
	key, value := strings.ToLower(m[1]), m[2]
	plain := strings.NewReplacer(`"`, "", `\`, "").Replace(value)
	switch name := section + "." + key; {
	case name == "core.worktree":
		return plain == value && worktree(filepath.FromSlash(value))
	case name == "submodule.*.update":
		return slices.Contains([]string{"checkout", "rebase", "merge", "none"}, value)
	case strings.Contains(plain, "::"): // a program that speaks for a remote
		return false
	default:
		return slices.Contains(harmless, name)
	}
}
