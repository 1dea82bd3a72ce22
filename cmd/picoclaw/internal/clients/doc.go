// Package clients knows where MCP clients keep the servers they start, and writes an entry there so that everything
// else in the file stays as it is, byte for byte: other settings, comments, order and layout.
//
// It must not know what the server does, nor talk to anybody: it turns bytes into bytes, and replaces files.
package clients
