package protect

import (
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
)

// harmless are git settings that name neither a program nor further settings. `*` is a subsection, and a name that ends
// with a dot stands for all settings of a section.
var harmless = strings.Fields(`
	core.repositoryformatversion core.filemode core.bare core.logallrefupdates core.ignorecase core.precomposeunicode
	core.symlinks core.autocrlf core.eol core.safecrlf core.sparsecheckout core.sparsecheckoutcone core.sharedrepository
	core.splitindex core.untrackedcache core.bigfilethreshold core.commitgraph core.checkstat core.trustctime
	core.preloadindex core.fscache core.whitespace core.quotepath core.abbrev core.compression core.longpaths
	core.hidedotfiles core.multipackindex core.fsyncmethod core.fsync
	extensions.refstorage extensions.partialclone extensions.worktreeconfig extensions.relativeworktrees
	remote.*.url remote.*.fetch remote.*.tagopt remote.*.promisor remote.*.partialclonefilter remote.*.pushurl
	remote.*.mirror remote.*.prune remote.*.prunetags remote.*.skipdefaultupdate remote.*.skipfetchall
	remote.*.followremotehead remote.*.gh-resolved remote.pushdefault
	branch.*.remote branch.*.merge branch.*.rebase branch.*.pushremote branch.*.description branch.*.mergeoptions
	branch.*.vscode-merge-base branch.*.gh-merge-base branch.autosetupmerge branch.autosetuprebase branch.sort tag.sort
	submodule.*.url submodule.*.active submodule.*.path submodule.*.branch submodule.*.ignore submodule.*.shallow
	submodule.*.fetchrecursesubmodules submodule.active submodule.recurse submodule.fetchjobs submodule.propagatebranches
	user.name user.email user.signingkey user.useconfigonly author.name author.email committer.name committer.email
	init.defaultbranch commit.gpgsign commit.verbose commit.status commit.cleanup tag.gpgsign
	log.date log.decorate log.abbrevcommit log.follow log.showroot log.mailmap log.showsignature
	rerere.enabled rerere.autoupdate help.autocorrect
	merge.conflictstyle merge.ff merge.log merge.stat merge.renames merge.renamelimit merge.directoryrenames
	merge.renormalize merge.autostash merge.verbosity merge.branchdesc
	diff.algorithm diff.renames diff.renamelimit diff.mnemonicprefix diff.noprefix diff.context diff.interhunkcontext
	diff.colormoved diff.colormovedws diff.indentheuristic diff.submodule diff.ignoresubmodules diff.suppressblankempty
	diff.relative diff.dirstat diff.wordregex diff.statgraphwidth
	rebase.autostash rebase.autosquash rebase.updaterefs rebase.stat rebase.missingcommitscheck rebase.forkpoint
	rebase.rebasemerges rebase.abbreviatecommands rebase.reschedulefailedexec rebase.maxlabellength
	pull.rebase pull.ff pull.octopus push.default push.autosetupremote push.followtags push.recursesubmodules
	push.useforceifincludes fetch.prune fetch.prunetags fetch.parallel fetch.all fetch.fsckobjects fetch.output
	fetch.recursesubmodules fetch.showforcedupdates fetch.writecommitgraph fetch.unpacklimit transfer.fsckobjects
	transfer.unpacklimit receive.denynonfastforwards receive.denycurrentbranch receive.denydeletes receive.fsckobjects
	receive.unpacklimit checkout.defaultremote checkout.guess checkout.workers clone.defaultremotename
	gc.auto gc.autodetach gc.autopacklimit gc.pruneexpire gc.worktreepruneexpire gc.reflogexpire
	gc.reflogexpireunreachable gc.packrefs gc.aggressivedepth gc.aggressivewindow gc.writecommitgraph gc.cruftpacks
	pack.threads pack.window pack.windowmemory pack.depth pack.writebitmaps pack.usesparse pack.compression
	maintenance.auto maintenance.strategy index.version index.sparse index.threads index.skiphash index.recordendofindexentries
	index.recordoffsettable feature.manyfiles interactive.singlekey worktree.guessremote worktree.userelativepaths
	advice. color. color.*. column. stash. status. versionsort. lfs.repositoryformatversion`)

var (
	sectionLine = lazyregexp.New(`^\[([A-Za-z0-9-]+)(?:\s+"(?:[^"\\]|\\.)*")?\]$`)
	settingLine = lazyregexp.New(`^([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?$`)
	hashLine    = lazyregexp.New(`(?im)^\s*objectformat\s*=\s*(\S*)$`)
	// aliasOfCommand matches an alias without options, which could name programs.
	aliasOfCommand = lazyregexp.New(`^[a-z][a-z-]*$`)
	driverLine     = lazyregexp.New(`^\[(?i:filter|diff|merge)\s+"((?:[^"\\]|\\.)*)"`)
)

// findRiskyConfigLines returns the lines of a git configuration that are not known to be harmless, each after its section.
// isHarmless reports whether a setting whose value matters is harmless.
func findRiskyConfigLines(text []byte, isHarmless func(setting, value string) bool) (risky []string) {
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
		case isHarmlessSetting(section, line, isHarmless):
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

func isHarmlessSetting(section, line string, isHarmless func(setting, value string) bool) bool {
	m := settingLine().FindStringSubmatch(line)
	if m == nil || strings.HasSuffix(line, `\`) || strings.ContainsAny(line, "\x00\r") {
		return false
	}
	key, value := strings.ToLower(m[1]), m[2]
	plain := strings.NewReplacer(`"`, "", `\`, "").Replace(value)
	switch name := section + "." + key; {
	case name == "core.worktree" || name == "extensions.objectformat":
		return plain == value && isHarmless(name, value)
	case name == "submodule.*.update":
		return slices.Contains([]string{"checkout", "rebase", "merge", "none"}, value)
	case section == "alias":
		return aliasOfCommand().MatchString(value)
	case strings.Contains(plain, "::"): // a program that speaks for a remote
		return false
	default:
		return slices.Contains(harmless, name) || slices.Contains(harmless, section+".")
	}
}
