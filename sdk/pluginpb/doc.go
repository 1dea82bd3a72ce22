// Package pluginpb is the wire between a host and a plugin: the gRPC service (plugin.proto and the code generated
// from it), the handshake, the secret that both ends prove to hold, and the manifest that both read.
//
// It is for whoever writes a host or an SDK. Plugin authors use package sdk instead and never see it. It must not
// know how tools are written, how processes are started or what a policy decides.
//
// # The secret
//
// Each instance gets mutual TLS 1.3 with keys of its own, made by the host. The keys travel through standard input, not
// through environment or handshake line, so no third process can read or replace them. They are P-256, which starts
// faster than go-plugin's P-521; for the key exchange P-256 is offered besides X25519, because gRPC's C core knows no
// other.
//
// # Arguments
//
// Arguments are read strictly, once, and written anew from the values that were read. They are held first against the
// shape that nearly all schemas have, and against the schema library where a schema asks for more, or to say what is
// wrong: that takes ten times as long.
//
// A claim marks an input field as a path or a command. The claims cwd, env and stdin stand beside a command and are
// decided with it: a shell that is given a script to read is decided as the script is.
package pluginpb
