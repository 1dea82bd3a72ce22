package clitest

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/picoclaw/picoclaw/host/approvals"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// AwaitApprovalRequests waits until a number of calls wait for approval, and returns them.
func (i Home) AwaitApprovalRequests(t *testing.T, many int) (all []*approvals.WaitingCall) {
	t.Helper()
	hosttest.WaitUntil(t, fmt.Sprintf("%d calls wait", many), func() bool {
		out, code := i.Run(t, "approvals", "--output", "json")
		all = nil
		if err := json.Unmarshal([]byte(out), &all); err != nil || code != 0 {
			t.Fatalf("%v %d %s", err, code, out)
		}
		return len(all) == many
	})
	return all
}
