// Package pluginpb is the wire between a host and a plugin: the gRPC service (plugin.proto and the code generated
// from it), the handshake, the secret that both ends prove to hold, and the manifest that both read.
//
// It is for whoever writes a host or an SDK. Plugin authors use package sdk instead and never see it. It must not
// know how tools are written, how processes are started or what a policy decides.
package pluginpb
