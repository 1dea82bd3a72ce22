// Package text knows how text is written in files: encodings, byte order marks, line endings, lines and their numbers.
//
// It works on bytes that somebody else has read. It must not know of files, tools or workspaces.
package text
