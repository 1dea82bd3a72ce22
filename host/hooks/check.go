package hooks

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/internal/suggest"
)

// OptionMistake is an invalid value in the hook options.
type OptionMistake struct {
	Key     string // as "hooks.PreToolUse[0].matcher"
	Problem string
	Remedy  string // may be empty
}

// Error joins the key, the problem and the remedy.
func (m *OptionMistake) Error() string {
	text := m.Key + ": " + m.Problem
	if m.Remedy != "" {
		text += "; " + m.Remedy
	}
	return text
}

// CheckOptions returns all invalid values in options, sorted by key.
func CheckOptions(o HookOptions) []*OptionMistake {
	c := &optionChecker{}
	c.checkChoice("hooks.on_error", o.OnError, "closed", "open")
	c.checkNotNegative("hooks.defaults.observer_timeout_ms", float64(o.Defaults.Observer))
	c.checkNotNegative("hooks.defaults.interceptor_timeout_ms", float64(o.Defaults.Interceptor))
	c.checkNotNegative("hooks.defaults.approval_timeout_ms", float64(o.Defaults.Approval))
	for e, groups := range o.groupsByEvent() {
		for i, g := range groups {
			c.checkGroup(fmt.Sprintf("hooks.%s[%d]", e, i), g)
		}
	}
	for name, p := range o.Processes {
		c.checkProcess("hooks.processes."+name, p)
	}
	slices.SortStableFunc(c.mistakes, func(a, b *OptionMistake) int { return strings.Compare(a.Key, b.Key) })
	return c.mistakes
}

// optionChecker collects the invalid values in options.
type optionChecker struct{ mistakes []*OptionMistake }

func (c *optionChecker) addMistake(key, problem, cure string) {
	c.mistakes = append(c.mistakes, &OptionMistake{key, problem, cure})
}

func (c *optionChecker) checkGroup(key string, g CommandHookGroup) {
	if _, err := newNameMatcher(g.Matcher); err != nil {
		c.addMistake(key+".matcher", fmt.Sprintf("%q is not a valid RE2 regular expression: %v", g.Matcher, err),
			"RE2 has no lookahead and no lookbehind")
	}
	if len(g.Hooks) == 0 {
		c.addMistake(key+".hooks", "is empty", "name a hook, or leave out the entry")
	}
	for i, h := range g.Hooks {
		hook := fmt.Sprintf("%s.hooks[%d]", key, i)
		c.checkChoice(hook+".type", h.Type, "command")
		if strings.TrimSpace(h.Command) == "" {
			c.addMistake(hook+".command", "is empty", "name the command to run")
		}
		c.checkNotNegative(hook+".timeout", h.Timeout)
		c.checkChoice(hook+".onFailure", h.OnFailure, "block")
		c.checkGrants(hook, h.HookGrants)
	}
}

func (c *optionChecker) checkProcess(key string, p ProcessHookOptions) {
	c.checkChoice(key+".transport", p.Transport, "stdio")
	if len(p.Command) == 0 || p.Command[0] == "" {
		c.addMistake(key+".command", "is empty", "name the program and its arguments")
	}
	if p.Dir != "" && !filepath.IsAbs(p.Dir) {
		c.addMistake(key+".dir", fmt.Sprintf("%q is not absolute", p.Dir), "")
	}
	if len(p.Intercept) == 0 && len(p.Observe) == 0 {
		c.addMistake(key, "neither intercepts nor observes anything", "list events in "+key+".intercept")
	}
	for i, point := range p.Intercept {
		c.checkChoice(fmt.Sprintf("%s.intercept[%d]", key, i), point, interceptPoints...)
	}
	for i, kind := range p.Observe {
		c.checkChoice(fmt.Sprintf("%s.observe[%d]", key, i), kind, observableKinds()...)
	}
	c.checkGrants(key, p.HookGrants)
}

func (c *optionChecker) checkGrants(key string, g HookGrants) {
	c.checkChoice(key+".workspace", g.Workspace, "none", "ro", "rw")
	for name, list := range map[string][]string{"read": g.Read, "write": g.Write} {
		for i, path := range list {
			if !filepath.IsAbs(path) {
				c.addMistake(fmt.Sprintf("%s.%s[%d]", key, name, i), fmt.Sprintf("%q is not absolute", path), "")
			}
		}
	}
	if len(g.Secrets) > 0 && len(g.Hosts) == 0 {
		c.addMistake(key+".secrets", "are only sent to hosts that are named, and none is",
			"name them in "+key+".hosts")
	}
	for _, name := range slices.Sorted(maps.Keys(g.Env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			c.addMistake(key+".env", fmt.Sprintf("%q is not a valid variable name", name), "")
		}
	}
}

// checkChoice checks that a value is empty or one of the known values.
func (c *optionChecker) checkChoice(key, value string, known ...string) {
	if value != "" && !slices.Contains(known, value) {
		c.addMistake(key, fmt.Sprintf("%q is not known%s", value, suggest.DidYouMean(value, known)),
			"it is one of "+strings.Join(known, ", "))
	}
}

func (c *optionChecker) checkNotNegative(key string, value float64) {
	if value < 0 {
		c.addMistake(key, fmt.Sprintf("%v is negative", value), "")
	}
}
