package programs

import "strings"

// dd has operands of the form name=value.
func dd(c call) []Use {
	var uses []Use
	for _, arg := range c.args {
		switch name, value, _ := strings.Cut(arg.Text, "="); name {
		case "if":
			uses = append(uses, Use{Kind: Read, Text: value, Glob: arg.Glob})
		case "of":
			uses = append(uses, Use{Kind: Write, Text: value, Glob: arg.Glob})
		default:
			uses = append(uses, field(Data, arg))
		}
	}
	return uses
}

// ln makes links: where they are is written, where they point to counts from there.
func ln(c call) []Use {
	var uses []Use
	at := c.operands()
	dir, hasDir := c.parsed.Value("-t", "--target-directory")
	if !hasDir && len(at) > 1 {
		dir = c.args[at[len(at)-1]].Text
		at = at[:len(at)-1]
	}
	if dir != "" {
		uses = append(uses, Use{Kind: Write, Text: dir})
	}
	base := dir
	if !hasDir && !strings.HasSuffix(dir, "/") && dir != "." && dir != ".." {
		base = dir[:strings.LastIndexByte(dir, '/')+1]
	}
	symbolic := c.parsed.Has("-s", "--symbolic") && !c.parsed.Has("-r", "--relative")
	for _, i := range at {
		target := c.args[i].Text
		if symbolic && !strings.HasPrefix(target, "/") && base != "" {
			target = strings.TrimSuffix(base, "/") + "/" + target
		}
		uses = append(uses, Use{Kind: Read, Text: target, Glob: c.args[i].Glob})
	}
	return uses
}

// copied are the uses of a program whose operands may be host:path, which are on another machine or in a container.
func copied(c call) []Use {
	uses := c.uses()
	for i, u := range uses {
		if u.Kind != Code && u.Kind != Command && (elsewhere(u.Text) || Remote(u.Text)) {
			uses[i].Kind = Data
		}
	}
	return uses
}

// elsewhere reports whether a word is host:path or namespace/pod:path.
func elsewhere(word string) bool {
	host, _, ok := strings.Cut(word, ":")
	return ok && host != "" && !strings.ContainsAny(host, `\=`) && strings.IndexByte("./~", host[0]) < 0 &&
		strings.Count(host, "/") < 2
}

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
		case opt.Has && is(opt, Enter):
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

// docker mounts directories: what stands in front of the colon is one of this machine, or the name of a volume.
func docker(c call) []Use {
	var uses []Use
	for _, opt := range c.parsed.Options {
		switch {
		case opt.Has && is(opt, Path) && (opt.Name == "-v" || opt.Is("--volume")):
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
