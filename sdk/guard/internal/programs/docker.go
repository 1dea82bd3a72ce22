package programs

import "strings"

// docker mounts directories: the part in front of the colon is one of this machine, if it isn't the name of a volume.
func docker(c call) []Use {
	var uses []Use
	for _, opt := range c.parsed.Options {
		switch {
		case opt.Has && opt.Roles == string(rune(Path)) && (opt.Name == "-v" || opt.Is("--volume")):
			if host, _, _ := strings.Cut(opt.Value, ":"); strings.ContainsAny(host, "/.~") {
				uses = append(uses, Use{Kind: Write, Text: host})
			}
		case opt.Has && opt.Is("--mount"):
			for part := range strings.SplitSeq(opt.Value, ",") {
				if key, value, _ := strings.Cut(part, "="); key == "source" || key == "src" {
					uses = append(uses, Use{Kind: Write, Text: value})
				}
			}
		default:
			uses = c.option(uses, opt)
		}
	}
	for _, u := range c.operandUses(nil, c.operands()) {
		if c.verb() == "cp" && elsewhere(u.Text) {
			u.Kind = Data
		}
		uses = append(uses, u)
	}
	return uses
}
