package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"slices"

	"github.com/picoclaw/picoclaw/sdk"
)

type editFileInput struct {
	Path    string `json:"path" jsonschema:"The file path to edit." claim:"write"`
	OldText string `json:"old_text" jsonschema:"The exact text to find and replace. Must appear exactly once in the file."`
	NewText string `json:"new_text" jsonschema:"The text to replace with."`
}

func editFile() sdk.Tool {
	return sdk.NewTool("edit_file", "Edit a file by replacing old text with new text. The old text must match exactly.",
		func(_ context.Context, req *sdk.Request[editFileInput]) (string, error) {
			in := req.Args
			err := req.Workspace.Update(in.Path, func(old []byte, exists bool) ([]byte, error) {
				if !exists {
					return nil, fs.ErrNotExist
				}
				return replaceOnce(old, []byte(in.OldText), []byte(in.NewText))
			})
			if err != nil {
				return "", failure("edit file", err)
			}
			return fmt.Sprintf("File edited: %s", shown(in.Path)), nil
		},
		sdk.Destructive(), sdk.Sets("picoclaw"),
		sdk.Permissions("fs.read", "fs.write"), sdk.Risk("medium"), sdk.SideEffects("filesystem_write"))
}

// replaceOnce replaces the only occurrence of a text. No byte outside it is touched, whatever the encoding.
func replaceOnce(data, from, to []byte) ([]byte, error) {
	switch {
	case len(from) == 0:
		return nil, sdk.Errorf(sdk.InvalidArgument, "old_text is empty").
			WithHint("say which text to replace, or use append_file to add to the end")
	case bytes.Equal(from, to):
		return nil, sdk.Errorf(sdk.InvalidArgument, "old_text and new_text are the same; nothing to edit")
	}
	switch n := occurrences(data, from); n {
	case 0:
		return nil, sdk.Errorf(sdk.NotFound, "old_text not found in file. Make sure it matches exactly")
	case 1:
		at := bytes.Index(data, from)
		return slices.Concat(data[:at], to, data[at+len(from):]), nil
	default:
		return nil, sdk.Errorf(sdk.Conflict, "old_text appears %d times. Please provide more context to make it unique", n)
	}
}

// occurrences counts where a text begins, overlapping ones too: "aa" is in "aaa" twice, so it is not unique.
func occurrences(data, text []byte) int {
	n := 0
	for at := 0; ; at++ {
		next := bytes.Index(data[at:], text)
		if next < 0 {
			return n
		}
		n++
		at += next
	}
}
