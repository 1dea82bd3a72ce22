package root

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"mvdan.cc/sh/v3/syntax"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
)

// Every command that a page names is one that there is, with flags that it has: in examples, and within sentences too.
func TestDocumentedCommandsExist(t *testing.T) {
	pages, err := filepath.Glob("../../../../docs/*.md")
	if err != nil || len(pages) < 10 {
		t.Fatalf("the pages are %q: %v", pages, err)
	}
	named := 0
	for _, page := range append(pages, "../../../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, command := range commandsIn(string(text)) {
			named++
			if err := exists(command); err != nil {
				t.Errorf("%s names `picoclaw %s`: %v", filepath.Base(page), strings.Join(command, " "), err)
			}
		}
	}
	if named < 200 {
		t.Errorf("only %d commands were found", named)
	}
	for _, wrong := range [][]string{{"cal", "read_file"}, {"call", "--jsn", "{}"}, {"plugin", "instal", "x"}} {
		if exists(wrong) == nil {
			t.Errorf("%q is said to exist", wrong)
		}
	}
}

// commandsIn returns the arguments of every picoclaw in the code on a page.
func commandsIn(page string) [][]string {
	var code []string
	blocks := regexp.MustCompile("(?ms)^```(?:sh|console)\n(.*?)^```$")
	for _, block := range blocks.FindAllStringSubmatch(page, -1) {
		for line := range strings.Lines(block[1]) {
			code = append(code, strings.TrimPrefix(strings.TrimSpace(line), "$ "))
		}
	}
	for _, inline := range regexp.MustCompile("`(picoclaw [^`]*)`").FindAllStringSubmatch(regexp.MustCompile("(?ms)^```.*?^```$").ReplaceAllString(page, ""), -1) {
		code = append(code, strings.ReplaceAll(inline[1], "\n", " "))
	}
	var found [][]string
	for _, line := range code {
		// what stands for something else, or explains
		line = regexp.MustCompile(`\[.*?\]|<.*?>|…|\.\.\.|  .*`).ReplaceAllString(line, "")
		parsed, err := syntax.NewParser().Parse(strings.NewReader(line), "")
		if err != nil {
			continue // output, or the first line of several
		}
		syntax.Walk(parsed, func(node syntax.Node) bool {
			call, ok := node.(*syntax.CallExpr)
			if !ok || len(call.Args) == 0 || call.Args[0].Lit() != "picoclaw" {
				return true
			}
			var args []string
			for _, word := range call.Args[1:] {
				if lit := word.Lit(); lit != "" {
					args = append(args, lit)
				} else {
					args = append(args, "value")
				}
			}
			found = append(found, args)
			return true
		})
	}
	return found
}

// exists says why there is no such command, or why it has no such flag.
func exists(args []string) error {
	root := NewRootCommand(&cli.Factory{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
	cmd, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	var unknown *pflag.NotExistError
	if err := cmd.ParseFlags(rest); errors.As(err, &unknown) {
		return err
	}
	left := cmd.Flags().Args()
	if at := cmd.ArgsLenAtDash(); at >= 0 {
		left = left[:at]
	}
	if cmd.HasSubCommands() && len(left) > 0 && strings.ToLower(left[0]) == left[0] {
		return errors.New("there is no command " + left[0])
	}
	return nil
}
