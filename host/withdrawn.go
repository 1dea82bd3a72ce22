package host

import (
	"sync"

	"github.com/picoclaw/picoclaw/host/catalog"
)

// withdrawn are the tools that plugins do not offer any more, since what is behind them is not what their manifests say:
// the manifest that an operator has read is all that an agent is shown. A plugin says so in answer to a call, and the
// host believes it until the plugin is installed anew.
type withdrawn struct {
	mu    sync.Mutex
	tools map[string]bool // by the plugin's digest and the tool's name
	count int
}

func withdrawnKey(t *catalog.Tool) string { return t.Plugin.Digest + " " + t.FullName() }

func (w *withdrawn) add(t *catalog.Tool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tools == nil {
		w.tools = map[string]bool{}
	}
	if key := withdrawnKey(t); !w.tools[key] {
		w.tools[key] = true
		w.count++
	}
}

func (w *withdrawn) has(t *catalog.Tool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tools[withdrawnKey(t)]
}

// number grows with each tool.
func (w *withdrawn) number() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count
}
