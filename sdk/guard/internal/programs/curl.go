package programs

import "strings"

// curlUses returns the uses of the arguments of curl and HTTPie. A value after "@" is a file to upload.
func curlUses(c programCall) []ArgumentUse {
	var uses []ArgumentUse
	for _, opt := range c.parsed.Options {
		if optionHasRole(opt, Data) && opt.Has {
			uses = append(uses, uploadedFileUses(opt.Name, opt.Value)...)
		} else {
			uses = c.appendOptionUses(uses, opt)
		}
	}
	for _, i := range c.operandIndexes() {
		text := c.args[i].Text
		switch at := strings.IndexAny(text, "=:@"); {
		case len(text) >= 5 && strings.EqualFold(text[:5], "file:"):
			uses = append(uses, ArgumentUse{Kind: Path, Text: text})
		case c.name == "curl" || at < 0 || IsRemoteFile(text):
			uses = append(uses, ArgumentUse{Kind: Data, Text: text})
		default:
			if file, ok := strings.CutPrefix(strings.TrimLeft(text[at:], ":="), "@"); ok {
				file, _, _ = strings.Cut(file, ";type=")
				uses = append(uses, ArgumentUse{Kind: Read, Text: file})
			}
		}
	}
	return uses
}

// namedUploadOptions are options of curl with a value name@file or name=@file.
var namedUploadOptions = wordSet("--data-urlencode --variable -F --form")

// uploadOptions are options of curl with a value @file.
var uploadOptions = wordSet("-d --data --data-ascii --data-binary --json -w --write-out -H --header")

// uploadedFileUses returns the files that the value of a curl option names.
func uploadedFileUses(option, value string) []ArgumentUse {
	switch {
	case option == "-b" || option == "--cookie":
		if !strings.Contains(value, "=") {
			return []ArgumentUse{{Kind: Read, Text: value}}
		}
		return nil
	case option == "--url":
		return []ArgumentUse{{Kind: Path, Text: value}}
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
		return []ArgumentUse{{Kind: Read, Text: file}}
	}
	return nil
}
