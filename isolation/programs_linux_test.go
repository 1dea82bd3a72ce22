package isolation

import (
	"strings"
	"testing"
)

// A child that may start some programs starts these and no others, not by the dynamic linker either; with the list
// taken away, all of it works.
func TestOnlyTheProgramsOfTheProfileStart(t *testing.T) {
	const script = `
true && /usr/bin/true && echo started true
uname > /dev/null 2>&1 && echo GOT uname
for linker in /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1; do
	[ -e $linker ] && $linker /usr/bin/uname > /dev/null 2>&1 && echo GOT uname by the linker
done
cat /usr/bin/ls > /dev/null 2>&1 && echo GOT cat
cp /usr/bin/ls ls 2>/dev/null && echo GOT a copy
echo over`
	for name, enabled := range map[string]bool{"plain": false, "isolated": true} {
		t.Run(name, func(t *testing.T) {
			i := configured(t, Config{Enabled: enabled})
			dir := realTemp(t)
			run := func(programs ...string) string {
				t.Helper()
				cmd := shell("cd " + dir + "; " + script)
				return outcome(t, i, cmd, Profile{Exec: true, Confine: true, ReadWrite: []string{dir}, Programs: programs}).stdout
			}
			got := run("sh", "true")
			if strings.Contains(got, "GOT") || !strings.Contains(got, "started true") || !strings.Contains(got, "over") {
				t.Errorf("with only sh and true:\n%s", got)
			}
			if all := run(); strings.Count(all, "GOT") < 4 {
				t.Errorf("without the list, what is refused by it:\n%s", all)
			}
		})
	}
}
