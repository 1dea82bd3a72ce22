package isolation

import (
	"errors"
	"fmt"
	"path/filepath"
)

// lowIntegrity is the relative id of the low integrity level. What is above it can't be written by what is at it.
const lowIntegrity = 0x1000

// restriction is what was read back of a process that should be restricted: what was set need not have taken.
type restriction struct {
	integrity   uint32 // the relative id of its integrity level
	restricted  bool   // its token has restricting ids
	privileges  int    // how many its token has; one, to pass through directories, is nobody's loss
	admin       bool   // the administrators' group counts for it
	inJob       bool   // it is in our job
	killOnClose bool   // which ends with us
}

// check says what did not take.
func (r restriction) check() error {
	var wrong []error
	for _, c := range []struct {
		holds bool
		what  string
	}{
		{r.integrity <= lowIntegrity, fmt.Sprintf("its integrity level is %#x and not low", r.integrity)},
		{r.restricted, "its token is not restricted"},
		{r.privileges <= 1, fmt.Sprintf("it has %d privileges", r.privileges)},
		{!r.admin, "it is an administrator"},
		{r.inJob, "it is not in its job"},
		{r.killOnClose, "its job would not end with picoclaw"},
	} {
		if !c.holds {
			wrong = append(wrong, errors.New(c.what))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return &Unavailable{
		Cause: "Windows has not restricted the process as it was told to",
		Cure:  "set isolation.enabled to false to do without isolation",
		Err:   errors.Join(wrong...),
	}
}

// suspended is a process that was created and has not run its first instruction.
type suspended interface {
	assign() error                 // puts it into its job
	examine() (restriction, error) // reads back what it is
	resume() error                 // lets it run
	discard()                      // ends it, as if it had never been
}

// release lets a suspended process run once it is in its job and what was set is found to have taken; otherwise it ends
// without having run.
func release(p suspended, restricted bool) error {
	err := p.assign()
	if err == nil && restricted {
		var found restriction
		if found, err = p.examine(); err == nil {
			err = found.check()
		}
	}
	if err == nil {
		err = p.resume()
	}
	if err != nil {
		p.discard()
	}
	return err
}

// accessRule is what a process at low integrity may do with a directory, beyond reading what its user can read.
type accessRule struct {
	path string
	mode string // ModeReadOnly or ModeReadWrite
}

// accessRules are a profile's. Whole volumes can't be given: whoever is at low integrity, a browser's page for one,
// could write to them afterwards.
func accessRules(p Profile) ([]accessRule, error) {
	var rules []accessRule
	for _, path := range p.ReadWrite {
		if path == filepath.VolumeName(path)+string(filepath.Separator) {
			return nil, &ProfileError{Profile: p.Name, Path: path,
				Problem: "is a whole volume and cannot be writable at low integrity",
				Cure:    "grant a directory, or set isolation.enabled to false"}
		}
		rules = append(rules, accessRule{path, ModeReadWrite})
	}
	for _, path := range p.ReadOnly {
		rules = append(rules, accessRule{path, ModeReadOnly})
	}
	return rules, nil
}

// refuseExposed refuses rules where there is no mount view that could show them.
func refuseExposed(rules []ExposePath) error {
	if len(rules) == 0 {
		return nil
	}
	return &ConfigError{
		Key:     "isolation.expose_paths",
		Problem: fmt.Sprintf("%s cannot be exposed: paths can be exposed on Linux only", rules[0].Source),
		Cure:    "take the rules out",
	}
}
