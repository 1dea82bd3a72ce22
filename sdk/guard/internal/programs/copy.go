package programs

import "strings"

// ddUses returns the uses of dd's operands, which have the form name=value.
func ddUses(c call) []Use {
	var uses []Use
	for _, arg := range c.args {
		switch name, value, _ := strings.Cut(arg.Text, "="); name {
		case "if":
			uses = append(uses, Use{Kind: Read, Text: value, Glob: arg.Glob})
		case "of":
			uses = append(uses, Use{Kind: Write, Text: value, Glob: arg.Glob})
		default:
			uses = append(uses, fieldUse(Data, arg))
		}
	}
	return uses
}

// lnUses returns the uses of ln's operands: it writes the link, and reads the target, which is relative to the link's
// directory.
func lnUses(c call) []Use {
	var uses []Use
	at := c.operandIndexes()
	dir, hasDir := c.parsed.LastValue("-t", "--target-directory")
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
	symbolic := c.parsed.HasOption("-s", "--symbolic") && !c.parsed.HasOption("-r", "--relative")
	for _, i := range at {
		target := c.args[i].Text
		if symbolic && !strings.HasPrefix(target, "/") && base != "" {
			target = strings.TrimSuffix(base, "/") + "/" + target
		}
		uses = append(uses, Use{Kind: Read, Text: target, Glob: c.args[i].Glob})
	}
	return uses
}

// copyUses returns the uses of a copy program such as scp. Operands of the form host:path name files on another
// machine or in a container, and count as Data.
func copyUses(c call) []Use {
	uses := c.dataUses()
	for i, u := range uses {
		if u.Kind != Code && u.Kind != Command && (isRemotePath(u.Text) || IsRemote(u.Text)) {
			uses[i].Kind = Data
		}
	}
	return uses
}

// isRemotePath reports whether a word has the form host:path or namespace/pod:path.
func isRemotePath(word string) bool {
	host, _, ok := strings.Cut(word, ":")
	return ok && host != "" && !strings.ContainsAny(host, `\=`) && strings.IndexByte("./~", host[0]) < 0 &&
		strings.Count(host, "/") < 2
}

// tarUses returns the uses of tar's arguments, which depend on whether it creates or extracts an archive.
func tarUses(c call) []Use {
	creates := c.parsed.HasOption("-c", "-r", "-u", "-A", "--create", "--append", "--update")
	extracts := c.parsed.HasOption("-x", "--extract", "--get")
	var uses []Use
	dir := ""
	for _, opt := range c.parsed.Options {
		code, runs := strings.CutPrefix(opt.Value, "exec=")
		switch {
		case opt.HasName("--checkpoint-action"):
			if runs {
				uses = append(uses, shellCode(code))
			}
		case opt.Has && hasRole(opt, Enter):
			dir = opt.Value
			uses = append(uses, Use{Kind: Enter, Text: opt.Value})
			if !creates {
				uses = append(uses, Use{Kind: Write, Text: opt.Value})
			}
		case opt.Has && !creates && (opt.Name == "-f" || opt.HasName("--file")):
			uses = append(uses, Use{Kind: Read, Text: opt.Value})
		case extracts && (opt.Name == "-P" || opt.HasName("--absolute-names")):
			uses = append(uses, Use{Kind: Write, Text: "/"}) // the archive chooses the paths
		case opt.Has:
			uses = c.appendOption(uses, opt)
		}
	}
	if !creates {
		return uses // operands are names of members
	}
	for _, i := range c.operandIndexes() {
		uses = append(uses, Use{Kind: Read, Text: joinPath(dir, c.args[i].Text), Glob: c.args[i].Glob})
	}
	return uses
}

// dockerUses returns the uses of docker's arguments. The part of a mount before the colon is a host directory, or the
// name of a volume.
func dockerUses(c call) []Use {
	var uses []Use
	for _, opt := range c.parsed.Options {
		switch {
		case opt.Has && hasRole(opt, Path) && (opt.Name == "-v" || opt.HasName("--volume")):
			if host, _, _ := strings.Cut(opt.Value, ":"); strings.ContainsAny(host, "/.~") {
				uses = append(uses, Use{Kind: Write, Text: host})
			}
		case opt.Has && opt.HasName("--mount"):
			for part := range strings.SplitSeq(opt.Value, ",") {
				if key, value, _ := strings.Cut(part, "="); key == "source" || key == "src" {
					uses = append(uses, Use{Kind: Write, Text: value})
				}
			}
		default:
			uses = c.appendOption(uses, opt)
		}
	}
	for _, u := range c.appendOperands(nil, c.operandIndexes()) {
		if c.verbName() == "cp" && isRemotePath(u.Text) {
			u.Kind = Data
		}
		uses = append(uses, u)
	}
	return uses
}
