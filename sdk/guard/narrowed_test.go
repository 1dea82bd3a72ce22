package guard

import "testing"

// A refusal points to what it is about, in code within code too, where that stands there once.
func TestARefusalPointsIntoTheCode(t *testing.T) {
	g := mustNew(t, Policy{Workspace: t.TempDir(), Restrict: true, Exec: ExecPolicy{DenyPatterns: true}})
	for _, c := range []struct {
		text         string
		line, column int
		part         string
	}{
		{"nohup rm  -rf build", 1, 1, "nohup rm  -rf build"},
		{"ls\nbash <<EOF\ncd x\n  rm -rf build\nEOF", 4, 3, "rm -rf build"},
		{"ls; python3 - <<EOF\nimport subprocess\nsubprocess.run(['rm', '-rf', 'build'])\nEOF", 3, 18, "rm', '-rf', 'build"},
		{"ls; python3 - <<EOF\nx = open('/etc/passwd').read()\nEOF", 2, 11, "/etc/passwd"},
		{"ls; python3 - <<EOF\n# not /etc/passwd\nx = open('/etc/passwd').read()\nEOF", 1, 5,
			"python3 - <<EOF\n# not /etc/passwd\nx = open('/etc/passwd').read()\nEOF"},
		{"sh -c 'echo the first of some words; echo the second of some words; rm -rf build'", 1, 69, "rm -rf build"},
		{"bash <<EOF\nrm -rf \"a b\"\nEOF", 2, 1, "rm -rf \"a b\""},
		{"bash <<'EOF'\nrm -rf $'\\xff'\nEOF", 2, 1, "rm -rf $'\\xff'"},
	} {
		d := g.Command(Command{Text: c.text})
		if d.Span == nil || d.Span.Line != c.line || d.Span.Column != c.column || d.Span.Text != c.part ||
			c.text[d.Span.Start:d.Span.End] != c.part {
			t.Errorf("%q: %+v", c.text, d.Span)
		}
	}
}
