package isolation

import (
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// fine is what a restricted process is found to be.
var fine = processRestriction{integrity: lowIntegrity, restricted: true, privileges: 1, inJob: true, killOnClose: true}

func TestMissingRestrictionsAreReported(t *testing.T) {
	if err := fine.verifyRestrictions(); err != nil {
		t.Error(err)
	}
	for what, change := range map[string]func(*processRestriction){
		"integrity level is 0x3000": func(r *processRestriction) { r.integrity = 0x3000 },
		"not restricted":            func(r *processRestriction) { r.restricted = false },
		"5 privileges":              func(r *processRestriction) { r.privileges = 5 },
		"administrator":             func(r *processRestriction) { r.admin = true },
		"not in its job":            func(r *processRestriction) { r.inJob = false },
		"end with picoclaw":         func(r *processRestriction) { r.killOnClose = false },
	} {
		r := fine
		change(&r)
		var cant *UnavailableError
		if err := r.verifyRestrictions(); !errors.As(err, &cant) || !strings.Contains(err.Error(), what) || cant.Cure == "" {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// scripted is a suspended process that notes what is done to it and fails where it is told to.
type scripted struct {
	failAt string
	found  processRestriction
	steps  []string
}

func (s *scripted) step(name string) error {
	s.steps = append(s.steps, name)
	if name == s.failAt {
		return errors.New(name + " failed")
	}
	return nil
}

func (s *scripted) assignToJob() error                           { return s.step("assign") }
func (s *scripted) readRestriction() (processRestriction, error) { return s.found, s.step("examine") }
func (s *scripted) resumeProcess() error                         { return s.step("resume") }
func (s *scripted) terminateProcess()                            { _ = s.step("discard") }

func TestUnverifiedProcessIsTerminated(t *testing.T) {
	for _, c := range []struct {
		failAt     string
		found      processRestriction
		restricted bool
		steps      string
	}{
		{"", fine, true, "assign examine resume"},
		{"", processRestriction{}, false, "assign resume"},
		{"", processRestriction{}, true, "assign examine discard"},
		{"assign", fine, true, "assign discard"},
		{"examine", fine, true, "assign examine discard"},
		{"resume", fine, true, "assign examine resume discard"},
	} {
		s := &scripted{failAt: c.failAt, found: c.found}
		err := confineAndResume(s, c.restricted)
		if got := strings.Join(s.steps, " "); got != c.steps || (err == nil) == strings.HasSuffix(c.steps, "discard") {
			t.Errorf("%+v: %s, %v", c, got, err)
		}
	}
}

func TestAccessRules(t *testing.T) {
	root := filepath.VolumeName(t.TempDir()) + string(filepath.Separator)
	work, docs := filepath.Join(root, "work"), filepath.Join(root, "docs")
	got, err := lowIntegrityRules(Profile{ReadWrite: []string{work}, ReadOnly: []string{docs, root}})
	if want := []lowIntegrityAccess{{work, "rw"}, {docs, "ro"}, {root, "ro"}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v %v", got, err)
	}
	if _, err := lowIntegrityRules(Profile{ReadWrite: []string{root}}); err == nil || !strings.Contains(err.Error(),
		"whole volume") {
		t.Errorf("a whole volume: %v", err)
	}
}

func TestExposedPathsRequireMountView(t *testing.T) {
	if err := refuseExposedPaths(nil); err != nil {
		t.Error(err)
	}
	var wrong *ConfigError
	if err := refuseExposedPaths([]ExposedPath{{Source: "/a"}}); !errors.As(err, &wrong) || !strings.Contains(err.Error(),
		"/a") {
		t.Errorf("%v", err)
	}
}
