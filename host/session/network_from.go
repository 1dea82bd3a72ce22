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
	"strings"
	"time"
)

// programHosts returns the hosts that programs reach by their own settings on this machine, as entries of
// network.allow. A program that is not installed has none. The agent can't change these settings: those of a workspace
// do not count, but for git's, which are protected.
func programHosts(from []string, workspace string) ([]string, error) {
	sources := map[string]func() ([]string, error){
		"go": goSources, "npm": npmSources, "pip": pipSources, "apt": aptSources,
		"git": func() ([]string, error) { return gitSources(workspace) },
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
			if entry := hostEntry(u); entry != "" {
				hosts = append(hosts, entry)
			}
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts), nil
}

// hostEntry returns the entry for the host of a URL; "" for one that is not reached by TLS or HTTP, such as git's short
// form.
func hostEntry(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" {
		return ""
	}
	if u.Port() != "" {
		return u.Host
	}
	return u.Hostname()
}

// goSources returns the module proxies and the checksum database that `go env` names.
func goSources() ([]string, error) {
	out, err := output("go", "env", "-json", "GOPROXY", "GOSUMDB")
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

// npmSources returns the registries, scoped ones too, that the environment and the .npmrc files of the user and of the
// machine name, and npm's own if none is named for all packages.
func npmSources() ([]string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	program, _ := exec.LookPath("npm")
	var urls []string
	standard := true
	for name, values := range readSettings("npm_config_",
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

// pipSources returns the indexes that the environment and pip's configuration files of the user and of the machine
// name, and PyPI with its files if none is named instead.
func pipSources() ([]string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	files := []string{"/etc/xdg/pip/pip.conf", "/etc/pip.conf", filepath.Join(home, ".pip", "pip.conf")}
	if dir, err := os.UserConfigDir(); err == nil {
		files = append(files, filepath.Join(dir, "pip", "pip.conf"))
	}
	settings := readSettings("pip_", append(files, os.Getenv("PIP_CONFIG_FILE"))...)
	urls := settings["index-url"]
	if len(urls) == 0 {
		urls = []string{"https://pypi.org", "https://files.pythonhosted.org"}
	}
	return append(urls, settings["extra-index-url"]...), nil
}

// readSettings reads settings from files with lines such as "name = value", where the lines of a longer value are
// indented, and from variables whose names begin with prefix. It returns the words of all values of a name.
func readSettings(prefix string, files ...string) map[string][]string {
	settings := map[string][]string{}
	add := func(name, value string) string {
		name = strings.ToLower(strings.ReplaceAll(strings.TrimSpace(name), "_", "-"))
		for _, word := range strings.Fields(value) {
			settings[name] = append(settings[name], os.ExpandEnv(strings.Trim(word, `"'`)))
		}
		return name
	}
	for _, file := range files {
		text, _ := os.ReadFile(file) // it need not exist
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

// aptSources returns the package sources in /etc/apt.
func aptSources() ([]string, error) {
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

// gitSources returns the workspace's remotes, as git rewrites them.
func gitSources(workspace string) ([]string, error) {
	file := filepath.Join(workspace, ".git", "config")
	out, err := output("git", "config", "--file", file, "--no-includes", "-z", "--get-regexp", `^remote\..*\.url$`)
	if err != nil {
		return nil, nil //nolint:nilerr // no repository, or one without remotes
	}
	var urls []string
	for setting := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		name, remote, _ := strings.Cut(setting, "\n")
		rewritten, err := output("git", "ls-remote", "--get-url", "--", remote)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		urls = append(urls, strings.TrimSpace(string(rewritten)))
	}
	return urls, nil
}

// outputTimeout bounds a program that says what its settings are.
const outputTimeout = 20 * time.Second

// output runs a program in the root directory, where no agent can put settings.
func output(name string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), outputTimeout)
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
