package host

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/hooks"
)

// CheckHooks returns all mistakes in the configuration of hooks.
func CheckHooks(cfg *config.Config) []*config.Error {
	o, err := hookOptions(cfg)
	if err != nil {
		return []*config.Error{{Key: "hooks", Problem: err.Error()}}
	}
	return hooks.CheckOptions(o)
}

// NewHooks returns the configured hooks; nil if there are none.
func NewHooks(cfg *config.Config, logger hclog.Logger) (*hooks.Hooks, error) {
	o, err := hookOptions(cfg)
	if err != nil {
		return nil, err
	}
	return hooks.NewHooks(o, logger.Named("hooks"))
}

func hookOptions(cfg *config.Config) (hooks.HookOptions, error) {
	var o hooks.HookOptions
	if err := json.Unmarshal(cfg.Hooks(), &o); err != nil {
		return o, fmt.Errorf("hooks: %w", err)
	}
	return o, nil
}

// IsTurnEndedByHook reports whether an error means that a hook ended the turn, which is no failure.
func IsTurnEndedByHook(err error) bool {
	var ended *hooks.TurnEndError
	return errors.As(err, &ended)
}
