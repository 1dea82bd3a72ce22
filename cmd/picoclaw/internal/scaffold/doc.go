// Package scaffold writes the beginning of a plugin: a Go module that builds, passes its own tests and says what to do
// next. It must not know how plugins are installed or run.
//
// A released picoclaw has the plugin built with the SDK of its release. Any other has it built with the sources that it
// was built from itself, whose path is in the binary; a release says nothing of the machine that built it.
package scaffold
