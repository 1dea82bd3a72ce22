package session

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/host/egress"
	"github.com/picoclaw/picoclaw/internal/protect"
)

// configuredProgramHosts returns the hosts in the settings of programs on this machine, such as npm's registries, as
// entries of network.allow. Programs that are not installed have no hosts. It ignores settings in the workspace, which
// the agent can change, except git's, which are protected.
func configuredProgramHosts(from []string, workspace string) ([]string, error) {
	sources := map[string]func() ([]string, error){
		"go": goProxyURLs, "npm": npmRegistryURLs, "pip": pipIndexURLs, "apt": aptSourceURLs,
		"git": func() ([]string, error) { return gitRemoteURLs(workspace) },
	}
	var hosts []string
	for _, name := range from {
		if _, err := exec.LookPath(strings.Replace(name, "apt", "apt-get", 1)); err != nil {
			continue
		}
		urls, err := sources[name]()
		if err != nil {
			return nil, fmt.Errorf("network.from: %s: %w", name, err)
		}
		for _, u := range urls {
			if entry := allowEntryOfURL(u); entry != "" {
				hosts = append(hosts, entry)
			}
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts), nil
}

// allowEntryOfURL returns the network.allow entry for the host of a URL. It is "" for URLs without TLS or HTTP, such as
// git's short form.
func allowEntryOfURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" {
		return ""
	}
	port, _ := strconv.ParseUint(u.Port(), 10, 16)
	return egress.FormatAllowEntry(u.Hostname(), uint16(port))
}

// goProxyURLs returns the module proxies and checksum database from `go env`.
func goProxyURLs() ([]string, error) {
	out, err := runProgramInRootDir("go", "env", "-json", "GOPROXY", "GOSUMDB")
	if err != nil {
		return nil, err
	}
	var env struct{ GOPROXY, GOSUMDB string }
	if err := json.Unmarshal(out, &env); err != nil {
		return nil, err
	}
	urls := strings.FieldsFunc(env.GOPROXY, func(r rune) bool { return r == ',' || r == '|' })
	if database := strings.Fields(env.GOSUMDB); len(database) > 1 {
		urls = append(urls, database[1])
	} else if len(database) == 1 && database[0] != "off" {
		name, _, _ := strings.Cut(database[0], "+")
		urls = append(urls, "https://"+name)
	}
	return urls, nil
}

// npmRegistryURLs returns npm's registries, including scoped ones, from the environment and the .npmrc files of user
// and machine. npm's default registry is among them unless a setting replaces it.
func npmRegistryURLs() ([]string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	program, _ := exec.LookPath("npm")
	var urls []string
	standard := true
	for name, values := range readProgramSettings("npm_config_",
		filepath.Join(filepath.Dir(filepath.Dir(program)), "etc", "npmrc"), "/etc/npmrc",
		cmp.Or(os.Getenv("NPM_CONFIG_USERCONFIG"), filepath.Join(home, ".npmrc"))) {
		if name == "registry" || strings.HasSuffix(name, ":registry") {
			standard = standard && name != "registry"
			urls = append(urls, values...)
		}
	}
	if standard {
		urls = append(urls, "https://registry.npmjs.org")
	}
	return urls, nil
}

// pipIndexURLs returns pip's indexes from the environment and pip's configuration files. PyPI is among them unless a
// setting replaces it.
func pipIndexURLs() ([]string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	files := []string{"/etc/xdg/pip/pip.conf", "/etc/pip.conf", filepath.Join(home, ".pip", "pip.conf")}
	if dir, err := os.UserConfigDir(); err == nil {
		files = append(files, filepath.Join(dir, "pip", "pip.conf"))
	}
	settings := readProgramSettings("pip_", append(files, os.Getenv("PIP_CONFIG_FILE"))...)
	urls := settings["index-url"]
	if len(urls) == 0 {
		urls = []string{"https://pypi.org", "https://files.pythonhosted.org"}
	}
	return append(urls, settings["extra-index-url"]...), nil
}

// readProgramSettings reads the settings of a program and returns the words of all values by name. files have lines
// "name = value"; an indented line continues a value. Environment variables with the prefix are settings too.
func readProgramSettings(prefix string, files ...string) map[string][]string {
	settings := map[string][]string{}
	add := func(name, value string) string {
		name = strings.ToLower(strings.ReplaceAll(strings.TrimSpace(name), "_", "-"))
		for _, word := range strings.Fields(value) {
			settings[name] = append(settings[name], os.ExpandEnv(strings.Trim(word, `"'`)))
		}
		return name
	}
	for _, file := range files {
		text, _ := os.ReadFile(file) // optional
		name := ""
		for line := range strings.Lines(string(text)) {
			if trimmed := strings.TrimSpace(line); trimmed == "" || strings.ContainsAny(trimmed[:1], "#;[") {
				continue
			}
			if before, value, ok := strings.Cut(line, "="); ok && !strings.Contains(before, "://") {
				name = add(before, value)
			} else if line[0] == ' ' || line[0] == '\t' {
				add(name, line)
			}
		}
	}
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		if len(name) > len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) {
			add(name[len(prefix):], value)
		}
	}
	return settings
}

var webURL = regexp.MustCompile(`\bhttps?://\S+`)

// aptSourceURLs returns the package sources in /etc/apt.
func aptSourceURLs() ([]string, error) {
	var urls []string
	for _, pattern := range []string{"sources.list", "sources.list.d/*.list", "sources.list.d/*.sources"} {
		files, err := filepath.Glob(filepath.Join("/etc/apt", pattern))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			for line := range strings.Lines(string(text)) {
				sources, _, _ := strings.Cut(line, "#")
				urls = append(urls, webURL.FindAllString(sources, -1)...)
			}
		}
	}
	return urls, nil
}

// gitRemoteURLs returns the URLs of the workspace's remotes, after the rewrites in git's settings.
func gitRemoteURLs(workspace string) ([]string, error) {
	file := filepath.Join(workspace, protect.GitDir, "config")
	if shared, _ := protect.FindSharedGitDir(workspace); shared != nil {
		file = filepath.Join(shared.Dir, "config")
	}
	out, err := runProgramInRootDir("git", "config", "--file", file, "--no-includes", "-z", "--get-regexp", `^remote\..*\.url$`)
	if err != nil {
		return nil, nil //nolint:nilerr // no repository, or no remotes
	}
	var urls []string
	for setting := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		name, remote, _ := strings.Cut(setting, "\n")
		rewritten, err := runProgramInRootDir("git", "ls-remote", "--get-url", "--", remote)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		urls = append(urls, strings.TrimSpace(string(rewritten)))
	}
	return urls, nil
}

// settingsTimeout limits the run time of a program that prints its settings.
const settingsTimeout = 20 * time.Second

// runProgramInRootDir runs a program in the root directory, where agents can't put settings, and returns its output.
func runProgramInRootDir(name string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), settingsTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = "/"
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		line, _, _ := strings.Cut(strings.TrimSpace(complaint.String()), "\n")
		return nil, fmt.Errorf("%w: %s", err, line)
	}
	return out, nil
}
