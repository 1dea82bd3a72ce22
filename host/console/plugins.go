package console

// pluginsView is the data of the plugins page. It is read-only: trusting a server requires reading its definitions in a
// terminal.
type pluginsView struct {
	Plugins []Plugin
	Waiting int // number that need attention
}

func (c *Console) showPlugins(*sessionRequest) (any, error) {
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
