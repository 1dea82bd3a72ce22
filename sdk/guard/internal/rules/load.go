package rules

import (
	"slices"
	"strings"
)

// loadRules are about libraries that an option makes a program load as its own code, as a variable of the environment also can.
var loadRules = []Rule{
	{
		ID: "exec.library", Names: "openssl", Match: both(mention("engine", "provider", "SO_PATH"), func(c *Command) bool {
			for i, arg := range c.Args {
				before := ""
				if i > 0 {
					before = strings.TrimLeft(c.Args[i-1], "-")
				}
				switch {
				case strings.HasPrefix(arg, "SO_PATH:"), before == "provider-path":
					return true
				case (before == "engine" || before == "provider") && library(arg), c.Operand(0) == "engine" && library(arg):
					return true
				}
			}
			return false
		}),
		Reason: saysLoads, Hit: []string{"openssl req -engine ./x.so", "openssl engine -t dynamic -pre SO_PATH:./x.so -pre LOAD", "openssl list -provider-path . -provider x", "openssl engine ./x.so"},
		Miss: []string{"openssl rand -hex 8", "openssl req -engine pkcs11 -new", "openssl list -providers", "openssl engine -t", "openssl dgst -sha256 x.so"},
	},
	{
		ID: "exec.library", Names: "ssh-keygen ssh-add ssh-agent ssh scp sftp", Match: func(c *Command) bool {
			letters := map[string]string{"ssh-keygen": "D", "ssh-add": "se", "ssh-agent": "P", "ssh": "I"}[c.Name]
			return slices.ContainsFunc(c.Args, func(arg string) bool {
				return isCluster(arg) && letters != "" && strings.ContainsAny(arg[1:2], letters)
			}) || prefix("-opkcs11provider", "pkcs11provider=", "-osecuritykeyprovider", "securitykeyprovider=")(c)
		},
		Reason: saysLoads, Hit: []string{"ssh-keygen -D ./x.so", "ssh-add -s ./x.so", "ssh -I ./x.so host", "ssh-keygen -D./x.so -e"},
		Miss: []string{"ssh-keygen -t ed25519 -f k", "ssh-add -l", "ssh-add k", "ssh-keygen -lf k.pub"},
	},
}

const saysLoads = "loads a library that the option names as code of its own"

// library says whether a word names a file of code and not only what is installed by that name.
func library(word string) bool {
	return strings.Contains(word, "/") || strings.HasSuffix(word, ".so") || strings.HasSuffix(word, ".dylib")
}
