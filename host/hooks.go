package host

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/hooks"
)

// CheckHooks returns all that is wrong with the hooks of a configuration.
func CheckHooks(cfg *config.Config) []*hooks.Mistake {
	o, err := hookOptions(cfg)
	if err != nil {
		return []*hooks.Mistake{{Key: "hooks", Problem: err.Error()}}
	}
	return hooks.CheckOptions(o)
}

// NewHooks makes the hooks that a configuration has; nil for none.
func NewHooks(cfg *config.Config, logger hclog.Logger) (*hooks.Hooks, error) {
	o, err := hookOptions(cfg)
	if err != nil {
		return nil, err
	}
	return hooks.New(o, logger.Named("hooks"))
}

func hookOptions(cfg *config.Config) (hooks.Options, error) {
	var o hooks.Options
	if err := json.Unmarshal(cfg.Hooks(), &o); err != nil {
		return o, fmt.Errorf("hooks: %w", err)
	}
	return o, nil
}

// Ended reports whether a turn was ended by a hook, which is no failure.
func Ended(err error) bool {
	var ended *hooks.TurnEndError
	return errors.As(err, &ended)
}
