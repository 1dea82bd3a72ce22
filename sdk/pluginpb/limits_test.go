package pluginpb

import (
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/internal/limits"
)

func TestLimitsComeOffTheWireAsTheyWentOn(t *testing.T) {
	want := limits.Limits{Processes: 1, Memory: 2, CPU: 3 * time.Second, FileSize: 4, OpenFiles: 5}
	if got := NewExecLimits(want).Limits(); got != want {
		t.Errorf("%+v came as %+v", want, got)
	}
	if got := (*ExecLimits)(nil).Limits(); got != (limits.Limits{}) {
		t.Errorf("no limits came as %+v", got)
	}
}
