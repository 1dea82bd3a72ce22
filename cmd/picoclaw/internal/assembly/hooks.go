package assembly

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/hooks"
)

// CheckHooks says what is wrong with the hooks that the configuration has.
func CheckHooks(cfg *config.Config) error {
	_, err := newHooks(cfg, nil)
	return err
}

// newHooks makes the hooks that the configuration has; nil for none.
func newHooks(cfg *config.Config, logger hclog.Logger) (*hooks.Hooks, error) {
	var o hooks.Options
	if err := json.Unmarshal(cfg.Hooks(), &o); err != nil {
		return nil, fmt.Errorf("hooks: %w", err)
	}
	return hooks.New(o, logger)
}

// Ended reports whether a turn was ended by a hook, which is no failure.
func Ended(err error) bool {
	var ended *hooks.EndError
	return errors.As(err, &ended)
}
