package hooks

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/internal/nearest"
)

// Mistake is something in the options that can't be as it is.
type Mistake struct {
	Key     string // hooks.PreToolUse[0].matcher
	Problem string
	Cure    string // may be empty
}

func (m *Mistake) Error() string {
	text := m.Key + ": " + m.Problem
	if m.Cure != "" {
		text += "; " + m.Cure
	}
	return text
}

// Check returns all mistakes in options, sorted by their keys.
func Check(o Options) []*Mistake {
	c := &checker{}
	c.word("hooks.on_error", o.OnError, "closed", "open")
	c.number("hooks.defaults.observer_timeout_ms", float64(o.Defaults.Observer))
	c.number("hooks.defaults.interceptor_timeout_ms", float64(o.Defaults.Interceptor))
	c.number("hooks.defaults.approval_timeout_ms", float64(o.Defaults.Approval))
	for e, groups := range o.events() {
		for i, g := range groups {
			c.group(fmt.Sprintf("hooks.%s[%d]", e, i), g)
		}
	}
	for name, p := range o.Processes {
		c.process("hooks.processes."+name, p)
	}
	slices.SortStableFunc(c.found, func(a, b *Mistake) int { return strings.Compare(a.Key, b.Key) })
	return c.found
}

// checker collects mistakes.
type checker struct{ found []*Mistake }

func (c *checker) add(key, problem, cure string) {
	c.found = append(c.found, &Mistake{key, problem, cure})
}

func (c *checker) group(key string, g Group) {
	if _, err := newMatcher(g.Matcher); err != nil {
		c.add(key+".matcher", fmt.Sprintf("%q is no regular expression of RE2's syntax: %v", g.Matcher, err),
			"what looks ahead or behind is written in another way")
	}
	if len(g.Hooks) == 0 {
		c.add(key+".hooks", "is empty", "name a hook, or leave out the entry")
	}
	for i, h := range g.Hooks {
		key := fmt.Sprintf("%s.hooks[%d]", key, i)
		c.word(key+".type", h.Type, "command")
		if strings.TrimSpace(h.Command) == "" {
			c.add(key+".command", "is empty", "name the command to run")
		}
		c.number(key+".timeout", h.Timeout)
		c.word(key+".onFailure", h.OnFailure, "block")
		c.grants(key, h.Grants)
	}
}

func (c *checker) process(key string, p Process) {
	c.word(key+".transport", p.Transport, "stdio")
	if len(p.Command) == 0 || p.Command[0] == "" {
		c.add(key+".command", "is empty", "name the program and its arguments")
	}
	if p.Dir != "" && !filepath.IsAbs(p.Dir) {
		c.add(key+".dir", fmt.Sprintf("%q is not absolute", p.Dir), "")
	}
	if len(p.Intercept) == 0 && len(p.Observe) == 0 {
		c.add(key, "neither intercepts nor observes anything", "name what it is asked about in "+key+".intercept")
	}
	for i, point := range p.Intercept {
		c.word(fmt.Sprintf("%s.intercept[%d]", key, i), point, points...)
	}
	for i, kind := range p.Observe {
		c.word(fmt.Sprintf("%s.observe[%d]", key, i), kind, observable()...)
	}
	c.grants(key, p.Grants)
}

func (c *checker) grants(key string, g Grants) {
	c.word(key+".workspace", g.Workspace, "none", "ro", "rw")
	for name, list := range map[string][]string{"read": g.Read, "write": g.Write} {
		for i, path := range list {
			if !filepath.IsAbs(path) {
				c.add(fmt.Sprintf("%s.%s[%d]", key, name, i), fmt.Sprintf("%q is not absolute", path), "")
			}
		}
	}
	if len(g.Secrets) > 0 && len(g.Hosts) == 0 {
		c.add(key+".secrets", "are filled in on the way to hosts that are named, and there are none",
			"name them in "+key+".hosts")
	}
	for _, name := range slices.Sorted(maps.Keys(g.Env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			c.add(key+".env", fmt.Sprintf("%q can't be the name of a variable", name), "")
		}
	}
}

// word checks a value that is one of a few, or not set.
func (c *checker) word(key, value string, known ...string) {
	if value != "" && !slices.Contains(known, value) {
		c.add(key, fmt.Sprintf("%q is not known%s", value, nearest.Suggest(value, known)),
			"it is one of "+strings.Join(known, ", "))
	}
}

func (c *checker) number(key string, value float64) {
	if value < 0 {
		c.add(key, fmt.Sprintf("%v is less than nothing", value), "")
	}
}
