package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/paths"
)

// missingWorkspace is the fault of an agent whose workspace is not there and is not made by picoclaw, which makes only
// what nobody has chosen and what is below the instance root; nil if it is none.
func missingWorkspace(cfg *config.Config, id string) error {
	agent, err := cfg.Agent(id)
	if err != nil || !agent.OwnWorkspace {
		return nil // what is wrong with the agent has been said
	}
	home, err := filepath.Abs(cfg.Home().Path)
	if err != nil || paths.Within(home, agent.Workspace) {
		return nil
	}
	if _, err := os.Stat(agent.Workspace); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return &config.Error{Origin: originOf(agent.Settings(), "workspace"), Key: "workspace",
		Problem: fmt.Sprintf("%s, the workspace of agent %s, does not exist", agent.Workspace, id),
		Cure:    "create it (mkdir -p), or choose another"}
}

// brokenPlugins finds the settings that make a plugin useless: a build directory that has no plugin, and a
// configuration that the plugin does not start with.
func brokenPlugins(cfg *config.Config, h *session.Host) []configFault {
	var broken []configFault
	add := func(key string, err error) {
		text := strings.TrimPrefix(err.Error(), key+": ")
		broken = append(broken, newConfigFault(&config.Error{Origin: originOf(cfg.Settings(), key), Key: key, Problem: text}))
	}
	for _, p := range h.Plugins().Problems() {
		if p.Plugin != "" && cfg.Plugin(p.Plugin).Dev != "" {
			add("plugins."+p.Plugin+".dev", p.Err)
		}
	}
	for _, id := range cfg.PluginIDs() {
		if err := h.CheckPluginConfig(id); err != nil {
			add("plugins."+id+".config", err)
		}
	}
	return broken
}

// originOf is where a setting, or the first one inside it, was said.
func originOf(settings []config.Setting, key string) config.Origin {
	for _, s := range settings {
		if below(s.Key, key) {
			return s.Origin
		}
	}
	return config.Origin{}
}
