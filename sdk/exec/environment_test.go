package exec

import "testing"

func TestSearchPath(t *testing.T) {
	const usual = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	for name, c := range map[string]struct {
		host    string
		visible []string
		want    string
	}{
		"nothing": {"", nil, usual},
		"the system's": {"/usr/lib/go/bin:/usr/bin", nil,
			"/usr/lib/go/bin:/usr/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin:/bin"},
		"somebody's own":        {"/home/u/bin:bin:.:", nil, usual},
		"exposed":               {"/opt/go/bin", []string{"/opt/go"}, "/opt/go/bin:" + usual},
		"a temporary directory": {"/tmp/tools:/tmp:/dev/shm/x", []string{"/tmp", "/dev/shm", "/w"}, usual},
		"visible below one":     {"/tmp/tools/bin:/tmp/other", []string{"/tmp", "/tmp/tools"}, "/tmp/tools/bin:" + usual},
	} {
		if got := buildCommandPath(c.host, c.visible); got != c.want {
			t.Errorf("%s: %s, not %s", name, got, c.want)
		}
	}
}
