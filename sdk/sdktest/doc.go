// Package sdktest tests plugins. It is for plugin authors, and works in three steps:
//
//   - [Spec] reads the plugin's manifest as a host and a careful reviewer would;
//   - [Run] makes calls that are written down as data ([Case]) in the test's own process, over a real gRPC connection,
//     with a workspace of their own. [Start] gives the running plugin to tests that need more;
//   - [Binary] makes the same calls to the built plugin, started by picoclaw itself in its sandbox.
//
// It must not know of hosts or sandboxes: for the last step it runs picoclaw's program, as an operator does.
package sdktest
