package isolation

import (
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"
)

// patience bounds every wait of the tests. It is far longer than anything
// takes, so that a slow machine is not a failure.
const patience = 30 * time.Second

// configured returns an isolation with a fresh instance root.
func configured(t testing.TB, cfg Config) *Starter {
	t.Helper()
	if cfg.Home == "" {
		cfg.Home = filepath.Join(realTemp(t), "home")
	}
	i, err := NewStarter(cfg, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { i.Close() })
	return i
}

// realTemp is t.TempDir without symbolic links in its path.
func realTemp(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// child is the command that runs the static test program.
func child(args ...string) *exec.Cmd { return exec.Command(os.Getenv(childEnv), args...) }

// shell is the command that runs a script.
func shell(script string) *exec.Cmd {
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Env = []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin"}
	return cmd
}

// result is what a finished child said.
type result struct {
	exit           ExitStatus
	err            error
	stdout, stderr string
}

// outcome runs cmd to its end.
func outcome(t testing.TB, i *Starter, cmd *exec.Cmd, p Profile) result {
	t.Helper()
	out, stdout := pipe(t)
	errs, stderr := pipe(t)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	proc, err := i.Start(cmd, p)
	stdout.Close()
	stderr.Close()
	if err != nil {
		t.Fatalf("start %q: %v", cmd.Args, err)
	}
	said := make(chan string, 1)
	go func() { said <- readAll(out) }()
	r := result{stderr: readAll(errs), stdout: <-said}
	r.exit, r.err = wait(t, proc)
	return r
}

// wait waits for proc within the tests' patience.
func wait(t testing.TB, proc *Process) (ExitStatus, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	exit, err := proc.Wait(ctx)
	if ctx.Err() != nil {
		proc.Kill()
		t.Fatal("the process does not end")
	}
	return exit, err
}

func pipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

func readAll(f *os.File) string {
	data, _ := io.ReadAll(f)
	return string(data)
}

// put writes a file with its directories.
func put(t testing.TB, path, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// inheritable opens path as a descriptor that a child would inherit.
func inheritable(t testing.TB, path string) int {
	t.Helper()
	fd, err := unix.Open(path, unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

// ask sends text to a unix socket and returns the answer.
func ask(t testing.TB, socket, text string) string {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, len(text))
	if _, err := io.ReadFull(conn, answer); err != nil {
		t.Fatal(err)
	}
	return string(answer)
}
