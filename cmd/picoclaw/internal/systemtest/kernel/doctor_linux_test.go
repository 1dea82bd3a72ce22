package kernel_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

// What a kernel does not have is impossible there, and no failure of what there is.
func TestDoctorOnAnOldKernel(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		isolated bool
		rows     []string
	}{
		{true, []string{`sandbox +on `, `Landlock +impossible .*\n +to change it: use Linux 5.13 or later`, `files +on `,
			`open directories +impossible `, `processes +on `, `system calls +on `}},
		{false, []string{`sandbox +off `, `Landlock +impossible `,
			`files +impossible .*\n +to change it: set isolation.enabled to true`, `processes +impossible `,
			`system calls +on `}},
	} {
		home := hosttest.TempDir(t)
		cmd := exec.Command("/proc/self/exe", filepath.Join(hosttest.ProgramDir(), "bin", "picoclaw"), "doctor", "--log-level",
			"error")
		cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + home, "PICOCLAW_HOME=" + filepath.Join(home, "p"),
			"PICOCLAW_ISOLATION_ENABLED=" + strconv.FormatBool(c.isolated), oldKernel + "=old"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("isolation %t: %v", c.isolated, err)
		}
		for _, row := range c.rows {
			if !regexp.MustCompile(`(?m)^` + row).Match(out) {
				t.Errorf("isolation %t: no row %s in\n%s", c.isolated, row, out)
			}
		}
	}
}
