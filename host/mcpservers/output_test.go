package mcpservers

import (
	"slices"
	"strings"
	"testing"
)

func TestRelevantLines(t *testing.T) {
	for said, want := range map[string]string{
		`npm error code E404
npm error 404 Not Found - GET https://registry.npmjs.org/nope
npm error 404
npm error 404  The requested resource 'nope@*' could not be found or you do not have permission to access it.
npm error 404 Note that you can also install from a
npm error 404 tarball, folder, http url, or git url.
npm error A complete log of this run can be found in: /tmp/npm/_logs/x.log`: `Not Found - GET https://registry.npmjs.org/nope
The requested resource 'nope@*' could not be found or you do not have permission to access it.`,
		"npm error code ETARGET\nnpm error notarget No matching version found for x@99.":                                                 "No matching version found for x@99.",
		"npm error code 153\nnpm error path /x\nnpm error command failed\nnpm error command sh -c x\nnpm error File size limit exceeded": "File size limit exceeded",
		"WARNING: Retrying (Retry(total=4))\nWARNING: Retrying (Retry(total=3))\nERROR: no requirement\nERROR: No matching distribution": "ERROR: no requirement\nERROR: No matching distribution",
		"npm error code 1\nnpm error what\nnpm error ever":                                                                               "what\never",
		"":                 "",
		"npm error code 1": "npm error code 1",
	} {
		if got := selectErrorLines(said); got != want {
			t.Errorf("of %q\n%q tells most; want %q", said, got, want)
		}
	}
}

func TestSecretWarnings(t *testing.T) {
	s := &ServerSpec{Env: map[string]string{"GITHUB_TOKEN": "x", "PLAIN": "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "DEBUG": "1",
		"API_KEY": "${API_KEY}", "DB_PASSWORD": ""},
		Headers: map[string]string{"Authorization": "Bearer 0123456789abcdef", "X-Api-Key": "${KEY}", "Accept": "text/plain"}}
	got := s.secretWarnings()
	for _, want := range []string{"the variable GITHUB_TOKEN looks", "the variable PLAIN looks", "the header Authorization looks"} {
		if !slices.ContainsFunc(got, func(text string) bool { return strings.HasPrefix(text, want) }) {
			t.Errorf("%q is not told: %q", want, got)
		}
	}
	if len(got) != 3 {
		t.Errorf("%q", got)
	}
}

// Names that others have are told once for each of the others.
func TestSameNamesAreOneWarning(t *testing.T) {
	said := &ServerInfo{Tools: map[string]ListedTool{"a": {}, "b": {}, "c": {}, "d": {}}}
	got := SuspiciousTextWarnings(said, func(tool string) string {
		return map[string]string{"a": "plugin x", "c": "plugin x", "d": "plugin y"}[tool]
	})
	want := []string{"plugin x has tools of the same names, which a model may take for these: a, c",
		"plugin y has tools of the same names, which a model may take for these: d"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
