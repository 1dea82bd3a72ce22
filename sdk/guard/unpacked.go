package guard

import (
	"path"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// packedEndings are those that programs take away which unpack a file.
var packedEndings = []string{".gz", ".bz2", ".xz", ".lzma", ".zst", ".lz4", ".Z"}

// unpacks remembers that a packed file may be unpacked in its place, for when the line runs what was in it.
func unpacks(c *shell.Call, argv []string) {
	for _, word := range argv[1:] {
		if ending := path.Ext(word); slices.Contains(packedEndings, ending) && c.Wrote() {
			c.Write(strings.TrimSuffix(word, ending), shell.Stream{Piped: true, From: shell.From(argv[0])})
		}
	}
}

// takesBack remembers that git may give a file that the line has written another content again, for when the line runs it.
func takesBack(c *shell.Call, argv []string) {
	if !c.Wrote() || !slices.ContainsFunc(argv, func(word string) bool {
		return word == "checkout" || word == "restore" || word == "checkout-index"
	}) {
		return
	}
	for _, word := range argv[1:] {
		if _, ok := c.Written(word); ok {
			c.Write(word, shell.Stream{Piped: true, From: shell.From("git")})
		}
	}
}
