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

// pipeGrace is how long the host reads remaining output of an ended process. Then it closes the pipes, which a
// descendant may hold open forever.
const pipeGrace = 200 * time.Millisecond

// stopGrace is the time between SIGTERM and SIGKILL.
const stopGrace = 2 * time.Second

// pluginRunner starts one plugin process in the sandbox. It implements go-plugin's runner.Runner.
type pluginRunner struct {
	launcher    processLauncher
	spec        *InstanceSpec
	binary      string
	files       string   // directory of the plugin's files
	handshake   []string // variables of go-plugin: cookie, protocol versions, socket directory
	socketDir   string
	credentials *pluginpb.TLSCredentials
	stderrTail  *outputTail

	process       atomic.Pointer[isolation.Process]
	pipes         *stdio.ChildPipes // standard input tells the plugin whether the host lives
	stderrDone    chan struct{}     // closed when standard error is read to its end
	stopOnce      sync.Once
	stopRequested chan struct{} // closed when the process was asked to end
	drained       atomic.Bool   // the plugin has confirmed Drain and needs no time to end
}

var _ runner.Runner = (*pluginRunner)(nil)

// Start starts the process, and writes the credentials as the first line of its standard input. The pipe stays open as
// long as this process lives. Its end tells the plugin that the host has ended.
func (r *pluginRunner) Start(context.Context) error {
	cmd := exec.Command(r.binary)
	cmd.Env = append(append([]string{}, r.spec.Env...), r.handshake...)
	cmd.Dir = r.files
	var err error
	if r.pipes, err = stdio.AttachPipes(cmd); err != nil {
		return err
	}
	defer r.pipes.CloseChildEnds()
	profile := r.spec.Profile
	profile.EndsItself = true // the SDK ends the process when standard input closes
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
	go r.closePipesAtExit()
	return nil
}

// closePipesAtExit closes the pipes shortly after the end of the process.
func (r *pluginRunner) closePipesAtExit() {
	<-r.process.Load().Done()
	time.Sleep(pipeGrace)
	r.pipes.Close()
}

// Wait waits for the end of the process. It returns no error if the host requested the end.
func (r *pluginRunner) Wait(ctx context.Context) error {
	exit, err := r.process.Load().Wait(ctx)
	if err != nil {
		return err
	}
	select {
	case <-r.stopRequested:
		return nil
	default:
	}
	if !exit.Success() {
		return errors.New(exit.String())
	}
	return nil
}

// Kill ends the process and its descendants. It sends SIGTERM first, unless the process has confirmed Drain and no
// descendant can escape.
func (r *pluginRunner) Kill(ctx context.Context) error {
	process := r.process.Load()
	if process == nil {
		return nil
	}
	r.markStopRequested()
	grace := stopGrace
	if r.drained.Load() && process.IsContained() {
		grace = 0
	}
	_, err := process.Stop(ctx, grace)
	if errors.Is(err, isolation.ErrFinished) {
		return nil
	}
	return err
}

// sandboxError returns an *UnavailableError if the process ended for lack of a sandbox; nil otherwise.
func (r *pluginRunner) sandboxError() error {
	process := r.process.Load()
	if process == nil {
		return nil
	}
	select {
	case <-process.Done():
	default:
		return nil // the process can't be killed
	}
	_, err := process.Wait(context.Background())
	if unavailable, ok := errors.AsType[*isolation.UnavailableError](err); ok {
		return unavailable
	}
	return nil
}

// markStopRequested records that the host is about to end the process. It does nothing if the process has ended.
func (r *pluginRunner) markStopRequested() {
	if process := r.process.Load(); process != nil {
		select {
		case <-process.Done():
			return
		default:
		}
	}
	r.stopOnce.Do(func() { close(r.stopRequested) })
}

// Diagnose returns the end of the process's standard error for error messages.
func (r *pluginRunner) Diagnose(context.Context) string {
	if text := r.stderrEnd(); text != "" {
		return "the end of its standard error:\n" + text
	}
	return "its standard error is empty"
}

// stderrEnd returns the end of the process's standard error. It waits briefly for unread output.
func (r *pluginRunner) stderrEnd() string {
	select {
	case <-r.stderrDone:
	case <-time.After(pipeGrace):
	}
	return r.stderrTail.String()
}

// Stdout returns the process's standard output.
func (r *pluginRunner) Stdout() io.ReadCloser { return r.pipes.Out }

// Stderr returns the process's standard error.
func (r *pluginRunner) Stderr() io.ReadCloser {
	return &eofNotifyingFile{File: r.pipes.Err, eof: r.stderrDone}
}

// Name returns the plugin's id.
func (r *pluginRunner) Name() string { return r.spec.Manifest.ID }

// eofNotifyingFile is a file that closes a channel when a reader reaches its end.
type eofNotifyingFile struct {
	*os.File
	eof  chan struct{}
	once sync.Once
}

func (f *eofNotifyingFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	if err != nil {
		f.once.Do(func() { close(f.eof) })
	}
	return n, err
}

// ID returns the process id. Before the start it is empty, as go-plugin expects.
func (r *pluginRunner) ID() string {
	process := r.process.Load()
	if process == nil {
		return ""
	}
	return strconv.Itoa(process.Pid())
}

// PluginToHost implements go-plugin's runner.Runner. It returns the address that the plugin printed, after
// checkPluginAddress accepts it.
func (r *pluginRunner) PluginToHost(network, address string) (string, string, error) {
	if err := checkPluginAddress(runtime.GOOS, r.socketDir, network, address); err != nil {
		return "", "", fmt.Errorf("plugin %s %w", r.spec.Manifest.ID, err)
	}
	return network, address, nil
}

// HostToPlugin implements go-plugin's runner.Runner. It returns an error, since the host serves no address.
func (r *pluginRunner) HostToPlugin(network, address string) (string, string, error) {
	return "", "", fmt.Errorf("the host offers no %s address", network)
}

// statWorkspace returns the file info of an instance's workspace directory; nil for an instance without a workspace.
func statWorkspace(spec *InstanceSpec) os.FileInfo {
	if access := spec.Policy.Grants.Workspace; access == "" || access == pluginpb.NoWorkspace {
		return nil
	}
	info, err := os.Stat(spec.Policy.Guard.Workspace)
	if err != nil {
		return nil // its start reports it
	}
	return info
}

// retireIfWorkspaceReplaced retires an instance whose workspace directory was replaced by another, and reports whether
// it did. The instance keeps the old directory open, so that the new one has another inode.
func (s *Supervisor) retireIfWorkspaceReplaced(key string, sl *sharedInstance) bool {
	in := sl.instance
	if in.workspace == nil {
		return false
	}
	now := statWorkspace(in.spec)
	if now == nil || os.SameFile(in.workspace, now) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !in.retired {
		in.logger.Debug("stopped, since the workspace is another directory")
		s.retireLocked(key, sl)
		s.stops.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), s.options.StopTimeout)
			defer cancel()
			in.stopGracefully(ctx)
		})
	}
	return true
}
