package audit

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/host/audit"
)

// VerifyOptions are the options of `picoclaw audit verify`.
type VerifyOptions struct {
	*cli.Factory
	head, witness string
	output        cli.OutputFormat
}

func NewCmdVerify(f *cli.Factory, runF func(*VerifyOptions) error) *cobra.Command {
	o := &VerifyOptions{Factory: f}
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Verify the hash chain of the audit log",
	}
	f.AddOutputFlag(cmd, &o.output)
	cmd.Flags().StringVar(&o.head, "head", "",
		"earlier head that the log must contain, 64 characters of `hex`")
	cmd.Flags().StringVar(&o.witness, "witness", "", "`file or URL` of the witness that the log must match")
	return cli.SetRunContext(cmd, o, (*VerifyOptions).runVerify, runF)
}

// verifyResult is the JSON output of `picoclaw audit verify`.
type verifyResult struct {
	OK bool `json:"ok"`
	*audit.VerifyResult
	Witness *audit.WitnessReport `json:"witness,omitempty"`
	Broken  *audit.ChainError    `json:"broken,omitempty"`
	Error   string               `json:"error,omitempty"`
}

func (o *VerifyOptions) runVerify(ctx context.Context) error {
	o.head = strings.ToLower(strings.TrimSpace(o.head))
	if sum, err := hex.DecodeString(o.head); err != nil || len(sum) != 0 && len(sum) != 32 {
		return cli.UsageErrorf("--head %q: want the 64 characters that `picoclaw audit verify` prints after \"head\"", o.head)
	}
	cfg, err := loadConfig(o.Factory)
	if err != nil {
		return err
	}
	found, testimony, err := o.verifyLog(ctx, audit.LogPath(cfg.Home().Path))
	var broken *audit.ChainError
	if err != nil && !errors.As(err, &broken) {
		return cli.FailedError(err)
	}
	if err == nil && o.head != "" && !found.HasWanted {
		err = errors.New("no entry has this head: the log was truncated or rewritten since you noted it")
	}
	if testimony != nil && testimony.Notes == 0 && (testimony.Count > 0 || testimony.Invalid > 0) {
		return cli.FailedError(fmt.Errorf("the witness %s is empty or damaged: it has no notes, and %s unreadable", o.witness,
			terminal.Pluralize(testimony.Invalid, "line")))
	}
	if err == nil && testimony != nil && testimony.Verdict != audit.LogMatches {
		err = fmt.Errorf("%s: %s", testimony.Verdict, testimony.Why)
	}
	if o.output == cli.JSON {
		log := verifyResult{OK: err == nil, VerifyResult: found, Witness: testimony, Broken: broken}
		if err != nil {
			log.Error = err.Error()
		}
		return cli.ReportedFailure(err != nil, o.PrintJSON(log))
	}
	if err != nil {
		return cli.FailedError(fmt.Errorf("the audit log was changed: %w", err))
	}
	o.printValidLog(found)
	if testimony != nil {
		fmt.Fprintf(o.Out, "witness: %s: %d of its %s match existing entries\n", testimony.Verdict,
			testimony.Checked, terminal.Pluralize(testimony.Notes, "note"))
		if testimony.Invalid > 0 {
			fmt.Fprintln(o.Out, "note:", terminal.Pluralize(testimony.Invalid, "line"), "of the witness are unreadable")
		}
	}
	return nil
}

// verifyLog verifies the log, and compares it with the witness if there is one.
func (o *VerifyOptions) verifyLog(ctx context.Context, path string) (*audit.VerifyResult, *audit.WitnessReport, error) {
	if o.witness == "" {
		found, err := audit.VerifyLog(path, o.head)
		return found, nil, err
	}
	notes, err := audit.ReadWitnessNotes(ctx, o.witness)
	if err != nil {
		return nil, nil, err
	}
	return notes.VerifyLog(path, o.head)
}

// printValidLog shows the result for a valid log.
func (o *VerifyOptions) printValidLog(v *audit.VerifyResult) {
	out := terminal.NewWriter(o.Out)
	if v.Records == 0 {
		fmt.Fprintln(out, out.Paint(terminal.Good, "ok:"), "the audit log is empty")
		return
	}
	const day = "2006-01-02 15:04:05"
	fmt.Fprintln(out, out.Paint(terminal.Good, "ok:"), terminal.Pluralize(v.Records, "entry"), "in", terminal.Pluralize(v.Files, "file")+",",
		v.From.Local().Format(day), "to", v.To.Local().Format(day))
	if v.Head != "" {
		fmt.Fprintln(out, "head:", v.Head)
	}
	for _, note := range []struct {
		holds bool
		text  string
	}{
		{!v.Whole && v.Unchained == 0, "older files are missing: removed by audit.max_files, or deleted"},
		{v.Unchained > 0, terminal.Pluralize(v.Unchained, "entry") +
			" without a hash chain: changes to these are not detected"},
		{len(v.Open) > 0, terminal.Pluralize(len(v.Open), "call") + " without an end: running, or picoclaw was killed"},
		{v.Cut > 0, terminal.Pluralize(v.Cut, "line") + " truncated, for example by a power failure: " + strings.Join(v.CutLines, ", ")},
	} {
		if note.holds {
			fmt.Fprintln(out, out.Paint(terminal.Doubt, "note:"), note.text)
		}
	}
	for _, r := range v.Open {
		fmt.Fprintln(out, " ", r.Time.Local().Format(day), r.Agent, r.Session, r.Tool, terminal.CleanLine(describeCall(r)))
	}
}
