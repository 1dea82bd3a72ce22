package session

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// programWithin is how long a program may take to say what its settings are.
const programWithin = 20 * time.Second

// programHosts returns the hosts that programs reach by their own settings on this machine, as entries of
// network.allow. A program that is not installed has none. All are asked at once, in the root directory: what stands in
// a workspace is the agent's, but for git, whose settings there are protected. file keeps their answers for a while.
func programHosts(file string, from []string, workspace string) ([]string, error) {
	if len(from) == 0 {
		return nil, nil
	}
	cache := &sayings{file: file}
	cache.read()
	ask := map[string]func() ([]string, error){
		"go": goHosts, "npm": npmHosts, "pip": pipHosts, "apt": aptHosts,
		"git": func() ([]string, error) { return gitHosts(workspace) },
	}
	type result struct {
		places []string
		err    error
	}
	results := make([]chan result, len(from))
	for i, name := range from {
		results[i] = make(chan result, 1)
		if places, ok := cache.fresh(name); ok {
			results[i] <- result{places, nil}
			continue
		}
		go func() {
			places, err := ask[name]()
			results[i] <- result{places, err}
		}()
	}
	var hosts []string
	for i, name := range from {
		r := <-results[i]
		if r.err != nil {
			return nil, fmt.Errorf("network.from: %s: %w", name, r.err)
		}
		cache.note(name, r.places)
		for _, place := range r.places {
			if entry := hostEntry(place); entry != "" {
				hosts = append(hosts, entry)
			}
		}
	}
	cache.write()
	slices.Sort(hosts)
	return slices.Compact(hosts), nil
}

// sayings are what programs have said a short while ago: some take half a second to say it.
type sayings struct {
	file    string
	Said    map[string]said `json:"said"`
	changed bool
}

type said struct {
	At     time.Time `json:"at"`
	Places []string  `json:"places"`
}

// answerLasts is how long what a program has said is believed.
const answerLasts = 5 * time.Minute

func (a *sayings) read() {
	if data, err := os.ReadFile(a.file); err != nil || json.Unmarshal(data, a) != nil {
		a.Said = nil // it is asked again
	}
	if a.Said == nil {
		a.Said = map[string]said{}
	}
}

func (a *sayings) fresh(name string) ([]string, bool) {
	s, ok := a.Said[name]
	age := time.Since(s.At)
	return s.Places, ok && age >= 0 && age < answerLasts
}

// note keeps an answer, but git's, which is quick and differs with the workspace.
func (a *sayings) note(name string, places []string) {
	if _, ok := a.fresh(name); !ok && name != "git" {
		a.Said[name], a.changed = said{time.Now(), places}, true
	}
}

// write keeps the sayings where it can.
func (a *sayings) write() {
	if !a.changed {
		return
	}
	data, err := json.Marshal(a)
	if err != nil || os.MkdirAll(filepath.Dir(a.file), 0o700) != nil {
		return
	}
	temp, err := os.CreateTemp(filepath.Dir(a.file), "network-from")
	if err != nil {
		return
	}
	_, err = temp.Write(data)
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), a.file)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
	}
}

// hostEntry is the entry for where a URL leads, or git's short form of one; "" for none that is reached by TLS or HTTP.
func hostEntry(place string) string {
	u, err := url.Parse(place)
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" {
		return ""
	}
	if u.Port() != "" {
		return u.Host
	}
	return u.Hostname()
}

// output runs a program, if it is installed.
func output(name string, args ...string) ([]byte, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, nil //nolint:nilerr // it reaches nothing
	}
	ctx, cancel := context.WithTimeout(context.Background(), programWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = "/"
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		line, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
		return nil, fmt.Errorf("%w: %s", err, line)
	}
	return out, nil
}

// goHosts are those of the module proxies and of the checksum database.
func goHosts() ([]string, error) {
	out, err := output("go", "env", "-json", "GOPROXY", "GOSUMDB")
	if err != nil || out == nil {
		return nil, err
	}
	var env struct{ GOPROXY, GOSUMDB string }
	if err := json.Unmarshal(out, &env); err != nil {
		return nil, err
	}
	places := strings.FieldsFunc(env.GOPROXY, func(r rune) bool { return r == ',' || r == '|' })
	if database := strings.Fields(env.GOSUMDB); len(database) > 1 {
		places = append(places, database[1])
	} else if len(database) == 1 && database[0] != "off" {
		name, _, _ := strings.Cut(database[0], "+")
		places = append(places, "https://"+name)
	}
	return places, nil
}

// npmHosts are those of the registries, scoped ones among them.
func npmHosts() ([]string, error) {
	out, err := output("npm", "config", "ls", "--json")
	if err != nil || out == nil {
		return nil, err
	}
	var settings map[string]any
	if err := json.Unmarshal(out, &settings); err != nil {
		return nil, err
	}
	var places []string
	for name, value := range settings {
		if text, ok := value.(string); ok && (name == "registry" || strings.HasSuffix(name, ":registry")) {
			places = append(places, text)
		}
	}
	return places, nil
}

// pipDefaults has pip say where it looks unless it is told otherwise, and where the files are that are found there.
const pipDefaults = `from pip._internal.models.index import PyPI; print(PyPI.simple_url); print("https://" + PyPI.file_storage_domain)`

// pipHosts are those of the indexes, and of the files that the standard one leads to.
func pipHosts() ([]string, error) {
	out, err := output("pip", "config", "list")
	if err != nil || out == nil {
		return nil, err
	}
	var places []string
	standard := true
	for line := range strings.Lines(string(out)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		_, setting, _ := strings.Cut(name, ".")
		if setting == "index-url" || setting == "extra-index-url" {
			standard = standard && setting != "index-url"
			places = append(places, strings.Fields(strings.ReplaceAll(strings.Trim(value, "'"), `\n`, " "))...)
		}
	}
	if !standard {
		return places, nil
	}
	if out, err = output("python3", "-c", pipDefaults); err != nil {
		return nil, err
	}
	return append(places, strings.Fields(string(out))...), nil
}

// aptHosts are those of the package sources.
func aptHosts() ([]string, error) {
	out, err := output("apt-get", "indextargets", "--format", "$(REPO_URI)")
	return strings.Fields(string(out)), err
}

// gitHosts are those of the workspace's remotes, as git rewrites them.
func gitHosts(workspace string) ([]string, error) {
	file := filepath.Join(workspace, ".git", "config")
	out, err := output("git", "config", "--file", file, "--no-includes", "--name-only", "--get-regexp", `^remote\..*\.url$`)
	if err != nil || out == nil {
		return nil, nil //nolint:nilerr // no repository, or one without remotes
	}
	var places []string
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		name := strings.TrimSuffix(strings.TrimPrefix(lines.Text(), "remote."), ".url")
		url, err := output("git", "config", "--file", file, "--no-includes", "--get", lines.Text())
		if err != nil {
			continue
		}
		rewritten, err := output("git", "ls-remote", "--get-url", strings.TrimSpace(string(url)))
		if err != nil || len(rewritten) == 0 {
			return nil, fmt.Errorf("the address of remote %s: %w", name, err)
		}
		places = append(places, strings.TrimSpace(string(rewritten)))
	}
	return places, lines.Err()
}
