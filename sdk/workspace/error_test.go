package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"testing"
)

// What an error says, what it is, and what it is not.
func TestErrorMessages(t *testing.T) {
	cause := errors.New("cause")
	for _, test := range []struct {
		err  error
		says string
		is   []error
	}{
		{newRefusal("p", "workspace.outside", outsideMessage), outsideMessage, []error{Refused, fs.ErrPermission}},
		{&Error{Code: ReadOnly, Path: "p"}, "p is read-only; its mode has to be changed first",
			[]error{ReadOnly, fs.ErrPermission}},
		{&Error{Code: Foreign, Path: "p", Err: cause},
			"p belongs to another user or group, which a change by this process can't keep: cause",
			[]error{Foreign, fs.ErrPermission}},
		{&Error{Code: Exists, Path: "p"}, "p exists already", []error{Exists, fs.ErrExist}},
		{&Error{Code: NoDirectory, Path: "p"},
			"the directory p is missing and can't be created: the policy does not allow writing there",
			[]error{NoDirectory, fs.ErrNotExist}},
		{&Error{Code: NotDirectory, Path: "p"}, "p is not a directory", []error{NotDirectory}},
		{&Error{Code: IsDirectory, Path: "p"}, "p is a directory", []error{IsDirectory}},
		{notRegularError("p", fs.ModeNamedPipe), "p is a FIFO, not a regular file", []error{NotRegular}},
		{&Error{Code: DirectoryName, Path: "p/"}, "p/ ends in a slash, so it names a directory and not a file",
			[]error{DirectoryName}},
		{&Error{Code: Same, Path: "p", Err: errors.New("q")}, "p and q are the same, or one is inside the other",
			[]error{Same}},
		{tooLargeError("p", 12, 10), "p is 12 bytes long; at most 10 are allowed", []error{TooLarge}},
		{&Error{Code: Busy, Path: "p"}, "p is locked by another process; nothing was changed, try again", []error{Busy}},
		{&Error{Code: Leftover, Path: "p", Err: fmt.Errorf("q now: %w", cause)},
			"p is deleted, but something that was in it can't be; that is in q now: cause", []error{Leftover, cause}},
		{&Error{Code: Unsettled, Path: "p", Err: cause}, "the change of p is made, but it may not be on the disk: cause",
			[]error{Unsettled, cause}},
		{&Error{Code: Torn, Path: "p", Err: cause},
			"p is written in part only; it is finished when this program starts again and the disk takes it: cause",
			[]error{Torn, cause}},
		{&Error{Code: Halfway, Path: "p", Err: cause}, "p is changed already, and could not be changed back: cause",
			[]error{Halfway, cause}},
	} {
		if test.err.Error() != test.says {
			t.Errorf("%q; want %q", test.err, test.says)
		}
		wrapped := fmt.Errorf("wrapped: %w", withFailedFile("file", test.err))
		for _, target := range []error{Refused, Exists, Halfway, fs.ErrPermission, fs.ErrExist, fs.ErrNotExist, cause,
			test.is[0]} {
			want := slices.Contains(test.is, target)
			if errors.Is(wrapped, target) != want {
				t.Errorf("%q is %v: %t", test.err, target, !want)
			}
		}
		if refusal := FindRefusal(wrapped); (refusal != nil) != errors.Is(test.is[0], Refused) {
			t.Errorf("%q: the refusal is %v", test.err, refusal)
		}
		if FailedFile(wrapped) != "file" {
			t.Errorf("%q is about %q", test.err, FailedFile(wrapped))
		}
	}
	if nested := FindRefusal(&Error{Code: Halfway, Path: "p", Err: errors.Join(cause, newRefusal("q", "r",
		"no"))}); nested == nil || nested.Rule != "r" {
		t.Errorf("a refusal that is the cause: %v", nested)
	}
}
