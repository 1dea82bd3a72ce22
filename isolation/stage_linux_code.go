//go:build linux && (amd64 || arm64)

package isolation

import "unsafe"

// stage is never called: it is what stageCode copies.
func stage()

var _ = stage

// stageAddress is where the code of stage is. Go's own idea of a function is the way to call it.
func stageAddress() uintptr

// stageMost is more than the stage needs on any architecture.
const stageMost = 1024

// stageCode returns the machine code of the stage.
func stageCode() []byte {
	at := stageAddress()
	return trimCode(unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), stageMost))
}

// script_ is never called either: it is what scriptCode copies.
func script_() //nolint:revive // script is the type

var _ = script_

func scriptAddress() uintptr

// scriptCode returns the machine code that makes a script's calls.
func scriptCode() []byte {
	at := scriptAddress()
	return trimCode(unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), stageMost))
}
