// Package wire has the messages between the host of a run and the supervisor inside the sandbox. Each is one packet of JSON
// on a socket of the kind SOCK_SEQPACKET. It must not know what the messages lead to.
package wire
