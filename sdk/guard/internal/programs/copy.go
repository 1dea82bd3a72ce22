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
