package pluginpb

// Blocks are what there is of a result behind its text, in order, wherever the plugin has put it.
func (r *Result) Blocks() []*Content {
	if len(r.GetMedia()) == 0 {
		return r.GetContent()
	}
	return append([]*Content{{Data: r.GetMedia(), MediaType: r.GetMediaType()}}, r.GetContent()...)
}

// AgentText is what an agent reads of a result.
func (r *Result) AgentText() string {
	if r.GetTextIsStructured() {
		return string(r.GetStructured())
	}
	return r.GetText()
}
