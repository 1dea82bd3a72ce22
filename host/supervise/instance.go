package supervise

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
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

	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
	"github.com/picoclaw/picoclaw/sdk/pluginpolicy"
)

// pluginInstance is one running plugin process.
type pluginInstance struct {
	spec   *InstanceSpec
	runner *pluginRunner
	client *plugin.Client
	rpc    pluginpb.PluginClient
	// streams carries one call after another; nil until the plugin is configured.
	streams *streamPool
	// hostTLS holds the host's part of the instance's credentials.
	hostTLS        *tls.Config
	verified       *verifiedDigests
	workspace      os.FileInfo // that it was started with; nil without one
	logger         hclog.Logger
	healthInterval time.Duration // during calls
	cleanOnce      sync.Once
	replace        func()        // retires the instance, so that later calls start another
	recorded       chan struct{} // closed when the instance has ended and a crash is stored

	// Protected by the supervisor's mutex:
	active   int           // calls in progress
	lastUsed time.Time     // end of the last call
	retired  bool          // accepts no more calls
	idle     chan struct{} // created on retirement; closed without calls in progress
}

// startInstance starts a plugin process, then connects, verifies and configures it, within the start timeout.
func (s *Supervisor) startInstance(spec *InstanceSpec) (*pluginInstance, error) {
	dir, err := s.sockets.ensureDir()
	if err != nil {
		return nil, err
	}
	binary, files := spec.Binary, filepath.Dir(spec.Binary)
	if spec.Copy != nil {
		if files, err = s.copies.ensureCopy(spec, dir); err != nil {
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
	in := &pluginInstance{
		spec:           spec,
		hostTLS:        hostTLS,
		verified:       &s.verified,
		workspace:      statWorkspace(spec),
		logger:         logger,
		healthInterval: s.options.HealthInterval,
		recorded:       make(chan struct{}),
		runner: &pluginRunner{
			launcher:      s.options.Isolation,
			spec:          spec,
			binary:        binary,
			files:         files,
			credentials:   credentials,
			stderrTail:    newOutputTail(),
			stderrDone:    make(chan struct{}),
			stopRequested: make(chan struct{}),
		},
	}
	in.client = plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  pluginpb.HandshakeConfig(),
		VersionedPlugins: pluginpb.PluginSets(nil),
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, socketDir string) (runner.Runner, error) {
			in.runner.handshake, in.runner.socketDir = cmd.Env, socketDir
			return in.runner, nil
		},
		SkipHostEnv:      true,
		TLSConfig:        hostTLS,
		UnixSocketConfig: &plugin.UnixSocketConfig{TempDir: dir},
		StartTimeout:     s.options.StartTimeout,
		Logger:           quietLibraryLogger{logger},
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
	go func() { connected <- in.startAndConfigure(ctx) }()
	select {
	case err = <-connected:
	case <-ctx.Done():
		err = fmt.Errorf("it did not answer within %s", s.options.StartTimeout)
	}
	if err != nil {
		processStarted := in.runner.process.Load() != nil
		in.killProcess()
		in.releaseResources()
		if unavailable := in.runner.sandboxError(); unavailable != nil {
			processStarted, err = false, unavailable
		}
		return nil, &startError{plugin: spec.Manifest.ID, processStarted: processStarted, err: err}
	}
	return in, nil
}

// startAndConfigure starts the process, completes the handshake, verifies the plugin and configures it.
func (in *pluginInstance) startAndConfigure(ctx context.Context) error {
	conn, err := in.client.Client() // this also starts the process
	if err != nil {
		return in.handshakeError(err)
	}
	raw, err := conn.Dispense(pluginpb.ServiceName)
	if err != nil {
		return err
	}
	rpc, ok := raw.(pluginpb.PluginClient)
	if !ok {
		return errors.New("it does not serve picoclaw's protocol")
	}
	in.rpc = rpc
	if err = in.verifyManifest(ctx); err != nil {
		return err
	}
	if err = in.runner.process.Load().VerifyMounts(); err != nil {
		return err
	}
	configure, err := in.spec.Policy.ToConfigureRequest()
	if err != nil {
		return err
	}
	if _, err := rpc.Configure(ctx, configure); err != nil {
		return fmt.Errorf("configure the plugin: %w", simplifyGRPCError(err))
	}
	in.streams = &streamPool{rpc: rpc}
	return nil
}

// handshakeError explains why a program did not complete the handshake. If the program itself shows no problem, it
// returns go-plugin's error.
func (in *pluginInstance) handshakeError(err error) error {
	var failed *fs.PathError
	started := in.runner.process.Load() != nil
	if started || errors.As(err, &failed) {
		if problem := explainUnrunnable(in.spec); problem != nil {
			return problem
		}
	}
	if strings.HasPrefix(err.Error(), "incompatible API version") { // go-plugin has no error value for it
		return fmt.Errorf("it speaks another version of the plugin protocol than this picoclaw (version %d); "+
			"rebuild the plugin with the current SDK", pluginpb.ProtocolVersion)
	}
	if !started || !strings.Contains(err.Error(), "\n") {
		return err
	}
	return fmt.Errorf("%s did not complete the plugin handshake; reinstall the plugin\n%w", in.spec.Binary,
		err)
}

// verifyManifest checks that the running plugin matches its manifest, unless the same binary matched before.
func (in *pluginInstance) verifyManifest(ctx context.Context) error {
	if in.verified.isVerified(in.spec) {
		return nil
	}
	described, err := in.rpc.Describe(ctx, &pluginpb.DescribeRequest{})
	if err != nil {
		return fmt.Errorf("ask for its description: %w", simplifyGRPCError(err))
	}
	if err := in.checkSameManifest(described.GetManifest()); err != nil {
		return err
	}
	if err := in.verified.markVerified(in.spec); err != nil {
		in.logger.Debug("the verified plugin could not be stored", "error", err)
	}
	return nil
}

// checkSameManifest compares the plugin's description with its manifest.
func (in *pluginInstance) checkSameManifest(described []byte) error {
	want, err := in.spec.Manifest.MarshalWithoutPlatforms()
	if err != nil {
		return err
	}
	if bytes.Equal(want, described) { // so it is for plugins made with the SDK
		return nil
	}
	live, err := pluginpb.ParseManifest(described)
	if err != nil {
		return err
	}
	same, err := in.spec.Manifest.Equal(live)
	if err != nil {
		return err
	}
	if !same {
		return fmt.Errorf("its description differs from its %s; run `describe` on it again, or reinstall it",
			pluginpb.ManifestFile)
	}
	return nil
}

// callTool makes one call, with health checks.
func (in *pluginInstance) callTool(ctx context.Context, req *pluginpb.CallRequest, listener CallCallbacks) (*pluginpb.Result, error) {
	health := in.startHealthCheck()
	defer health.stopChecks()
	result, err := in.streams.callTool(ctx, req, listener)
	if err != nil {
		return nil, in.explainCallError(ctx, err)
	}
	return result, nil
}

// explainCallError converts the error of a failed call to its cause: timeout, cancellation, crash, or connection error.
func (in *pluginInstance) explainCallError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("plugin %s ended the call without a result", in.spec.Manifest.ID)
	}
	// The connection breaks before the process counts as ended, which needs the end of all its descendants.
	grace := pipeGrace
	if status.Code(err) == codes.Unavailable {
		grace = stopGrace
	}
	select {
	case <-in.exitChannel():
		exit, _ := in.runner.process.Load().Wait(context.Background())
		how := exit.String()
		if exit.Exceeded != "" {
			how = "it used " + exit.Exceeded
		}
		return &CrashError{Plugin: in.spec.Manifest.ID, Exit: how, Stderr: in.runner.stderrEnd()}
	case <-time.After(grace):
	case <-ctx.Done():
	}
	return fmt.Errorf("plugin %s: %w", in.spec.Manifest.ID, simplifyGRPCError(err))
}

// exitChannel returns a channel that is closed when the process has ended.
func (in *pluginInstance) exitChannel() <-chan struct{} { return in.runner.process.Load().Done() }

// stopGracefully waits for calls in progress until ctx is done, then ends the process. The instance must be retired
// before, so that no call arrives after Drain.
func (in *pluginInstance) stopGracefully(ctx context.Context) {
	select {
	case <-in.idle:
	case <-in.exitChannel():
	case <-ctx.Done():
	}
	in.runner.markStopRequested()
	if in.streams != nil {
		in.streams.closePool()
	}
	if _, err := in.rpc.Drain(ctx, &pluginpb.DrainRequest{}); err != nil {
		in.logger.Debug("drain", "error", err)
	} else {
		in.runner.drained.Store(true)
	}
	in.killProcess()
	in.releaseResources()
}

// killProcess ends the process and its descendants, by SIGKILL after at most stopGrace.
func (in *pluginInstance) killProcess() {
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	if err := in.runner.Kill(ctx); err != nil {
		in.logger.Warn("the plugin process could not be killed", "error", err)
	}
}

// releaseResources releases go-plugin's resources for a process that has ended, and removes the socket directory.
func (in *pluginInstance) releaseResources() {
	in.cleanOnce.Do(func() {
		if in.streams != nil {
			in.streams.closePool()
		}
		released := make(chan struct{})
		go func() {
			in.client.Kill() // has no deadline, but the process has ended
			close(released)
		}()
		select {
		case <-released:
		case <-time.After(stopGrace):
			in.logger.Warn("the plugin's connection could not be closed in time")
		}
		if dir := in.runner.socketDir; dir != "" {
			if err := os.RemoveAll(dir); err != nil {
				in.logger.Warn("the plugin's socket directory could not be removed", "error", err)
			}
		}
	})
}

// InstanceSpec determines a plugin instance: its program, identity and rights.
type InstanceSpec struct {
	// Manifest is the description that the plugin must give of itself.
	Manifest *pluginpb.Manifest
	// Binary is the program. Digest identifies the content of program and manifest.
	Binary string
	Digest string
	// Copy, if not nil, copies the plugin's files to a directory, and fails if one of them differs from the installed
	// file. The host runs Program, a path in the copy; if Program is empty, it runs Binary with the copy as working
	// directory.
	Copy    func(to string) error
	Program string
	// Policy holds policy, grants and settings, which are fixed for the life of the process.
	Policy *pluginpolicy.Policy
	// Profile configures the sandbox. Env is the whole environment of the process (NAME=value).
	Profile isolation.Profile
	Env     []string

	// MaxInstances limits the instances of one Owner; 0 means no limit. An instance shared by several owners counts
	// for the first one.
	Owner        string
	MaxInstances int

	identity sync.Once
	key      string
	rights   string // hash of the policy
	err      error
}

// Key returns equal keys for specs that may share an instance. A spec must not change after the first call.
func (s *InstanceSpec) Key() (string, error) {
	s.identity.Do(func() { s.key, s.err = s.computeKey() })
	return s.key, s.err
}

// computeKey hashes everything that determines the instance.
func (s *InstanceSpec) computeKey() (string, error) {
	configure, err := s.Policy.ToConfigureRequest()
	if err != nil {
		return "", fmt.Errorf("identify an instance of %s: %w", s.Manifest.ID, err)
	}
	rest, err := json.Marshal([]any{s.Manifest.ID, s.Manifest.Version, s.Binary, s.Digest, s.Profile, s.Env})
	if err != nil {
		return "", fmt.Errorf("identify an instance of %s: %w", s.Manifest.ID, err)
	}
	policyHash := sha256.Sum256(configure.GetPolicy())
	s.rights = hex.EncodeToString(policyHash[:8])
	h := sha256.New()
	h.Write(configure.GetPolicy())
	h.Write(rest)
	return hex.EncodeToString(h.Sum(nil)), nil
}
