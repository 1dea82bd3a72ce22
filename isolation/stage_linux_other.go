//go:build linux && !amd64 && !arm64

package isolation

import "debug/elf"

const stageMachine = elf.EM_NONE

// stageCode returns nothing: there is no stage for this architecture yet.
func stageCode() []byte { return nil }
