package supervise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-plugin/runner"

	"github.com/picoclaw/picoclaw/internal/stdio"
	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// pipeGrace is how long the last output of a process that has ended may take to be read before its pipes are closed,
// which a grandchild may hold open for ever.
const pipeGrace = 200 * time.Millisecond

// stopGrace is how long a process has between SIGTERM and SIGKILL.
const stopGrace = 2 * time.Second

// pluginRunner starts one plugin process through the isolation layer and is go-plugin's handle on it.
type pluginRunner struct {
	launcher    launcher
	spec        *Spec
	binary      string
	files       string   // the directory of what belongs to it
	handshake   []string // go-plugin's variables: cookie, protocol versions, socket directory
	socketDir   string
	credentials *pluginpb.Credentials
	stderrTail  *tail

	process  atomic.Pointer[isolation.Process]
	pipes    *stdio.Pipes  // the input is the lifeline
	silent   chan struct{} // closed when all that was written to the standard error has been read
	stopping sync.Once
	stopped  chan struct{} // closed when somebody has asked the process to end
	drained  atomic.Bool   // the plugin has cleared up: nothing of it is worth waiting for
}

var _ runner.Runner = (*pluginRunner)(nil)

// Start starts the process, and hands it its credentials as the first line of its standard input. The pipe then stays
// open for as long as this process lives: its end tells the plugin that the host is gone, however it went.
func (r *pluginRunner) Start(context.Context) error {
	cmd := exec.Command(r.binary)
	cmd.Env = append(append([]string{}, r.spec.Env...), r.handshake...)
	cmd.Dir = r.files
	var err error
	if r.pipes, err = stdio.Of(cmd); err != nil {
		return err
	}
	defer r.pipes.Started()
	profile := r.spec.Profile
	profile.EndsItself = true // the SDK does, and the lifeline tells it when
	profile.ReadOnly = append(append([]string{}, profile.ReadOnly...), filepath.Dir(r.binary))
	if r.files != filepath.Dir(r.binary) {
		profile.ReadOnly = append(profile.ReadOnly, r.files)
	}
	profile.ReadWrite = append(append([]string{}, profile.ReadWrite...), r.socketDir)
	process, err := r.launcher.Start(cmd, profile)
	if err != nil {
		r.pipes.Close()
		return err
	}
	r.process.Store(process)
	if _, err := r.credentials.WriteTo(r.pipes.In); err != nil {
		process.Kill()
		r.pipes.Close()
		return fmt.Errorf("hand over the credentials: %w", err)
	}
	go r.watch()
	return nil
}

// watch closes the pipes soon after the end of the process.
func (r *pluginRunner) watch() {
	<-r.process.Load().Done()
	time.Sleep(pipeGrace)
	r.pipes.Close()
}

// Wait waits for the end of the process. An end that was asked for is not an error.
func (r *pluginRunner) Wait(ctx context.Context) error {
	exit, err := r.process.Load().Wait(ctx)
	if err != nil {
		return err
	}
	select {
	case <-r.stopped:
		return nil
	default:
	}
	if !exit.Success() {
		return errors.New(exit.String())
	}
	return nil
}

// Kill ends the process and everything it has started, politely first: but one that has cleared up, and that nothing
// can outlive, has nothing left to be polite about.
func (r *pluginRunner) Kill(ctx context.Context) error {
	process := r.process.Load()
	if process == nil {
		return nil
	}
	r.expectEnd()
	grace := stopGrace
	if r.drained.Load() && process.Contained() {
		grace = 0
	}
	_, err := process.Stop(ctx, grace)
	if errors.Is(err, isolation.ErrFinished) {
		return nil
	}
	return err
}

// noSandbox says why the process, which has ended, never ran: this machine gives no sandbox. It is nil if that is not
// why.
func (r *pluginRunner) noSandbox() error {
	process := r.process.Load()
	if process == nil {
		return nil
	}
	select {
	case <-process.Done():
	default:
		return nil // it could not even be ended
	}
	_, err := process.Wait(context.Background())
	if cant, ok := errors.AsType[*isolation.Unavailable](err); ok {
		return cant
	}
	return nil
}

// expectEnd notes that the process is about to end because it was asked to, unless it has ended by itself already.
func (r *pluginRunner) expectEnd() {
	if process := r.process.Load(); process != nil {
		select {
		case <-process.Done():
			return
		default:
		}
	}
	r.stopping.Do(func() { close(r.stopped) })
}

// Diagnose tells what the process has last said on its standard error.
func (r *pluginRunner) Diagnose(context.Context) string {
	if text := r.lastWords(); text != "" {
		return "its last words were:\n" + text
	}
	return "it said nothing on its standard error"
}

// lastWords is the end of what the process has written to its standard error. What a process that has just ended wrote
// may still be on its way.
func (r *pluginRunner) lastWords() string {
	select {
	case <-r.silent:
	case <-time.After(pipeGrace):
	}
	return r.stderrTail.String()
}

func (r *pluginRunner) Stdout() io.ReadCloser { return r.pipes.Out }
func (r *pluginRunner) Stderr() io.ReadCloser { return &toTheEnd{File: r.pipes.Err, end: r.silent} }
func (r *pluginRunner) Name() string          { return r.spec.Manifest.ID }

// toTheEnd is a file that tells when it has been read to its end.
type toTheEnd struct {
	*os.File
	end  chan struct{}
	once sync.Once
}

func (f *toTheEnd) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	if err != nil {
		f.once.Do(func() { close(f.end) })
	}
	return n, err
}

// ID is empty until the process runs: go-plugin takes that for never started.
func (r *pluginRunner) ID() string {
	process := r.process.Load()
	if process == nil {
		return ""
	}
	return strconv.Itoa(process.Pid())
}

// PluginToHost refuses what the host should not dial.
func (r *pluginRunner) PluginToHost(network, address string) (string, string, error) {
	if err := checkAddress(runtime.GOOS, r.socketDir, network, address); err != nil {
		return "", "", fmt.Errorf("plugin %s %w", r.spec.Manifest.ID, err)
	}
	return network, address, nil
}

// HostToPlugin is for addresses that the host serves; it serves none.
func (r *pluginRunner) HostToPlugin(network, address string) (string, string, error) {
	return "", "", fmt.Errorf("the host offers no %s address", network)
}
