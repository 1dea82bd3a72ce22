package isolation

import "github.com/picoclaw/picoclaw/internal/limits"

// Limits bound what a child and its descendants may use. A zero is no limit.
//
// Processes, Memory and CPU are the whole tree's. No limit that a process inherits says that, so the tree is looked at
// every so often, and ended when it has too much: it may have more for a moment. FileSize and OpenFiles are each
// process's own, kept by the kernel.
type Limits limits.Limits
