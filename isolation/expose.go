package isolation

import (
	"fmt"
	"path/filepath"
)

// The modes of an exposed path.
const (
	ModeReadOnly  = "ro"
	ModeReadWrite = "rw"
)

// ExposedPath makes a host path visible in every sandbox.
type ExposedPath struct {
	Source string `json:"source"` // absolute path on the host
	Target string `json:"target"` // absolute path inside; empty means the same as Source
	Mode   string `json:"mode"`   // ModeReadOnly or ModeReadWrite
}

// ValidateExposedPaths returns the *ConfigError that NewStarter would return for these rules on this machine.
func ValidateExposedPaths(rules []ExposedPath) error {
	final, err := normalizeExposedPaths(rules)
	if err != nil {
		return err
	}
	return checkExposeSources(final)
}

// normalizeExposedPaths checks rules, cleans their paths and sets defaults. It keeps the last rule for each target.
func normalizeExposedPaths(rules []ExposedPath) ([]ExposedPath, error) {
	var final []ExposedPath
	place := map[string]int{}
	for n, given := range rules {
		rule, err := normalizeExposeRule(given, fmt.Sprintf("isolation.expose_paths[%d]", n))
		if err != nil {
			return nil, err
		}
		if at, ok := place[rule.Target]; ok {
			final[at] = rule
			continue
		}
		place[rule.Target] = len(final)
		final = append(final, rule)
	}
	return final, nil
}

// normalizeExposeRule checks a rule, cleans its paths and sets its default target. key names the rule in errors.
func normalizeExposeRule(rule ExposedPath, key string) (ExposedPath, error) {
	if rule.Mode != ModeReadOnly && rule.Mode != ModeReadWrite {
		return rule, &ConfigError{Key: key + ".mode", Problem: fmt.Sprintf("%q is not a mode", rule.Mode),
			Cure: `write "ro" or "rw"`}
	}
	if rule.Target == "" {
		rule.Target = rule.Source
	}
	for _, path := range []struct {
		key   string
		value *string
	}{{".source", &rule.Source}, {".target", &rule.Target}} {
		if err := checkAbsolutePath(*path.value); err != nil {
			return rule, &ConfigError{Key: key + path.key, Problem: err.Error(), Cure: "write an absolute path"}
		}
		*path.value = filepath.Clean(*path.value)
	}
	return rule, nil
}
