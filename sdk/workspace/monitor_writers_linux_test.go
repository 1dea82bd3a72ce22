package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/internal/mutation"
)

// openFileForWriting opens a file as a command would that passes the descriptor on.
func (g *ground) openFileForWriting(name string) *os.File {
	g.t.Helper()
	f, err := os.OpenFile(filepath.Join(g.w, name), os.O_RDWR, 0)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = f.Close() })
	return f
}

func (g *ground) overwrite(f *os.File, text string) {
	g.t.Helper()
	if _, err := f.WriteAt([]byte(text), 0); err != nil {
		g.t.Fatal(err)
	}
}

// A descriptor of a protected file changes nothing once the approval has ended, with the command or at its time.
func TestDescriptorOutlivesNoApproval(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(m *ProtectionEnforcer){
		"command": func(m *ProtectionEnforcer) { m.FinishMonitor() },
		"time":    nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGround(t, defaults)
			g.all(".git/HEAD", ".vscode/tasks.json", ".vscode/deep/x")
			path := filepath.Join(g.w, ".vscode/tasks.json")
			if err := os.Chmod(path, 0o640); err != nil {
				t.Fatal(err)
			}
			f, deep := g.openFileForWriting(".vscode/tasks.json"), g.openFileForWriting(".vscode/deep/x")
			var recorded []string
			o := EnforcerOptions{Approved: end != nil, Next: func(m mutation.FileMutation) error {
				recorded = append(recorded, m.Path)
				return nil
			}}
			monitor := g.NewChangeMonitor(o)
			if end == nil {
				monitor.ApprovePath(filepath.Join(g.w, ".vscode"), time.Now().Add(time.Second))
			}
			for _, m := range []mutation.FileMutation{{Kind: mutation.Write, Path: path}, {Kind: mutation.Write, Path: filepath.Join(g.w, ".vscode/deep/x")}} {
				if err := monitor.BeforeChange(m); err != nil {
					t.Fatal(err)
				}
			}
			g.overwrite(f, "reviewed")
			g.overwrite(deep, "reviewed")
			if end != nil {
				end(monitor)
			}
			replaced := func() bool {
				open, err := f.Stat()
				now, statErr := os.Stat(path)
				return err == nil && statErr == nil && !os.SameFile(open, now)
			}
			for limit := time.Now().Add(20 * time.Second); !replaced(); time.Sleep(10 * time.Millisecond) {
				if time.Now().After(limit) {
					t.Fatal("the file is not replaced")
				}
			}
			monitor.FinishMonitor()
			g.overwrite(f, "not seen")
			g.overwrite(deep, "not seen")
			for _, name := range []string{".vscode/tasks.json", ".vscode/deep/x"} {
				text, err := os.ReadFile(filepath.Join(g.w, name))
				if err != nil || !strings.HasPrefix(string(text), "reviewed") {
					t.Errorf("%s: %q %v", name, text, err)
				}
			}
			if info, err := os.Stat(path); err != nil || info.Mode() != 0o640 {
				t.Errorf("%v %v", info, err)
			}
			if len(recorded) < 4 {
				t.Errorf("undo got only %v", recorded)
			}
		})
	}
}

// A new configuration that was harmless at the end of a burst stays so, although the command has it open.
func TestDescriptorOutlivesNoCheck(t *testing.T) {
	t.Parallel()
	g := newGround(t, defaults)
	monitor := g.NewChangeMonitor(EnforcerOptions{Background: true})
	for _, name := range []string{"new", "new/.git", "new/.git/refs", "new/.git/objects"} {
		if err := monitor.BeforeChange(mutation.FileMutation{Kind: mutation.Make, Path: filepath.Join(g.w, name), Dir: true}); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(g.w, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"new/.git/HEAD", "new/.git/config"} {
		if err := monitor.BeforeChange(mutation.FileMutation{Kind: mutation.Write, Path: filepath.Join(g.w, name)}); err != nil {
			t.Fatal(err, monitor.FinishMonitor().Reasons)
		}
		g.put(filepath.Join(g.w, name), "[core]\n\tbare = false\n"+strings.Repeat("\n", 100))
	}
	f := g.openFileForWriting("new/.git/config")
	monitor.RestoreHarmfulFiles()
	g.overwrite(f, "[core]\n\tfsmonitor = x\n")
	text, err := os.ReadFile(filepath.Join(g.w, "new/.git/config"))
	if err != nil || strings.Contains(string(text), "fsmonitor") || !strings.Contains(string(text), "bare") {
		t.Errorf("%q %v", text, err)
	}
}

// A hard link to a symlink is a symlink, which leads git elsewhere from a recorded path.
func TestHardLinkOfSymlinkOnRecordedPath(t *testing.T) {
	t.Parallel()
	g := newGround(t, defaults)
	g.all(".git/HEAD", ".git/objects/info/x", "alt/x")
	g.put(filepath.Join(g.w, ".git/objects/info/alternates"), g.w+"/alt/objects\n")
	if err := os.Symlink(filepath.Dir(g.o), filepath.Join(g.w, "link")); err != nil {
		t.Fatal(err)
	}
	monitor := g.NewChangeMonitor(EnforcerOptions{})
	for to, allowed := range map[string]bool{"alt/objects": false, "alt/other": true} {
		err := monitor.BeforeChange(mutation.FileMutation{Kind: mutation.Link, Path: filepath.Join(g.w, "link"), To: filepath.Join(g.w, to)})
		if (err == nil) != allowed {
			t.Errorf("%s: %v", to, err)
		}
	}
}
