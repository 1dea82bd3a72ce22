package store

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aead.dev/minisign"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

const manifest = `{"id":"p","version":"1.0.0","doc":"d","protocol":{"min":2,"max":2},"grants":{"workspace":"ro","exec":false,"network":false},
"tools":[{"name":"t","doc":"d","input":{"type":"object","additionalProperties":false}}]}`

// archive makes a compressed archive of files, all of them programs.
func archive(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o755,
			Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func written(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func good(t testing.TB) string {
	return written(t, "p.tar.gz", archive(t, map[string]string{"p-1.0.0/p": "#!/bin/sh\n",
		"p-1.0.0/plugin.json": manifest}))
}

func TestStageRefusesOlderProtocol(t *testing.T) {
	older := strings.Replace(manifest, `{"min":2,"max":2}`, `{"min":1,"max":1}`, 1)
	source := written(t, "p.tar.gz", archive(t, map[string]string{"p/p": "#!/bin/sh\n", "p/plugin.json": older}))
	_, err := NewStore(t.TempDir()).StagePackage(source, SignaturePolicy{})
	if err == nil || !strings.Contains(err.Error(), "rebuild the plugin with the current SDK") {
		t.Error(err)
	}
}

// What is not signed by one of the keys is not installed where that is required; what was changed after it was signed,
// never.
func TestSignatures(t *testing.T) {
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, stranger, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	text, err := public.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	keys := SignaturePolicy{Public: []string{lines[len(lines)-1]}, Required: true}
	s := NewStore(t.TempDir())
	source := good(t)
	sign := func(by minisign.PrivateKey, data []byte) {
		r := minisign.NewReader(bytes.NewReader(data)) // as minisign signs unless it is told otherwise
		if _, err := io.Copy(io.Discard, r); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(source+signatureSuffix, r.Sign(by), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(what, want string) {
		t.Helper()
		if p, err := s.StagePackage(source, keys); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v %v", what, p, err)
		}
	}
	refused("without a signature", "it is not signed")
	data, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	sign(stranger, data)
	refused("signed by a stranger", "is not one of the keys")
	sign(private, data)
	p, err := s.StagePackage(source, keys)
	if err != nil {
		t.Fatal(err)
	}
	p.Discard()
	if p.Signer == "" {
		t.Error("nobody has signed it")
	}
	if err := os.WriteFile(source, append(data, 0), 0o600); err != nil {
		t.Fatal(err)
	}
	refused("changed after it was signed", "is not one of the keys")
	keys.Required = false
	refused("the same, where no signature is required", "is not one of the keys")
	keys.Required = true
	source = filepath.Dir(source)
	refused("a directory", "a directory has no signature")
	if _, err := s.StagePackage(good(t), SignaturePolicy{Public: []string{"RW"}}); err == nil || !strings.Contains(err.Error(),
		"signatures.keys") {
		t.Errorf("a key that is none: %v", err)
	}
}

func TestSwappedFileIsNotCopied(t *testing.T) {
	s := NewStore(t.TempDir())
	p, err := s.StagePackage(good(t), SignaturePolicy{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.InstallPackage(p); err != nil {
		t.Fatal(err)
	}
	lock, err := s.ReadLockFile()
	if err != nil {
		t.Fatal(err)
	}
	pin := lock.Plugins["p"]
	dir := s.VersionDir("p", "1.0.0")
	program := filepath.Join(dir, "p")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			text := []string{"#!/bin/sh\n", "#!/bin/ev\n"}[i%2]
			_ = os.WriteFile(program+".new", []byte(text), 0o500)
			_ = os.Rename(program+".new", program)
		}
	}()
	copied, refused := 0, 0
	for i := range 2000 {
		to := filepath.Join(t.TempDir(), "to")
		if i%2 == 0 {
			to += "2"
		}
		err := CopyVerifiedFiles("p", dir, to, pin.Files)
		var changed *ChangedFileError
		switch {
		case err == nil:
			copied++
			if text, err := os.ReadFile(filepath.Join(to, "p")); err != nil || string(text) != "#!/bin/sh\n" {
				t.Fatalf("%q was copied: %v", text, err)
			}
		case errors.As(err, &changed):
			refused++
		case !errors.Is(err, os.ErrNotExist):
			t.Fatal(err)
		}
		_ = os.RemoveAll(to)
	}
	close(stop)
	<-stopped
	if copied == 0 || refused == 0 {
		t.Errorf("%d copied and %d refused: the race did not take place", copied, refused)
	}
}

// Whatever an archive holds, it is a package or one error, and nothing is written beside its place.
func FuzzStage(f *testing.F) {
	for _, files := range []map[string]string{
		{"p": "#!/bin/sh\n", "plugin.json": manifest},
		{"../out": "x", "plugin.json": manifest},
		{"/etc/out": "x", "a\nb": "y", "plugin.json": "{"},
	} {
		f.Add(archive(f, files))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		home := t.TempDir()
		s := NewStore(home)
		p, err := s.StagePackage(written(t, "p.tar.gz", data), SignaturePolicy{})
		if err == nil {
			if p.Files[p.Binary] == "" || p.Manifest.ID == "" {
				t.Error("a package without a program")
			}
			p.Discard()
		}
		entries, err := os.ReadDir(home)
		if err != nil || len(entries) != 1 {
			t.Errorf("%v in the home, %v", entries, err)
		}
	})
}

// Whatever a lock file holds, it is a lock that names safe places, or one error.
func FuzzLock(f *testing.F) {
	f.Add([]byte(`{"version":1,"plugins":{"p":{"version":"1","binary":"p","files":{"p":"00"}}}}`))
	f.Add([]byte(`{"version":1,"plugins":{"../p":{"version":"..","binary":"p","files":{"p":"00"}}},"off":[{"plugin":"["}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := NewStore(t.TempDir())
		if err := os.WriteFile(s.LockFilePath(), data, 0o600); err != nil {
			t.Fatal(err)
		}
		lock, err := s.ReadLockFile()
		if err != nil {
			return
		}
		for id, pin := range lock.Plugins {
			if dir := s.VersionDir(id, pin.Version); filepath.Dir(filepath.Dir(dir)) != s.PluginsDir() {
				t.Errorf("plugin %q is in %s", id, dir)
			}
		}
		lock.FindDisableRule("p", "t", "a")
	})
}

func TestPluginAgents(t *testing.T) {
	s := NewStore(t.TempDir())
	stage := func(version string, agents ...string) *StagedPackage {
		p, err := s.StagePackage(written(t, "p.tar.gz", archive(t, map[string]string{"p/p": "#!/bin/sh\n",
			"p/plugin.json": strings.Replace(manifest, "1.0.0", version, 1)})), SignaturePolicy{})
		if err != nil {
			t.Fatal(err)
		}
		p.Agents = agents
		return p
	}
	check := func(what, agent string, off bool) {
		t.Helper()
		l, err := s.ReadLockFile()
		if err != nil {
			t.Fatal(err)
		}
		if got := l.FindDisableRule("p", "t", agent) != nil; got != off {
			t.Errorf("%s: off for %s is %v", what, agent, got)
		}
	}
	if err := s.InstallPackage(stage("1.0.0")); err != nil {
		t.Fatal(err)
	}
	check("for all", "other", false)
	if err := s.AddWaitingVersion(stage("1.1.0", "main")); err != nil {
		t.Fatal(err)
	}
	check("one that waits", "other", false)
	if _, err := s.ActivateWaitingVersion("p"); err != nil {
		t.Fatal(err)
	}
	check("for one", "main", false)
	check("for one", "other", true)
	for _, on := range []DisableRule{{Plugin: "p", Tool: "t", Agent: "other"}, {Plugin: "p", Tool: "t"}} {
		if _, err := s.EnableTool(on); err != nil {
			t.Fatal(err)
		}
		check("with a tool switched on", "other", true)
	}
	if _, err := s.EnableTool(DisableRule{Plugin: "p", Agent: "other"}); err != nil {
		t.Fatal(err)
	}
	check("given", "other", false)
	check("given to another", "third", true)
}

func TestDiffManifests(t *testing.T) {
	old, err := pluginpb.ParseManifest([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	for change, want := range map[string]string{
		`"version":"1.0.0"`: `"version":"1.0.1"`,
		`"network":false`:   `"network":true`,
		`"doc":"d","input"`: `"doc":"other","input"`,
		`"type":"object"`:   `"type":"object","properties":{"a":{"type":"string","x-picoclaw-claim":"read"}}`,
	} {
		next, err := pluginpb.ParseManifest([]byte(strings.Replace(manifest, change, want, 1)))
		if err != nil {
			t.Fatal(err)
		}
		diff, err := FormatManifestDiff(old, next)
		if err != nil {
			t.Fatal(err)
		}
		if same := change == `"version":"1.0.0"`; same != (diff == "") {
			t.Errorf("%s: %s", want, diff)
		}
	}
}
