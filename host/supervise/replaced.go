package supervise

import (
	"context"
	"os"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// describeWorkspace describes the workspace that an instance opens; nil for an instance without one.
func describeWorkspace(spec *Spec) os.FileInfo {
	if access := spec.Policy.Grants.Workspace; access == "" || access == pluginpb.NoWorkspace {
		return nil
	}
	info, err := os.Stat(spec.Policy.Guard.Workspace)
	if err != nil {
		return nil // its start reports it
	}
	return info
}

// stopIfReplaced retires an instance whose workspace was deleted and made anew, and reports whether it did. The instance
// keeps the old directory open, so that no other has its inode.
func (s *Supervisor) stopIfReplaced(key string, sl *slot) bool {
	in := sl.instance
	if in.workspace == nil {
		return false
	}
	now := describeWorkspace(in.spec)
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
