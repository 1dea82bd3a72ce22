package host

import "github.com/picoclaw/picoclaw/host/catalog"

// Installed lists all tools of all plugins, by full name, whoever may call them.
func (h *Host) Installed() []Tool {
	var tools []Tool
	for _, t := range h.plugins().Tools() {
		tools = append(tools, Tool{Name: t.FullName(), Plugin: t.Plugin.Manifest.ID, Spec: t.Spec})
	}
	return tools
}

// Plugins returns the plugins as they are now.
func (h *Host) Plugins() *catalog.Catalog { return h.plugins() }
