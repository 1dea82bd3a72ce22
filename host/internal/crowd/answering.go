package crowd

import (
	"context"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/session"
)

// Tool is what the crowd's agents can be called with, and Answer what is answered.
const (
	Tool   = "answer"
	Answer = "here"
)

// Answering is a host on an instance root with one more tool than its plugins', which answers at once.
func Answering(home, plugins string) (*session.Host, error) {
	cfg, err := config.Load(config.Options{Environ: []string{"HOME=" + home, "PICOCLAW_HOME=" + home}})
	if err != nil {
		return nil, err
	}
	own, err := session.NewOwnTool(Tool, "Answers.",
		func(context.Context, *session.Session, struct{}) (string, error) { return Answer, nil })
	if err != nil {
		return nil, err
	}
	return session.Open(session.Options{Config: cfg, PluginDir: plugins,
		Own: []session.OwnPlugin{{ID: "crowd", Tools: []session.OwnTool{own}}}})
}
