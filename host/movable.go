package host

import (
	"fmt"

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/paths"
)

// Movable is where an agent's workspace is, if it can be brought to another machine: it has to be that agent's alone.
func (a *Assembly) Movable(agent string) (string, error) {
	mine, err := a.Session(agent, session.CLI)
	if err != nil {
		return "", err
	}
	dir := mine.Policy().Workspace()
	if paths.Within(dir, a.config.Home().Path) {
		return "", fmt.Errorf("the instance root lies in the workspace of agent %s, %s, which can't be moved", agent, dir)
	}
	for _, id := range a.config.AgentIDs() {
		if id == agent {
			continue
		}
		other, err := a.Session(id, session.CLI)
		if err != nil {
			return "", err
		}
		if its := other.Policy().Workspace(); paths.Within(dir, its) || paths.Within(its, dir) {
			return "", fmt.Errorf("agent %s has its workspace %s together with agent %s (%s): with agents.list[].workspace "+
				"each can have its own, and only such a one is moved", agent, dir, id, its)
		}
	}
	return dir, nil
}
