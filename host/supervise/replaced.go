package supervise

import (
	"context"
	"os"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

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
