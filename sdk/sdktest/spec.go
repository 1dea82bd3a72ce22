// Package sdktest tests plugins. It is for plugin authors, and works in three steps:
//
//   - [CheckManifest] reads the plugin's manifest as a host and a careful reviewer would;
//   - [Run] makes calls that are written down as data ([Case]) in the test's own process, over a real gRPC connection,
//     with a workspace of their own. [Start] gives the running plugin to tests that need more;
//   - [Binary] makes the same calls to the built plugin, started by picoclaw itself in its sandbox.
//
// It must not know of hosts or sandboxes: for the last step it runs picoclaw's program, as an operator does.
package sdktest

import (
	"testing"

	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/contract"
	"github.com/picoclaw/picoclaw/sdk/internal/served"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// CheckManifest checks a plugin's manifest: names, docs, schemas, claims, hints and grants. With cases, each tool must
// have a successful case, and the arguments of all cases must fit the schemas.
func CheckManifest(t testing.TB, p sdk.Plugin, cases ...Case) {
	t.Helper()
	m, err := served.PluginManifest(p)
	if err != nil {
		t.Fatalf("the plugin can't be used: %v", err)
	}
	checkManifest(t, m)
	if len(cases) > 0 {
		checkCases(t, m, cases)
	}
}

func checkManifest(t testing.TB, m *pluginpb.Manifest) {
	t.Helper()
	findings, err := contract.CheckManifest(m)
	if err != nil {
		t.Fatalf("the plugin can't be used: %v", err)
	}
	for _, f := range findings {
		t.Error(f)
	}
}

func checkCases(t testing.TB, m *pluginpb.Manifest, cases []Case) {
	t.Helper()
	shown := make(map[string]bool, len(m.Tools))
	readers := make(map[string]*pluginpb.ArgumentParser, len(m.Tools))
	for i := range m.Tools {
		reader, _, err := m.Tools[i].CompileInputSchema()
		if err != nil {
			t.Fatal(err)
		}
		readers[m.Tools[i].Name] = reader
	}
	for i := range cases {
		c := &cases[i]
		reader := readers[c.Tool]
		if reader == nil {
			t.Errorf("case %s: the plugin has no tool %q", c.caseName(), c.Tool)
			continue
		}
		if c.WantErr != "" {
			continue
		}
		shown[c.Tool] = true
		raw, err := encodeJSON(c.argumentValue())
		if err == nil {
			_, err = reader.Read(raw)
		}
		if err != nil {
			t.Errorf("case %s: %v", c.caseName(), err)
		}
	}
	for i := range m.Tools {
		if name := m.Tools[i].Name; !shown[name] {
			t.Errorf("tool %s: no case shows how it is called; add one", name)
		}
	}
}
