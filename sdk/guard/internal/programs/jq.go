package programs

import (
	"regexp"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// loads are the functions of yq, and the statements of jq, that read the file that stands behind them.
var loads = regexp.MustCompile(`\b(?:load|load_str|strload|load_xml|load_props|load_base64)\s*\(\s*"([^"]+)"|\b(?:import|include)\s+"([^"]+)"`)

// jq and yq take an expression, which may read files, and then files.
func jq(name string, args []shell.Field) []Use {
	uses := table()[name].uses(args, shell.Texts(args))
	for _, use := range uses {
		if use.Kind != Data && use.Kind != Read || len(use.Text) < len(`load("x")`) {
			continue
		}
		for _, m := range loads.FindAllStringSubmatch(use.Text, -1) {
			uses = append(uses, Use{Kind: Read, Text: m[1] + m[2]})
		}
	}
	return uses
}
