//go:build linux

package supervise

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
	"github.com/picoclaw/picoclaw/sdk/pluginpolicy"
)

func TestMain(m *testing.M) {
	if home := os.Getenv("SUPERVISE_TEST_HOST"); home != "" {
		playHost(home)
	}
	os.Exit(hosttest.RunTestsWithPrograms(m, map[string]string{"tester": "./testdata/plugin"}, nil))
}

// modes are the ways in which every behaviour has to hold.
var modes = map[string]bool{"plain": false, "isolated": true}

// each runs a test plain and isolated.
func each(t *testing.T, test func(t *testing.T, f *fixture)) {
	for name, isolated := range modes {
		t.Run(name, func(t *testing.T) { test(t, newFixture(t, isolated)) })
	}
}

// fixture is a supervisor with a real isolation layer and the test's plugin.
type fixture struct {
	t        *testing.T
	home     string
	isolated bool
	manifest *pluginpb.Manifest
	*Supervisor
}

func newFixture(t *testing.T, isolated bool) *fixture {
	t.Helper()
	return newFixtureAt(t, hosttest.TempDir(t), isolated)
}

func newFixtureAt(t *testing.T, home string, isolated bool) *fixture {
	t.Helper()
	s, layer, err := newSupervisor(home, isolated)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, home: home, isolated: isolated, Supervisor: s, manifest: manifest(t)}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
		if err := layer.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func newSupervisor(home string, isolated bool) (*Supervisor, *isolation.Starter, error) {
	layer, err := isolation.NewStarter(isolation.Config{Enabled: isolated, Home: home}, hclog.NewNullLogger())
	if err != nil {
		return nil, nil, err
	}
	s, err := New(Options{
		Isolation:    layer,
		RunDir:       filepath.Join(home, "run"),
		StartTimeout: 30 * time.Second,
		StopTimeout:  2 * time.Second,
	})
	return s, layer, err
}

func manifest(t testing.TB) *pluginpb.Manifest {
	t.Helper()
	out, err := exec.Command(hosttest.ProgramPath("tester"), "describe").Output()
	if err != nil {
		t.Fatal(err)
	}
	m, err := pluginpb.ParseManifest(out)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// spec is the test's plugin with an environment.
func (f *fixture) spec(env ...string) *InstanceSpec { return spec(f.manifest, env...) }

func spec(m *pluginpb.Manifest, env ...string) *InstanceSpec {
	return &InstanceSpec{
		Manifest: m,
		Binary:   hosttest.ProgramPath("tester"),
		Policy: &pluginpolicy.Policy{
			Guard:  guard.Policy{Workspace: "/"},
			Grants: pluginpb.Grant{Workspace: "none", Exec: true},
		},
		Profile: isolation.Profile{Name: "tester", Exec: true},
		Env:     env,
	}
}

// call calls a tool and expects no error on the way.
func (f *fixture) call(spec *InstanceSpec, tool string, args any) *pluginpb.Result {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	out, err := f.Call(ctx, spec, request(f.t, tool, args), CallCallbacks{})
	if err != nil {
		f.t.Fatalf("call %s: %v", tool, err)
	}
	return out
}

func request(t testing.TB, tool string, args any) *pluginpb.CallRequest {
	t.Helper()
	if args == nil {
		args = struct{}{}
	}
	data, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return &pluginpb.CallRequest{Tool: tool, Arguments: data}
}
