package console

// pluginsView is the data for the template of the plugins page. The page has no actions: a person must read a server's
// definitions in a terminal to trust it.
type pluginsView struct {
	Plugins []Plugin
	Waiting int // number that need attention
}

func (c *Console) showPlugins(*authenticatedRequest) (any, error) {
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
