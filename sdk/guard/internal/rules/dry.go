package rules

import "strings"

// dryRun says whether the command only tells what it would do, or how it is used.
func (c *Command) dryRun() bool {
	dry := false
	for i, arg := range c.Args {
		option, value, _ := strings.Cut(arg, "=")
		switch {
		case i > 0 && c.mayTake(c.Args[i-1]):
			continue // it may be the value of what stands before it
		case option == "--help" || option == "-help":
			return true
		case option == "--no-dry-run":
			return false
		case strings.HasPrefix(option, "--dry-run"):
			if value == "" && i+1 < len(c.Args) {
				value = c.Args[i+1] // as npm takes it
			}
			switch strings.ToLower(value) {
			case "none", "false", "0", "no":
				return false
			}
			dry = true
		}
	}
	return dry
}

// lone are the options without values of those programs whose options take whatever stands next.
var lone = map[string]bool{"--all": true, "--all-namespaces": true, "-A": true, "--force": true, "--now": true, "--wait": true, "--recursive": true, "-R": true, "-i": true, "-t": true, "-it": true, "-f": true, "-a": true, "-d": true, "-q": true, "-v": true, "--rm": true, "--ignore-not-found": true,
	"--server-side": true, "--volumes": true, "--remove-orphans": true, "--quiet": true, "--yes": true, "-y": true, "--no-headers": true, "--watch": true, "-w": true, "--all-tags": true, "--push": true, "--raw": true, "--show-token": true}

// mayTake says whether an option may take the next argument as its value whatever that looks like.
func (c *Command) mayTake(option string) bool {
	switch c.Name {
	case "kubectl", "oc", "docker", "podman", "nerdctl", "docker-compose", "podman-compose", "buildah", "helm", "gh", "glab", "vault", "bao", "op":
		return len(option) > 1 && option[0] == '-' && !strings.Contains(option, "=") && !lone[option]
	}
	return false
}

// unlessDry are rules that don't concern commands which only tell what they would do, or how they are used.
func unlessDry(list []Rule) []Rule {
	for i := range list {
		list[i].Match = both(list[i].Match, not((*Command).dryRun))
	}
	return list
}
