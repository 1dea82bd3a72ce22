package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
)

// Limits of a comparison: a figure that is worse by more than warnAt is named, one worse by more than failAt fails.
const (
	warnAt = 0.2
	failAt = 0.5
)

// benchResults are figures with the machine and the commit that they were measured on.
type benchResults struct {
	Machine benchMachine       `json:"machine"`
	Commit  string             `json:"commit"`
	Figures map[string]float64 `json:"figures"`
}

type benchMachine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Kernel string `json:"kernel"`
	Go     string `json:"go"`
}

// newEmptyResults returns results without figures for this machine and commit.
func newEmptyResults() (*benchResults, error) {
	r := &benchResults{Machine: benchMachine{CPU: runtime.GOARCH, Cores: runtime.NumCPU(), Go: runtime.Version()},
		Figures: map[string]float64{}}
	cpus, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(cpus)) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			r.Machine.CPU = strings.TrimSpace(value)
			break
		}
	}
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return nil, err
	}
	r.Machine.Kernel = string(bytes.TrimSpace(kernel))
	commit, err := exec.Command("git", "describe", "--always", "--dirty", "--exclude", "*").Output()
	r.Commit = string(bytes.TrimSpace(commit))
	return r, err
}

func (r *benchResults) String() string {
	m := r.Machine
	return fmt.Sprintf("%s, %d CPUs, Linux %s, %s, commit %s", m.CPU, m.Cores, m.Kernel, m.Go, r.Commit)
}

// loadResults reads saved results; none if the file is missing.
func loadResults(file string) (*benchResults, error) {
	r := &benchResults{}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	} else if err == nil {
		err = json.Unmarshal(data, r)
	}
	return r, err
}

// saveResults writes the results. Saved figures of unmeasured parts are kept if they are from this machine.
func (r *benchResults) saveResults(file string, saved *benchResults, unmeasured map[string]bool) error {
	for key, value := range saved.Figures {
		if part, _, _ := strings.Cut(strings.ReplaceAll(key, ".", "/"), "/"); !unmeasured[part] {
			continue
		} else if saved.Machine != r.Machine {
			return fmt.Errorf("%s is of another machine (%v): save all parts", file, saved)
		}
		r.Figures[key] = value
	}
	data, err := json.MarshalIndent(r, "", "  ")
	return errors.Join(err, os.WriteFile(file, append(data, '\n'), 0o644))
}

// compareResults prints figures that are worse than the saved ones. It skips differences of two figures, because it
// compares those two figures.
func compareResults(saved, now *benchResults, all map[string][]benchMetric) error {
	if saved.Machine.CPU != now.Machine.CPU || saved.Machine.Cores != now.Machine.Cores {
		return fmt.Errorf("figures were saved on another machine: %v", saved)
	}
	compared, failed := 0, 0
	for _, key := range slices.Sorted(maps.Keys(now.Figures)) {
		f, before := all[key][0], saved.Figures[key]
		if before <= 0 || f.isDifference() {
			continue
		}
		compared++
		worse := now.Figures[key]/before - 1
		if f.moreIsBetter() {
			worse = before/now.Figures[key] - 1
		}
		if worse > warnAt {
			fmt.Printf("%s: %g, saved %g: worse by %.0f %%\n", key, now.Figures[key], before, 100*worse)
		}
		if worse > failAt {
			failed++
		}
	}
	fmt.Printf("\n%d figures compared with commit %s\n", compared, saved.Commit)
	if failed > 0 {
		return fmt.Errorf("%d figures are worse by more than %.0f %%", failed, 100*failAt)
	}
	return nil
}
