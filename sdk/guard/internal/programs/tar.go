package programs

import "strings"

// tar reads or writes an archive, depending on its mode.
func tar(c call) []Use {
	creates := c.parsed.Has("-c", "-r", "-u", "-A", "--create", "--append", "--update")
	extracts := c.parsed.Has("-x", "--extract", "--get")
	var uses []Use
	dir := ""
	for _, opt := range c.parsed.Options {
		code, runs := strings.CutPrefix(opt.Value, "exec=")
		switch {
		case opt.Is("--checkpoint-action"):
			if runs {
				uses = append(uses, sh(code))
			}
		case opt.Has && opt.Roles == string(rune(Enter)):
			dir = opt.Value
			uses = append(uses, Use{Kind: Enter, Text: opt.Value})
			if !creates {
				uses = append(uses, Use{Kind: Write, Text: opt.Value})
			}
		case opt.Has && !creates && (opt.Name == "-f" || opt.Is("--file")):
			uses = append(uses, Use{Kind: Read, Text: opt.Value})
		case extracts && (opt.Name == "-P" || opt.Is("--absolute-names")):
			uses = append(uses, Use{Kind: Write, Text: "/"}) // wherever the archive says
		case opt.Has:
			uses = c.option(uses, opt)
		}
	}
	if !creates {
		return uses // operands are names of members
	}
	for _, i := range c.operands() {
		uses = append(uses, Use{Kind: Read, Text: join(dir, c.args[i].Text), Glob: c.args[i].Glob})
	}
	return uses
}
