package isolation

import (
	"errors"
	"fmt"
	"path/filepath"
)

// lowIntegrity is the relative id of the low integrity level.
const lowIntegrity = 0x1000

// processRestriction is the restriction of a process, as Windows reports it.
type processRestriction struct {
	integrity   uint32 // the relative id of its integrity level
	restricted  bool   // its token has restricting ids
	privileges  int    // number of its token's privileges; one, to traverse directories, is allowed
	admin       bool   // the administrators' group is enabled in its token
	inJob       bool   // it is in our job
	killOnClose bool   // the job is killed when this process ends
}

// verifyRestrictions returns an error if a restriction is missing.
func (r processRestriction) verifyRestrictions() error {
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
	return &UnavailableError{
		Cause: "Windows did not restrict the process",
		Cure:  "set isolation.enabled to false to do without isolation",
		Err:   errors.Join(wrong...),
	}
}

// suspendedChild is a new process before its first instruction.
type suspendedChild interface {
	assignToJob() error
	readRestriction() (processRestriction, error)
	resumeProcess() error
	terminateProcess() // ends the process before it runs
}

// confineAndResume puts a suspended process in its job, verifies its restrictions and resumes it. On failure it
// terminates the process.
func confineAndResume(p suspendedChild, restricted bool) error {
	err := p.assignToJob()
	if err == nil && restricted {
		var found processRestriction
		if found, err = p.readRestriction(); err == nil {
			err = found.verifyRestrictions()
		}
	}
	if err == nil {
		err = p.resumeProcess()
	}
	if err != nil {
		p.terminateProcess()
	}
	return err
}

// lowIntegrityAccess is the access of a low-integrity process to a path.
type lowIntegrityAccess struct {
	path string
	mode string // ModeReadOnly or ModeReadWrite
}

// lowIntegrityRules returns the rules of a profile. It refuses whole volumes: every process at low integrity could then
// write them.
func lowIntegrityRules(p Profile) ([]lowIntegrityAccess, error) {
	var rules []lowIntegrityAccess
	for _, path := range p.ReadWrite {
		if path == filepath.VolumeName(path)+string(filepath.Separator) {
			return nil, &ProfileError{Profile: p.Name, Path: path,
				Problem: "is a whole volume and cannot be writable at low integrity",
				Cure:    "grant a directory, or set isolation.enabled to false"}
		}
		rules = append(rules, lowIntegrityAccess{path, ModeReadWrite})
	}
	for _, path := range p.ReadOnly {
		rules = append(rules, lowIntegrityAccess{path, ModeReadOnly})
	}
	return rules, nil
}

// refuseExposedPaths returns an error if there are rules, for systems without a mount view.
func refuseExposedPaths(rules []ExposedPath) error {
	if len(rules) == 0 {
		return nil
	}
	return &ConfigError{
		Key:     "isolation.expose_paths",
		Problem: fmt.Sprintf("%s cannot be exposed: paths can be exposed on Linux only", rules[0].Source),
		Cure:    "take the rules out",
	}
}
