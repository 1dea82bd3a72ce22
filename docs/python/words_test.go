//go:build linux

// Package python_test runs the plugin in Python with the real picoclaw, as root and unprivileged.
package python_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
	"github.com/picoclaw/picoclaw/sdk/sdktest"
)

func TestMain(m *testing.M) {
	os.Exit(hosttest.RunTestsWithPrograms(m, map[string]string{
		"bin/picoclaw":                      "../../cmd/picoclaw",
		"bin/plugins/filesystem/filesystem": "../../plugins/filesystem",
	}, prepare))
}

// prepare builds the plugin as its Makefile does, and leaves its modules where the second run finds them.
func prepare(dir string) error {
	bundled := filepath.Join(dir, "bin", "plugins", "filesystem")
	manifest, err := exec.Command(filepath.Join(bundled, "filesystem"), "describe").Output()
	if err != nil {
		return err
	}
	if out, err := exec.Command("make", "build", "BIN="+filepath.Join(dir, "python")).CombinedOutput(); err != nil {
		return fmt.Errorf("%w; .ci/install tests installs what it needs\n%s", err, out)
	}
	return errors.Join(
		os.WriteFile(filepath.Join(bundled, pluginpb.ManifestFile), manifest, 0o644),
		os.CopyFS(filepath.Join(dir, "modules"), os.DirFS("words")),
	)
}

// eachWay runs a test with isolation and without.
func eachWay(t *testing.T, f func(t *testing.T, b sdktest.Binary)) {
	t.Helper()
	t.Setenv("PICOCLAW", hosttest.ProgramPath("bin/picoclaw"))
	for name, isolated := range map[string]bool{"isolation": true, "no isolation": false} {
		t.Run(name, func(t *testing.T) {
			f(t, sdktest.Binary{Dir: hosttest.ProgramPath("python/words"), Isolation: isolated})
		})
	}
}

func cases() []sdktest.Case {
	poem := map[string]string{"poem": "Roses are red,\nviolets are blue.\n", "deep/er/poem": "one two\n"}
	link := func(target, name string) func(t testing.TB, dir string) {
		return func(t testing.TB, dir string) {
			t.Helper()
			if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return []sdktest.Case{
		{
			Name: "words", Tool: "count_words", Files: poem, Args: `{"path":"poem","top":1}`,
			Want: "6 words, most often are", WantJSON: `{"words":6,"top":["are"]}`,
		},
		{Name: "further down", Tool: "count_words", Files: poem, Args: `{"path":"deep/er/poem","top":0}`, Want: "2 words"},
		{Name: "configured", Tool: "count_words", Files: poem, Args: `{"path":"poem"}`, Config: `{"top":2}`,
			WantJSON: `{"words":6,"top":["are","roses"]}`},
		{Name: "ticks", Tool: "tick", Args: `{"times":3,"every_ms":1}`, Want: "3 ticks"},
		{Name: "no such file", Tool: "count_words", Args: `{"path":"prose"}`, WantErr: sdk.NotFound,
			WantContains: []string{"prose does not exist"}},
		{Name: "a directory", Tool: "count_words", Files: poem, Args: `{"path":"deep"}`, WantErr: sdk.InvalidArgument},
		{Name: "outside", Tool: "count_words", Args: `{"path":"/etc/passwd"}`, WantErr: sdk.AccessDenied},
		{Name: "a link out", Tool: "count_words", Prepare: link("/etc/passwd", "l"), Args: `{"path":"l"}`,
			WantErr: sdk.AccessDenied},
		{
			Name: "a link inside", Tool: "count_words", Files: poem, Prepare: link("poem", "l"), Args: `{"path":"l"}`,
			WantErr: sdk.AccessDenied, WantContains: []string{"passes through a symbolic link"},
		},
		{Name: "too many", Tool: "count_words", Args: `{"path":"poem","top":1000}`, WantErr: sdk.InvalidArgument},
	}
}

func TestCases(t *testing.T) {
	eachWay(t, func(t *testing.T, b sdktest.Binary) {
		b.CheckManifest(t, cases()...)
		b.Run(t, cases()...)
	})
}

// The messages are generated and checked in; they must be those of the wire.
func TestTheMessagesAreTheWires(t *testing.T) {
	script := "import sys; sys.path.insert(0, sys.argv[1]); import plugin_pb2; sys.stdout.buffer.write(plugin_pb2.DESCRIPTOR.serialized_pb)"
	out, err := exec.Command("/usr/bin/python3", "-B", "-c", script, hosttest.ProgramPath("modules")).Output()
	if err != nil {
		t.Fatalf("%v; .ci/install tests installs what it needs", err)
	}
	var got descriptorpb.FileDescriptorProto
	if err := proto.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	want := protodesc.ToFileDescriptorProto(pluginpb.File_plugin_proto)
	derived := protocmp.IgnoreFields(&descriptorpb.FieldDescriptorProto{}, "json_name") // Go's generator spells it out
	if diff := cmp.Diff(want, &got, protocmp.Transform(), derived); diff != "" {
		t.Errorf("plugin_pb2.py is not made of plugin.proto; run `make proto` here (-proto +python):\n%s", diff)
	}
}
