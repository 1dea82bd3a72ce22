package pluginpb

// AgentText is what an agent reads of a result.
func (r *Result) AgentText() string {
	if r.GetTextIsStructured() {
		return string(r.GetStructured())
	}
	return r.GetText()
}
