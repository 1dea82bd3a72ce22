package session

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// auditor keeps the record of calls as it is configured.
type auditor struct {
	path    string
	options audit.Options
	refuse  bool           // calls that can't be recorded are not made
	witness *audit.Witness // nil for none

	mu  sync.Mutex
	log *audit.Log // nil while it can't be opened
}

// openAudit opens the log. Where calls go on without a record, so does a host whose log can't be opened.
func openAudit(cfg *config.Config, logger hclog.Logger, tell func(context.Context, []byte) error) (*auditor, error) {
	settings := cfg.Audit()
	size, err := config.ParseSize(settings.MaxSize)
	if err != nil {
		return nil, fmt.Errorf("audit.max_size: %w", err)
	}
	a := &auditor{
		path:    audit.File(cfg.Home().Path),
		options: audit.Options{MaxSize: size, MaxFiles: int(settings.MaxFiles), SyncEach: settings.Sync == "always"},
		refuse:  settings.OnError == "refuse",
	}
	if _, err := a.opened(); err != nil && a.refuse {
		return nil, err
	}
	if settings.Witness != "" || tell != nil {
		a.witness = audit.NewWitness(a.path, audit.WitnessOptions{
			To: settings.Witness, Tell: tell,
			Records: int(settings.WitnessRecords),
			Every:   time.Duration(settings.WitnessSeconds) * time.Second,
			Failed:  func(err error) { logger.Error("calls go on without a witness", "error", err) },
		})
	}
	return a, nil
}

// opened returns the log, after opening it if that has not worked so far.
func (a *auditor) opened() (*audit.Log, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.log == nil {
		var err error
		if a.log, err = audit.Open(a.path, a.options); err != nil {
			return nil, err
		}
	}
	return a.log, nil
}

func (a *auditor) write(r audit.Record) error {
	log, err := a.opened()
	if err != nil {
		return err
	}
	if err := log.Write(r); err != nil {
		return err
	}
	a.witness.Wrote()
	return nil
}

func (a *auditor) ready() error {
	log, err := a.opened()
	if err != nil {
		return err
	}
	return log.Ready()
}

// Close closes the log, and tells its witness.
func (a *auditor) Close() error {
	defer a.witness.Close()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.log == nil {
		return nil
	}
	return a.log.Close()
}

// auditRefusal is the result of a call that is not made because the audit log can't take it; nil if it can.
func (s *Session) auditRefusal() *Result {
	m, err := s.host.ready()
	if err != nil || !m.audit.refuse {
		return nil // without what calls need, the call itself says so
	}
	if err := m.audit.ready(); err != nil {
		s.host.logger.Error("calls are refused, as they can't be recorded", "error", err)
		return m.audit.refusal("the call was not made, since it could not be recorded", err)
	}
	return nil
}

// writeBegin adds the begin of a call to the audit log. It returns the result of a call that is not made since that can't
// be written; nil for a call that is.
func (s *Session) writeBegin(a *auditor, r audit.Record) *Result {
	err := a.write(r)
	if err == nil {
		return nil
	}
	s.host.logger.Error("the begin of a call could not be recorded", "tool", r.Tool, "agent", r.Agent, "error", err)
	if !a.refuse {
		return nil
	}
	return a.refusal("the call was not made, since it could not be recorded", err)
}

// writeRecord adds a call to the audit log. It returns the call's result, or an error in its place when the record could
// not be written.
func (s *Session) writeRecord(r audit.Record, result *Result) *Result {
	if s.host.observe != nil {
		s.host.observe(r, result)
	}
	m, err := s.host.ready()
	if err != nil {
		return result // nothing was called, and the caller has been told why
	}
	err = m.audit.write(r)
	if err == nil {
		return result
	}
	s.host.logger.Error("a call could not be recorded", "tool", r.Tool, "agent", r.Agent, "decision", r.Decision, "error",
		err)
	if !m.audit.refuse {
		return result
	}
	refused := m.audit.refusal("the call was made and could not be recorded, so its result is withheld", err)
	if r.Denied() {
		refused = m.audit.refusal("the call was refused, and that could not be recorded", err)
	}
	refused.Duration = result.Duration
	return refused
}

func (a *auditor) refusal(what string, err error) *Result {
	return &Result{Err: &Error{
		Code:    pluginpb.CodeUnavailable,
		Message: fmt.Sprintf("%s: %v", what, err),
		Rule:    "audit.on_error",
		Hint: fmt.Sprintf("see to it that %s can be written; audit.on_error = \"continue\" goes on without a record",
			a.path),
	}}
}

// yesOrNo is a person's answer as the audit log has it.
func yesOrNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
