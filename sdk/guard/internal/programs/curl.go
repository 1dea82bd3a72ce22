package programs

import "strings"

// curl sends what "@" stands in front of from a file, and so do HTTPie and its like with their items.
func curl(c call) []Use {
	var uses []Use
	for _, opt := range c.parsed.Options {
		if is(opt, Data) && opt.Has {
			uses = append(uses, sent(opt.Name, opt.Value)...)
		} else {
			uses = c.option(uses, opt)
		}
	}
	for _, i := range c.operands() {
		text := c.args[i].Text
		switch at := strings.IndexAny(text, "=:@"); {
		case len(text) >= 5 && strings.EqualFold(text[:5], "file:"):
			uses = append(uses, Use{Kind: Path, Text: text})
		case c.name == "curl" || at < 0 || Remote(text):
			uses = append(uses, Use{Kind: Data, Text: text})
		default:
			if file, ok := strings.CutPrefix(strings.TrimLeft(text[at:], ":="), "@"); ok {
				file, _, _ = strings.Cut(file, ";type=")
				uses = append(uses, Use{Kind: Read, Text: file})
			}
		}
	}
	return uses
}

// sentNames are options of curl that take name@file, or name=@file.
var sentNames = set("--data-urlencode --variable -F --form")

// fileData are options of curl that take @file.
var fileData = set("-d --data --data-ascii --data-binary --json -w --write-out -H --header")

// sent are the files that are in the value of an option.
func sent(option, value string) []Use {
	switch {
	case option == "-b" || option == "--cookie":
		if !strings.Contains(value, "=") {
			return []Use{{Kind: Read, Text: value}}
		}
		return nil
	case option == "--url":
		return []Use{{Kind: Path, Text: value}}
	case option == "-F" || option == "--form":
		_, value, _ = strings.Cut(value, "=")
		value, _, _ = strings.Cut(strings.Replace(value, "<", "@", 1), ";")
	case sentNames[option]:
		_, value, _ = strings.Cut(value, "@")
		value = "@" + value
	case !fileData[option]:
		return nil
	}
	if file, ok := strings.CutPrefix(value, "@"); ok && file != "" {
		return []Use{{Kind: Read, Text: file}}
	}
	return nil
}
