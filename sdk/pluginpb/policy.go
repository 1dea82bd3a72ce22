package pluginpb

import "github.com/picoclaw/picoclaw/sdk/guard"

// NewPolicy puts a guard's policy on the wire.
func NewPolicy(p guard.Policy) *Policy {
	return &Policy{
		Workspace:                 p.Workspace,
		RestrictToWorkspace:       p.Restrict,
		AllowReadOutsideWorkspace: p.AllowReadOutside,
		AllowReadPaths:            p.AllowReadPaths,
		AllowWritePaths:           p.AllowWritePaths,
		Paths:                     p.Paths,
		MaxFileSize:               p.MaxFileSize,
		Protected:                 p.Protected,
		Unprotected:               p.Unprotected,
		WorkspaceDeny:             p.WorkspaceDeny,
		WorkspaceAsk:              p.WorkspaceAsk,
		Exec: &ExecPolicy{
			EnableDenyPatterns:  p.Exec.DenyPatterns,
			CustomDenyPatterns:  p.Exec.CustomDeny,
			CustomAllowPatterns: p.Exec.CustomAllow,
			Profile:             p.Exec.Profile,
			UndoableDeletes:     p.Exec.UndoableDeletes,
		},
	}
}

// Guard takes the guard's policy off the wire.
func (p *Policy) Guard() guard.Policy {
	return guard.Policy{
		Workspace:        p.GetWorkspace(),
		Restrict:         p.GetRestrictToWorkspace(),
		AllowReadOutside: p.GetAllowReadOutsideWorkspace(),
		AllowReadPaths:   p.GetAllowReadPaths(),
		AllowWritePaths:  p.GetAllowWritePaths(),
		Paths:            p.GetPaths(),
		MaxFileSize:      p.GetMaxFileSize(),
		Protected:        p.GetProtected(),
		Unprotected:      p.GetUnprotected(),
		WorkspaceDeny:    p.GetWorkspaceDeny(),
		WorkspaceAsk:     p.GetWorkspaceAsk(),
		Exec: guard.ExecPolicy{
			DenyPatterns:    p.GetExec().GetEnableDenyPatterns(),
			CustomDeny:      p.GetExec().GetCustomDenyPatterns(),
			CustomAllow:     p.GetExec().GetCustomAllowPatterns(),
			Profile:         p.GetExec().GetProfile(),
			UndoableDeletes: p.GetExec().GetUndoableDeletes(),
		},
	}
}
