package supervise

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// instance is one running plugin process.
type instance struct {
	spec   *Spec
	runner *pluginRunner
	client *plugin.Client
	rpc    pluginpb.PluginClient
	// streams carry calls one after another; nil until the plugin is configured.
	streams *streams
	// hostTLS holds the host's half of the instance's secret.
	hostTLS *tls.Config
	known   *recognised
	logger  hclog.Logger
	health  time.Duration // how often it is asked whether it is there, during calls
	clean   sync.Once
	giveUp  func()        // has later calls go to another instance
	noted   chan struct{} // closed when it has ended and, if it has crashed, that is noted

	// Guarded by the supervisor's mutex.
	active   int           // calls under way
	lastUsed time.Time     // when the last one ended
	retired  bool          // it takes no more calls
	idle     chan struct{} // made when it is retired; closed when no call is under way any more
}

// start starts a plugin process and brings it to where it takes calls: connected, recognised and configured. It
// returns within the start timeout, whatever the process does.
func (s *Supervisor) start(spec *Spec) (*instance, error) {
	dir, err := s.sockets.path()
	if err != nil {
		return nil, err
	}
	binary, files := spec.Binary, filepath.Dir(spec.Binary)
	if spec.Copy != nil {
		if files, err = s.copies.of(spec, dir); err != nil {
			return nil, err
		}
		if spec.Program != "" {
			binary = filepath.Join(files, filepath.FromSlash(spec.Program))
		}
	}
	credentials, hostTLS, err := pluginpb.NewCredentials()
	if err != nil {
		return nil, err
	}
	logger := s.options.Logger.Named(spec.Manifest.ID)
	in := &instance{
		spec:    spec,
		hostTLS: hostTLS,
		known:   &s.known,
		logger:  logger,
		health:  s.options.HealthInterval,
		noted:   make(chan struct{}),
		runner: &pluginRunner{
			launcher:    s.options.Isolation,
			spec:        spec,
			binary:      binary,
			files:       files,
			credentials: credentials,
			stderrTail:  newTail(),
			silent:      make(chan struct{}),
			stopped:     make(chan struct{}),
		},
	}
	in.client = plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  pluginpb.Handshake(),
		VersionedPlugins: pluginpb.Versions(nil),
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, socketDir string) (runner.Runner, error) {
			in.runner.handshake, in.runner.socketDir = cmd.Env, socketDir
			return in.runner, nil
		},
		SkipHostEnv:      true,
		TLSConfig:        hostTLS,
		UnixSocketConfig: &plugin.UnixSocketConfig{TempDir: dir},
		StartTimeout:     s.options.StartTimeout,
		Logger:           libraryLogger{logger},
		Stderr:           in.runner.stderrTail,
		SyncStdout:       io.Discard,
		SyncStderr:       in.runner.stderrTail,
		GRPCDialOptions: []grpc.DialOption{
			grpc.WithInitialWindowSize(pluginpb.StreamWindowBytes),
			grpc.WithInitialConnWindowSize(pluginpb.ConnectionWindowBytes),
			grpc.WithDefaultCallOptions(
				grpc.MaxCallRecvMsgSize(pluginpb.MaxMessageBytes),
				grpc.MaxCallSendMsgSize(pluginpb.MaxMessageBytes),
			),
		},
	})
	ctx, cancel := context.WithTimeout(context.Background(), s.options.StartTimeout)
	defer cancel()
	connected := make(chan error, 1)
	go func() { connected <- in.connect(ctx) }()
	select {
	case err = <-connected:
	case <-ctx.Done():
		err = fmt.Errorf("it did not answer within %s", s.options.StartTimeout)
	}
	if err != nil {
		ran := in.runner.process.Load() != nil
		in.kill()
		in.cleanUp()
		if cant := in.runner.noSandbox(); cant != nil {
			ran, err = false, cant
		}
		return nil, &startError{plugin: spec.Manifest.ID, ran: ran, err: err}
	}
	return in, nil
}

// connect starts the process and introduces host and plugin to each other.
func (in *instance) connect(ctx context.Context) error {
	conn, err := in.client.Client() // starts the process, too
	if err != nil {
		return in.unintroduced(err)
	}
	raw, err := conn.Dispense(pluginpb.ServiceName)
	if err != nil {
		return err
	}
	rpc, ok := raw.(pluginpb.PluginClient)
	if !ok {
		return errors.New("it serves something else than picoclaw's protocol")
	}
	in.rpc = rpc
	if err := in.recognise(ctx); err != nil {
		return err
	}
	if err := in.runner.process.Load().Check(); err != nil {
		return err
	}
	configure, err := in.spec.Policy.Request()
	if err != nil {
		return err
	}
	if _, err := rpc.Configure(ctx, configure); err != nil {
		return fmt.Errorf("give it its policy: %w", reason(err))
	}
	in.streams = &streams{rpc: rpc}
	return nil
}

// unintroduced says why a program did not open with the handshake: what is wrong with it, unless it was refused for a
// reason that is said already, or else what go-plugin tells in several lines, behind one of its own.
func (in *instance) unintroduced(err error) error {
	var failed *fs.PathError
	started := in.runner.process.Load() != nil
	if started || errors.As(err, &failed) {
		if why := unrunnable(in.spec); why != nil {
			return why
		}
	}
	if strings.HasPrefix(err.Error(), "incompatible API version") { // go-plugin has no error value for it
		return fmt.Errorf("it speaks another version of the plugin protocol than this picoclaw (version %d); "+
			"rebuild the plugin with the current SDK", pluginpb.ProtocolVersion)
	}
	if !started || !strings.Contains(err.Error(), "\n") {
		return err
	}
	return fmt.Errorf("%s does not introduce itself as a picoclaw plugin; install the plugin again\n%w", in.spec.Binary,
		err)
}

// recognise checks that the running plugin is what its manifest says, unless the same binary was found to be already.
func (in *instance) recognise(ctx context.Context) error {
	if in.known.has(in.spec) {
		return nil
	}
	described, err := in.rpc.Describe(ctx, &pluginpb.DescribeRequest{})
	if err != nil {
		return fmt.Errorf("ask what it is: %w", reason(err))
	}
	if err := in.compare(described.GetManifest()); err != nil {
		return err
	}
	if err := in.known.add(in.spec); err != nil {
		in.logger.Debug("that it was recognised could not be noted", "error", err)
	}
	return nil
}

// compare checks what the plugin says of itself against its manifest.
func (in *instance) compare(said []byte) error {
	want, err := in.spec.Manifest.Text()
	if err != nil {
		return err
	}
	if bytes.Equal(want, said) { // as it is with every plugin that is made with the SDK
		return nil
	}
	live, err := pluginpb.ParseManifest(said)
	if err != nil {
		return err
	}
	same, err := in.spec.Manifest.Equal(live)
	if err != nil {
		return err
	}
	if !same {
		return fmt.Errorf("it says something else of itself than its %s; run `describe` on it again, or install it again",
			pluginpb.ManifestFile)
	}
	return nil
}

// call runs one tool.
func (in *instance) call(ctx context.Context, req *pluginpb.CallRequest, to Listener) (*pluginpb.Result, error) {
	health := in.watchHealth()
	defer health.stop()
	result, err := in.streams.call(ctx, req, to)
	if err != nil {
		return nil, in.callError(ctx, err)
	}
	return result, nil
}

// callError says why a call has not come back: out of time, cancelled, or the plugin is gone, and then how it went.
func (in *instance) callError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("plugin %s ended the call without a result", in.spec.Manifest.ID)
	}
	// A broken connection is seen before the end of the process, which is one when all that it has started has ended too.
	grace := pipeGrace
	if status.Code(err) == codes.Unavailable {
		grace = stopGrace
	}
	select {
	case <-in.done():
		exit, _ := in.runner.process.Load().Wait(context.Background())
		return &CrashError{Plugin: in.spec.Manifest.ID, Exit: exit.String(), Stderr: in.runner.lastWords()}
	case <-time.After(grace):
	case <-ctx.Done():
	}
	return fmt.Errorf("plugin %s: %w", in.spec.Manifest.ID, reason(err))
}

// done is closed when the process has ended.
func (in *instance) done() <-chan struct{} { return in.runner.process.Load().Done() }

// stop lets the calls under way finish until ctx is done, then ends the process. The instance has been retired: a call
// that is on its way could otherwise come to the process behind the word that there are no more.
func (in *instance) stop(ctx context.Context) {
	select {
	case <-in.idle:
	case <-in.done():
	case <-ctx.Done():
	}
	in.runner.expectEnd()
	if in.streams != nil {
		in.streams.close()
	}
	if _, err := in.rpc.Drain(ctx, &pluginpb.DrainRequest{}); err != nil {
		in.logger.Debug("drain", "error", err)
	} else {
		in.runner.drained.Store(true)
	}
	in.kill()
	in.cleanUp()
}

// kill ends the process and all that it started. It does not take longer than the grace between SIGTERM and SIGKILL.
func (in *instance) kill() {
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	if err := in.runner.Kill(ctx); err != nil {
		in.logger.Warn("the plugin process could not be ended", "error", err)
	}
}

// cleanUp releases what go-plugin holds for a process that has ended, and the socket directory.
func (in *instance) cleanUp() {
	in.clean.Do(func() {
		if in.streams != nil {
			in.streams.close()
		}
		freed := make(chan struct{})
		go func() {
			in.client.Kill() // has no deadline of its own; the process is gone, so it has nothing to wait for
			close(freed)
		}()
		select {
		case <-freed:
		case <-time.After(stopGrace):
			in.logger.Warn("the plugin's connection could not be closed in time")
		}
		if dir := in.runner.socketDir; dir != "" {
			if err := os.RemoveAll(dir); err != nil {
				in.logger.Warn("the plugin's socket directory stays behind", "error", err)
			}
		}
	})
}
