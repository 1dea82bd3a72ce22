package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
	"github.com/picoclaw/picoclaw/sdk/pluginpolicy"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// pluginService implements the gRPC service of a plugin.
type pluginService struct {
	pluginpb.UnimplementedPluginServer

	plugin   Plugin
	tools    map[string]Tool        // by their names in calls
	manifest func() ([]byte, error) // as JSON
	logger   hclog.Logger

	// stderr is the original standard error while the plugin serves a host. go-plugin replaces it by a pipe whose
	// contents are lost when the process ends, including its last words.
	stderr *os.File

	// life ends just before the process does. It cancels every call.
	life context.Context
	end  context.CancelFunc
	once sync.Once

	mu          sync.Mutex
	environment *Environment // nil until configured
	draining    bool
	calls       sync.WaitGroup // Add only under mu, while not draining

	idle *time.Timer // gives memory back when there has been no call for a while
}

// idleTime is the time without calls after which the process returns free memory to the system.
const idleTime = 3 * time.Second

// NewServer returns a plugin as the gRPC service for a host. The host calls Describe, Configure and Call in this order.
func NewServer(p Plugin, logger hclog.Logger) pluginpb.PluginServer { return newService(p, logger) }

func newService(p Plugin, logger hclog.Logger) *pluginService {
	s := &pluginService{plugin: p, tools: make(map[string]Tool, len(p.Tools)), logger: logger}
	s.idle = time.AfterFunc(idleTime, debug.FreeOSMemory)
	s.manifest = sync.OnceValues(func() ([]byte, error) {
		m, err := NewManifest(p)
		if err != nil {
			return nil, err
		}
		return json.Marshal(m)
	})
	for kind, offered := range map[string][]Tool{pluginpb.ToolKind: p.Tools, pluginpb.ResourceKind: p.Resources,
		pluginpb.PromptKind: p.Prompts} {
		for _, t := range offered {
			s.tools[pluginpb.CallNamePrefix(kind)+t.spec.Name] = t
		}
	}
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

func (s *pluginService) Describe(context.Context, *pluginpb.DescribeRequest) (*pluginpb.DescribeResponse, error) {
	manifest, err := s.manifest()
	if err != nil {
		return nil, status.Errorf(codes.FailedPrecondition, "this plugin can't be used: %v", err)
	}
	return &pluginpb.DescribeResponse{Manifest: manifest}, nil
}

func (s *pluginService) Configure(_ context.Context, req *pluginpb.ConfigureRequest) (*pluginpb.ConfigureResponse, error) {
	policy, err := pluginpolicy.ParseRequest(req)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	env, err := s.newEnvironment(policy)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stderr != nil {
		os.Stderr = s.stderr
	}
	if s.environment != nil {
		return nil, status.Error(codes.FailedPrecondition, "this plugin has its policy already; a policy is for life")
	}
	s.environment = env
	return &pluginpb.ConfigureResponse{}, nil
}

func (s *pluginService) newEnvironment(p *pluginpolicy.Policy) (*Environment, error) {
	g, err := guard.NewGuard(p.Guard)
	if err != nil {
		return nil, err
	}
	env := &Environment{
		Guard: g, Grants: p.Grants, Exec: p.Exec, StateDir: p.StateDir, DataDir: p.DataDir, Takeback: p.Undo,
	}
	if s.plugin.Config != nil {
		if env.Config, err = decodeConfig(s.plugin.Config, p.Config); err != nil {
			return nil, fmt.Errorf("plugins.%s.config does not fit: %w", s.plugin.ID, err)
		}
	}
	if access := env.Grants.Workspace; access == pluginpb.NoWorkspace || access == "" {
		env.Workspace = workspace.NewRefusingWorkspace(s.noWorkspaceGrantError())
		return env, nil
	}
	env.Workspace, err = workspace.OpenWorkspace(p.Guard, workspace.Options{
		ReadOnly: env.Grants.Workspace == pluginpb.ReadOnlyWorkspace,
		StateDir: env.StateDir,
	})
	return env, err
}

// noWorkspaceGrantError returns the error for a plugin without workspace grant.
func (s *pluginService) noWorkspaceGrantError() workspace.Error {
	setting := "plugins." + s.plugin.ID + ".grants.workspace"
	refused := workspace.Error{
		Code: workspace.Refused, Rule: "grant.workspace", Hint: "the operator grants it with " + setting,
		Err: errors.New("access denied: plugin " + s.plugin.ID + " is not granted the workspace"),
	}
	if asked := s.plugin.Grants.Workspace; asked == "" || asked == pluginpb.NoWorkspace {
		refused.Hint = "the plugin does not request it; its author must change that"
	}
	return refused
}

// admitCall counts a call and returns the environment. It fails before Configure and after Drain.
func (s *pluginService) admitCall() (*Environment, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.draining:
		return nil, status.Error(codes.Unavailable, "the plugin is stopping")
	case s.environment == nil:
		return nil, status.Error(codes.FailedPrecondition, "the plugin has no policy yet (Configure)")
	}
	s.calls.Add(1)
	return s.environment, nil
}

// newToolCall returns a call that sends its events to emit.
func (s *pluginService) newToolCall(env *Environment, arguments []byte, emit func(*pluginpb.CallEvent)) *ToolCall {
	return &ToolCall{Environment: env, Arguments: arguments, Emit: emit, Log: slog.New(&hclogHandler{to: s.logger, emit: emit})}
}

// runTool runs a tool's handler. It turns a panic into an error result.
func (s *pluginService) runTool(ctx context.Context, t Tool, c *ToolCall) (result *pluginpb.Result) {
	defer func() {
		if v := recover(); v != nil {
			s.logger.Error("tool panicked", "tool", t.spec.Name, "panic", fmt.Sprint(v))
			for line := range strings.Lines(string(debug.Stack())) {
				s.logger.Error(strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "  "))
			}
			result = &pluginpb.Result{Error: &pluginpb.Error{
				Code:    pluginpb.CodePanic,
				Message: strings.ToValidUTF8(fmt.Sprintf("%s panicked: %v", t.spec.Name, v), "\uFFFD"),
				Hint:    fmt.Sprintf("this is a fault in the plugin %s %s; its log has the stack", s.plugin.ID, s.plugin.Version),
			}}
		}
	}()
	return t.run(ctx, c)
}

func (s *pluginService) Drain(ctx context.Context, _ *pluginpb.DrainRequest) (*pluginpb.DrainResponse, error) {
	s.mu.Lock()
	s.draining = true
	s.mu.Unlock()
	idle := make(chan struct{})
	go func() {
		s.calls.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-ctx.Done():
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
	defer cancel()
	s.stopOnce(stopping)
	return &pluginpb.DrainResponse{}, nil
}

func (s *pluginService) Busy(context.Context, *pluginpb.BusyRequest) (*pluginpb.BusyResponse, error) {
	if s.plugin.Busy == nil {
		return nil, status.Error(codes.Unimplemented, "the plugin does not report whether it is busy")
	}
	return &pluginpb.BusyResponse{Busy: s.plugin.Busy()}, nil
}

// stopOnce cancels all calls and calls the plugin's Stop, at most once.
func (s *pluginService) stopOnce(ctx context.Context) {
	s.once.Do(func() {
		s.end()
		if s.plugin.Stop != nil {
			s.plugin.Stop(ctx)
		}
		s.mu.Lock()
		env := s.environment
		s.mu.Unlock()
		if env != nil && env.Workspace != nil {
			_ = env.Workspace.Close()
		}
	})
}
