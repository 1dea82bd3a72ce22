package pidfile

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// TestMain has this test binary be a daemon when it is told to: it writes its pid file, says so, and waits.
func TestMain(m *testing.M) {
	home := os.Getenv("PIDFILE_TEST_DAEMON")
	if home == "" {
		os.Exit(m.Run())
	}
	file, err := AcquirePidFile(home, DaemonInfo{Address: "here"})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("running")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	_ = file.Close()
}

// daemon starts one and returns what it has said first.
func daemon(t *testing.T, home string) (cmd *exec.Cmd, said string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(exe)
	cmd.Env = append(os.Environ(), "PIDFILE_TEST_DAEMON="+home)
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	said, _ = bufio.NewReader(out).ReadString('\n')
	return cmd, strings.TrimSpace(said)
}

func TestOneDaemonAtATime(t *testing.T) {
	home := t.TempDir()
	first, said := daemon(t, home)
	if said != "running" {
		t.Fatal(said)
	}
	data, err := ReadPidFileWithCheck(home)
	if err != nil || data.PID != first.Process.Pid || data.Address != "here" {
		t.Errorf("%+v %v", data, err)
	}
	var running *RunningError
	if _, err := AcquirePidFile(home, DaemonInfo{}); !errors.As(err, &running) || running.Data.PID != first.Process.Pid {
		t.Errorf("a second one may start: %v", err)
	}
	if _, said := daemon(t, home); !strings.Contains(said, "process "+strconv.Itoa(first.Process.Pid)) ||
		!strings.Contains(said, "PICOCLAW_HOME") {
		t.Errorf("a second process says %q", said)
	}
	// Killed, it leaves its file behind, and that is stale at once.
	_ = first.Process.Kill()
	_ = first.Wait()
	var stale *StaleError
	if _, err := ReadPidFileWithCheck(home); !errors.As(err, &stale) {
		t.Errorf("of one that was killed: %v", err)
	}
	file, err := AcquirePidFile(home, DaemonInfo{})
	if err != nil {
		t.Fatal(err)
	}
	if data, err := ReadPidFileWithCheck(home); err != nil || data.PID != os.Getpid() {
		t.Errorf("%+v %v", data, err)
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
	if _, err := ReadPidFileWithCheck(home); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after the end: %v", err)
	}
}

// What a file says makes no daemon of it: the number of the first process, which a container leaves behind on a volume
// that the next one shares; of one that has ended; of one that runs but is something else; and what is no number.
func TestWhatNobodyHoldsIsStale(t *testing.T) {
	ended := exec.Command(os.Args[0], "-test.list=^$")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"process 1": `{"pid":1,"started":"2026-01-01T00:00:00Z"}`,
		"dead":      fmt.Sprintf(`{"pid":%d}`, ended.Process.Pid),
		"reused":    fmt.Sprintf(`{"pid":%d}`, os.Getppid()),
		"bare":      "1\n",
		"negative":  `{"pid":-1}`,
		"empty":     "",
		"cut":       `{"pid":12`,
		"binary":    "\x00\xff",
		"long":      strings.Repeat("9", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			if err := os.WriteFile(filepath.Join(home, FileName), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			var stale *StaleError
			if _, err := ReadPidFileWithCheck(home); !errors.As(err, &stale) {
				t.Errorf("reading: %v", err)
			}
			file, err := AcquirePidFile(home, DaemonInfo{})
			if err != nil {
				t.Fatalf("it is in the way: %v", err)
			}
			if data, err := ReadPidFileWithCheck(home); err != nil || data.PID != os.Getpid() {
				t.Errorf("%+v %v", data, err)
			}
			if err := file.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A running daemon whose file says 1 is in another container: it keeps others away, and its number is of no use here.
func TestProcess1IsNobodysNumber(t *testing.T) {
	home := t.TempDir()
	file, err := AcquirePidFile(home, DaemonInfo{})
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := replaceContent(file.file, []byte(`{"pid":1}`)); err != nil {
		t.Fatal(err)
	}
	var stale *StaleError
	if _, err := ReadPidFileWithCheck(home); !errors.As(err, &stale) {
		t.Errorf("reading: %v", err)
	}
	var running *RunningError
	if _, err := AcquirePidFile(home, DaemonInfo{}); !errors.As(err, &running) {
		t.Errorf("a second daemon may start: %v", err)
	}
}

func TestConcurrentStarts(t *testing.T) {
	home := t.TempDir()
	for range 10 {
		var wg sync.WaitGroup
		var mu sync.Mutex
		var got []*PidFile
		for range 8 {
			wg.Go(func() {
				if file, err := AcquirePidFile(home, DaemonInfo{}); err == nil {
					mu.Lock()
					got = append(got, file)
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if len(got) != 1 {
			t.Fatalf("%d daemons at once", len(got))
		}
		if err := got[0].Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Who looks does not keep a daemon from starting.
func TestReadersAreInNobodysWay(t *testing.T) {
	home := t.TempDir()
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					_, _ = ReadPidFileWithCheck(home)
				}
			}
		})
	}
	for range 40 {
		file, err := AcquirePidFile(home, DaemonInfo{})
		if err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	wg.Wait()
}

func TestWhatIsInTheWay(t *testing.T) {
	home := t.TempDir()
	if err := os.Symlink(filepath.Join(home, "elsewhere"), filepath.Join(home, FileName)); err != nil {
		t.Fatal(err)
	}
	if _, err := AcquirePidFile(home, DaemonInfo{}); err == nil || !strings.Contains(err.Error(), "move it away") {
		t.Errorf("a link: %v", err)
	}
	if _, err := AcquirePidFile(filepath.Join(home, "missing"), DaemonInfo{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no home: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"pid":1}`))
	f.Add([]byte(`{"pid":99999999999999999999}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), FileName)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if data, err := readFile(path); err == nil && data.PID <= 0 {
			t.Errorf("%q is process %d", text, data.PID)
		}
	})
}
