package guard

import "testing"

// What a command will read from its standard input is code if the command runs it, and data if not.
func TestStandardInputIsFollowed(t *testing.T) {
	g := mustNew(t, Policy{Workspace: "/home/user/ws", Restrict: true, Exec: ExecPolicy{DenyPatterns: true}})
	for _, test := range []struct {
		command, stdin string
		want           Verdict
	}{
		{"sh", "rm -rf victim", Deny},
		{"bash -s -- a", "sudo reboot", Deny},
		{"cd sub; bash", "cat ../../x", Deny},
		{"cat | sh", "sudo reboot", Deny},
		{"xargs cat", "/etc/shadow", Deny},
		{"python3 -", "import os; os.system('sudo reboot')", Deny},
		{"sh", "go test ./...", Allow},
		{"cat", "rm -rf /", Allow},
		{"grep -c reboot", "sudo reboot\n", Allow},
		{"go run ./cmd/fmt", "sudo reboot", Allow},
		{"sh", "", Allow},
	} {
		d := g.Command(Command{Text: test.command, Stdin: test.stdin})
		if d.Verdict != test.want {
			t.Errorf("%s reading %q: %s (%s)", test.command, test.stdin, d.Verdict, d.Reason)
		}
	}
}
