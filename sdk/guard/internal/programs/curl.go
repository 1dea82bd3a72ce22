package programs

import "strings"

// curlUses returns the uses of the arguments of curl and HTTPie: a value after "@" is a file to upload.
func curlUses(c call) []Use {
	var uses []Use
	for _, opt := range c.parsed.Options {
		if hasRole(opt, Data) && opt.Has {
			uses = append(uses, uploadedFiles(opt.Name, opt.Value)...)
		} else {
			uses = c.appendOption(uses, opt)
		}
	}
	for _, i := range c.operandIndexes() {
		text := c.args[i].Text
		switch at := strings.IndexAny(text, "=:@"); {
		case len(text) >= 5 && strings.EqualFold(text[:5], "file:"):
			uses = append(uses, Use{Kind: Path, Text: text})
		case c.name == "curl" || at < 0 || IsRemote(text):
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

// namedUploadOptions are options of curl with a value name@file or name=@file.
var namedUploadOptions = wordSet("--data-urlencode --variable -F --form")

// uploadOptions are options of curl with a value @file.
var uploadOptions = wordSet("-d --data --data-ascii --data-binary --json -w --write-out -H --header")

// uploadedFiles returns the files that an option's value names.
func uploadedFiles(option, value string) []Use {
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
	case namedUploadOptions[option]:
		_, value, _ = strings.Cut(value, "@")
		value = "@" + value
	case !uploadOptions[option]:
		return nil
	}
	if file, ok := strings.CutPrefix(value, "@"); ok && file != "" {
		return []Use{{Kind: Read, Text: file}}
	}
	return nil
}
