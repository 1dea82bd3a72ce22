package session

import "testing"

func TestFilePathOf(t *testing.T) {
	for _, c := range []struct {
		uri    string
		values map[string]any
		want   string // "" for no file
	}{
		{"file:///etc/passwd", nil, "/etc/passwd"},
		{"file:///etc/pass%77d", nil, "/etc/passwd"},
		{"file://localhost/a/../b", nil, "/b"},
		{"file:///{+path}", map[string]any{"path": "w/../etc/passwd"}, "/etc/passwd"},
		{"file:///w/{name}", map[string]any{"name": "../x"}, "/x"},
		{"FILE:/etc/passwd", nil, "/etc/passwd"},
		{"notes:///etc/passwd", nil, ""},
	} {
		if got, ok := filePathOfURITemplate(c.uri, c.values); got != c.want || ok != (c.want != "") {
			t.Errorf("%s with %v: got %q, %v, want %q", c.uri, c.values, got, ok, c.want)
		}
	}
}
