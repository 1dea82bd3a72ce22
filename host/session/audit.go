package session

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/internal/fulldisk"
	"github.com/picoclaw/picoclaw/internal/statefiles"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// auditWriter writes audit entries, and applies the configured reaction to failures.
type auditWriter struct {
	home     string // empty without one
	path     string
	options  audit.LogOptions
	required bool                 // refuse calls that can't be logged
	witness  *audit.WitnessSender // may be nil
	listed   atomic.Bool          // the log is one of the home's state files

	mu  sync.Mutex
	log *audit.Log // nil until it can be opened
}

// openAuditWriter opens the audit log. If logging is optional, it succeeds even if the log can't be opened.
func openAuditWriter(cfg *config.Config, logger hclog.Logger, tell func(context.Context, []byte) error) (*auditWriter, error) {
	settings := cfg.Audit()
	size, err := config.ParseSize(settings.MaxSize)
	if err != nil {
		return nil, fmt.Errorf("audit.max_size: %w", err)
	}
	a := &auditWriter{
		path:     audit.LogPath(cfg.Home().Path),
		options:  audit.LogOptions{MaxSize: size, MaxFiles: int(settings.MaxFiles), SyncEach: settings.Sync == "always"},
		required: settings.OnError == "refuse",
	}
	if !cfg.Home().Fallback {
		a.home = cfg.Home().Path
	}
	if _, err := a.openLog(); err != nil && a.required {
		return nil, err
	}
	if settings.Witness != "" || tell != nil {
		a.witness = audit.StartWitnessSender(a.path, audit.WitnessOptions{
			To: settings.Witness, Send: tell,
			Records:   int(settings.WitnessRecords),
			Interval:  time.Duration(settings.WitnessSeconds) * time.Second,
			OnFailure: func(err error) { logger.Error("calls continue without a witness", "error", err) },
		})
	}
	return a, nil
}

// openLog returns the log. It opens the log if earlier attempts failed.
func (a *auditWriter) openLog() (*audit.Log, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.log == nil {
		var err error
		if a.log, err = audit.OpenLog(a.path, a.options); err != nil {
			return nil, err
		}
	}
	return a.log, nil
}

func (a *auditWriter) writeEntry(r audit.Record) error {
	log, err := a.openLog()
	if err != nil {
		return err
	}
	if err := log.Write(r); err != nil {
		return err
	}
	if a.home != "" && !a.listed.Load() {
		a.listed.Store(statefiles.AddToList(a.home, a.path) == nil) // the next record tries again
	}
	a.witness.CountEntry()
	return nil
}

func (a *auditWriter) checkWritable() error {
	log, err := a.openLog()
	if err != nil {
		return err
	}
	return log.EnsureWritable()
}

// Close closes the log and sends its last hash to the witness, a server that remembers such hashes.
func (a *auditWriter) Close() error {
	defer a.witness.Close()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.log == nil {
		return nil
	}
	return a.log.Close()
}

// refusalIfAuditUnwritable returns the result that refuses a call while the audit log can't be written; nil if it can.
func (s *Session) refusalIfAuditUnwritable() *Result {
	m, err := s.host.initRuntime()
	if err != nil || !m.audit.required {
		return nil // the call itself reports this error
	}
	if err := m.audit.checkWritable(); err != nil {
		s.host.logger.Error("calls are refused, because they can't be logged", "error", err)
		return m.audit.unwritableLogResult("the call did not run, because it could not be logged", err)
	}
	return nil
}

// logCallBegin writes the begin of a call to the audit log. It returns a refusal if that fails and logging is required.
func (s *Session) logCallBegin(a *auditWriter, r audit.Record) *Result {
	err := a.writeEntry(r)
	if err == nil {
		return nil
	}
	s.host.logger.Error("the begin of a call could not be logged", "tool", r.Tool, "agent", r.Agent, "error", err)
	if !a.required {
		return nil
	}
	return a.unwritableLogResult("the call did not run, because it could not be logged", err)
}

// logCallEnd writes a finished call to the audit log. It returns the result, or an error if that fails.
func (s *Session) logCallEnd(r audit.Record, result *Result, ran bool) *Result {
	s.host.logger.Debug("call", "agent", r.Agent, "origin", r.Origin, "tool", r.Tool, "args", r.Args, "decision", r.Decision,
		"rule", r.Rule, "ms", r.Millis)
	if s.host.options.OnCallEnd != nil {
		s.host.options.OnCallEnd(r, result)
	}
	m, err := s.host.initRuntime()
	if err != nil {
		return result // the call was refused already
	}
	err = m.audit.writeEntry(r)
	if err == nil {
		return result
	}
	s.host.logger.Error("a call could not be recorded", "tool", r.Tool, "agent", r.Agent, "decision", r.Decision, "error",
		err)
	if !m.audit.required {
		return result
	}
	outcome := "the call did not run, because it could not be logged"
	if ran {
		outcome = "the call ran but could not be logged, so its result is withheld"
	} else if r.WasDenied() {
		outcome = "the call was refused, and that could not be recorded"
	}
	refused := m.audit.unwritableLogResult(outcome, err)
	refused.Duration = result.Duration
	return refused
}

// unwritableLogRule is the rule of calls that do not run because their log entry can't be written.
const unwritableLogRule = "audit.on_error"

func (a *auditWriter) unwritableLogResult(what string, err error) *Result {
	remedy := fmt.Sprintf("make %s writable", a.path)
	if fulldisk.IsFullDiskError(err) {
		remedy = fulldisk.Remedy
	}
	return &Result{Err: &Error{
		Code:    pluginpb.CodeUnavailable,
		Message: fmt.Sprintf("%s: %v", what, err),
		Rule:    unwritableLogRule,
		Hint:    remedy + "; audit.on_error = \"continue\" runs calls without an entry",
	}}
}

// approvalAnswerWord returns the word for a person's answer in the audit log: yes or no.
func approvalAnswerWord(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
