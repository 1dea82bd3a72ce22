package protect

import (
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
)

var (
	sectionLine = lazyregexp.New(`^\[([A-Za-z0-9-]+)(?:\s+"(?:[^"\\]|\\.)*")?\]$`)
	// optionSection matches a section whose name git would pass to a program as an option, such as a remote's.
	optionSection = lazyregexp.New(`^\[\S+\s+"\\*-`)
	settingLine   = lazyregexp.New(`^([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?$`)
	hashLine      = lazyregexp.New(`(?im)^\s*objectformat\s*=\s*(\S*)$`)
	driverLine    = lazyregexp.New(`^\[(?i:filter|diff|merge)\s+"((?:[^"\\]|\\.)*)"`)
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
		case m != nil && !optionSection().MatchString(line):
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

// isProgramOption reports whether git may pass a value to a program, which would take it for an option.
func isProgramOption(section, value string) bool {
	names := []string{"remote", "remote.*", "branch.*", "submodule", "submodule.*", "extensions", "checkout", "clone"}
	return strings.HasPrefix(value, "-") && slices.Contains(names, section) || strings.Contains(value, "//-")
}

func isHarmlessSetting(section, line string, isHarmless func(setting, value string) bool) bool {
	m := settingLine().FindStringSubmatch(line)
	if m == nil || strings.HasSuffix(line, `\`) || strings.ContainsAny(line, "\x00\r") {
		return false
	}
	key, value := strings.ToLower(m[1]), m[2]
	plain := strings.NewReplacer(`"`, "", `\`, "").Replace(value)
	switch name := section + "." + key; {
	case isProgramOption(section, plain) && name != "branch.*.description":
		return false
	case slices.Contains([]string{
		"core.worktree", "extensions.objectformat", "remote.*.url", "remote.*.pushurl", "remote.pushdefault", "branch.*.remote", "branch.*.pushremote",
	}, name):
		return plain == value && !strings.Contains(value, "::") && isHarmless(name, value)
	case name == "submodule.*.update":
		return slices.Contains([]string{"checkout", "rebase", "merge", "none"}, value)
	case strings.Contains(plain, "::"): // a program that speaks for a remote
		return false
	default:
		return slices.Contains(knownInGit().Settings, name) || slices.Contains(knownInGit().Settings, section+".")
	}
}
