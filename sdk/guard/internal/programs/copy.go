package programs

import "strings"

// ddUses returns the uses of dd's operands, which have the form name=value.
func ddUses(c programCall) []ArgumentUse {
	var uses []ArgumentUse
	for _, arg := range c.args {
		switch name, value, _ := strings.Cut(arg.Text, "="); name {
		case "if":
			uses = append(uses, ArgumentUse{Kind: Read, Text: value, Glob: arg.Glob})
		case "of":
			uses = append(uses, ArgumentUse{Kind: Write, Text: value, Glob: arg.Glob})
		default:
			uses = append(uses, wholeArgumentUse(Data, arg))
		}
	}
	return uses
}

// lnUses returns the uses of ln's operands: it writes the link and reads the target. A symbolic target is relative to
// the link's directory.
func lnUses(c programCall) []ArgumentUse {
	var uses []ArgumentUse
	at := c.operandIndexes()
	dir, hasDir := c.parsed.LastOptionValue("-t", "--target-directory")
	if !hasDir && len(at) > 1 {
		dir = c.args[at[len(at)-1]].Text
		at = at[:len(at)-1]
	}
	if dir != "" {
		uses = append(uses, ArgumentUse{Kind: Write, Text: dir})
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
		uses = append(uses, ArgumentUse{Kind: Read, Text: target, Glob: c.args[i].Glob})
	}
	return uses
}

// remoteCopyUses returns the uses of a copy program such as scp. Operands of the form host:path name remote files and
// count as Data.
func remoteCopyUses(c programCall) []ArgumentUse {
	uses := c.usesFromEntry()
	for i, u := range uses {
		if u.Kind != Code && u.Kind != Command && (isRemotePath(u.Text) || IsRemoteFile(u.Text)) {
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

// tarUses returns the uses of tar's arguments. They depend on whether it creates or extracts an archive.
func tarUses(c programCall) []ArgumentUse {
	creates := c.parsed.HasOption("-c", "-r", "-u", "-A", "--create", "--append", "--update")
	extracts := c.parsed.HasOption("-x", "--extract", "--get")
	var uses []ArgumentUse
	dir := ""
	for _, opt := range c.parsed.Options {
		code, runs := strings.CutPrefix(opt.Value, "exec=")
		switch {
		case opt.HasName("--checkpoint-action"):
			if runs {
				uses = append(uses, shellCodeUse(code))
			}
		case opt.Has && optionHasRole(opt, Enter):
			dir = opt.Value
			uses = append(uses, ArgumentUse{Kind: Enter, Text: opt.Value})
			if !creates {
				uses = append(uses, ArgumentUse{Kind: Write, Text: opt.Value})
			}
		case opt.Has && !creates && (opt.Name == "-f" || opt.HasName("--file")):
			uses = append(uses, ArgumentUse{Kind: Read, Text: opt.Value})
		case extracts && (opt.Name == "-P" || opt.HasName("--absolute-names")):
			uses = append(uses, ArgumentUse{Kind: Write, Text: "/"}) // the archive chooses the paths
		case opt.Has:
			uses = c.appendOptionUses(uses, opt)
		}
	}
	if !creates {
		return uses // operands are names of members
	}
	for _, i := range c.operandIndexes() {
		uses = append(uses, ArgumentUse{Kind: Read, Text: joinPath(dir, c.args[i].Text), Glob: c.args[i].Glob})
	}
	return uses
}

// dockerUses returns the uses of docker's arguments. The part of a mount before the colon is a host directory or a
// volume name.
func dockerUses(c programCall) []ArgumentUse {
	var uses []ArgumentUse
	for _, opt := range c.parsed.Options {
		switch {
		case opt.Has && optionHasRole(opt, Path) && (opt.Name == "-v" || opt.HasName("--volume")):
			if host, _, _ := strings.Cut(opt.Value, ":"); strings.ContainsAny(host, "/.~") {
				uses = append(uses, ArgumentUse{Kind: Write, Text: host})
			}
		case opt.Has && opt.HasName("--mount"):
			for part := range strings.SplitSeq(opt.Value, ",") {
				if key, value, _ := strings.Cut(part, "="); key == "source" || key == "src" {
					uses = append(uses, ArgumentUse{Kind: Write, Text: value})
				}
			}
		default:
			uses = c.appendOptionUses(uses, opt)
		}
	}
	for _, u := range c.appendOperandUses(nil, c.operandIndexes()) {
		if c.verbName() == "cp" && isRemotePath(u.Text) {
			u.Kind = Data
		}
		uses = append(uses, u)
	}
	return uses
}
