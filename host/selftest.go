package host

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/isolation/selftest"
)

// tested has the sandbox attacked from inside, the first time that it is used on this machine. What does not hold is an
// error; that it can't be tested is not, since the walls are the same then.
func (h *Host) tested(iso *isolation.Isolation, network bool) error {
	if len(h.selfTest) == 0 || !iso.Enabled() || !selftest.Possible {
		return nil
	}
	o := selftest.Options{
		Isolation: iso, Network: network, Command: h.selfTest, Dir: filepath.Join(h.config.Home().Path, "cache"),
	}
	report, err := selftest.Check(context.Background(), o)
	if err != nil {
		h.logger.Warn("the sandbox could not be tested", "error", err)
		return nil
	}
	var got []string
	for _, r := range report.Broken(o.Mode(), isolation.MachineOffers()) {
		got = append(got, r.Wall+" ("+r.Got+")")
	}
	if len(got) == 0 {
		return nil
	}
	return fmt.Errorf("the sandbox does not hold on this machine: the self-test got through %s; `picoclaw doctor` says more, "+
		"and isolation.enabled: false does without it", strings.Join(got, ", "))
}
