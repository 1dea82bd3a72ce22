package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// failure says what a tool could not do, in the words that agents know: a refusal as it is, and "failed to read file:
// file not found" for what the operating system says.
func failure(doing string, err error) error {
	var refused *workspace.Refused
	var own *sdk.Error
	if errors.As(err, &refused) || errors.As(err, &own) {
		return err
	}
	var tooLarge *workspace.TooLarge
	var notRegular *workspace.NotRegular
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return sdk.Errorf(sdk.NotFound, "failed to %s: file not found", doing)
	case errors.Is(err, fs.ErrPermission):
		return sdk.Errorf(sdk.AccessDenied, "failed to %s: access denied", doing)
	case errors.As(err, &tooLarge):
		return sdk.Errorf(sdk.TooLarge, "failed to %s: %v", doing, err)
	case errors.As(err, &notRegular):
		return sdk.Errorf(sdk.InvalidArgument, "failed to %s: %v", doing, err)
	}
	return fmt.Errorf("failed to %s: %w", doing, err)
}
