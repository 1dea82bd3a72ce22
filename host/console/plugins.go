package console

// pluginsView is what the page of plugins and MCP servers shows. Nothing is changed there: to trust a server takes
// reading what it says, in a terminal.
type pluginsView struct {
	Plugins []Plugin
	Waiting int // that need somebody
}

func (c *Console) showPlugins(*visit) (any, error) {
	all, err := c.options.Instance.Plugins()
	if err != nil {
		return nil, err
	}
	view := pluginsView{Plugins: all}
	for _, p := range all {
		if p.State != "ok" && p.State != "disabled" || p.Waiting != "" {
			view.Waiting++
		}
	}
	return view, nil
}
