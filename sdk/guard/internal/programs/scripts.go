package programs

import "strings"

// Scripts are the scripts that a package manager of Node writes into package.json, and that file: npm pkg set scripts.NAME=CODE,
// npm set-script NAME CODE.
func Scripts(name string, args []string) (file string, set map[string]string) {
	parsed := Options(name, args)
	if len(parsed.Operands) < 3 {
		return "", nil
	}
	var words []string
	for _, i := range parsed.Operands {
		words = append(words, args[i])
	}
	set = map[string]string{}
	switch {
	case words[0] == "set-script":
		set[words[1]] = words[2]
	case words[0] == "pkg" && words[1] == "set":
		for _, word := range words[2:] {
			key, code, _ := strings.Cut(word, "=")
			if script, ok := scriptKey(key); ok {
				set[script] = strings.Trim(code, `"`)
			}
		}
	}
	dir, _ := parsed.Value("-C", "--prefix", "--cwd", "--dir")
	return in(dir, "package.json"), set
}

// scriptKey is the name of the script that a key of package.json is: scripts.NAME, scripts["NAME"].
func scriptKey(key string) (string, bool) {
	rest, ok := strings.CutPrefix(key, "scripts")
	if !ok || rest == "" || rest[0] != '.' && rest[0] != '[' {
		return "", false
	}
	return strings.Trim(rest, `.[]"'`), true
}
