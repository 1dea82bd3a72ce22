package isolation

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/hashicorp/go-hclog"
)

// Config is the operator's configuration of isolation.
type Config struct {
	// Enabled uses namespaces and a mount view.
	Enabled bool
	// Home is the absolute path of PICOCLAW_HOME. It is hidden in sandboxes, except paths named in a profile.
	Home string
	// ExposePaths are host paths visible in every sandbox, if Enabled is set.
	ExposePaths []ExposedPath
	// UseCgroups creates control groups for children whose profile has group limits, if possible. This process may move
	// to another group for that, until Close. See [Starter.CgroupSupport].
	UseCgroups bool
}

// Starter starts isolated processes. It is safe for concurrent use. Close kills all processes it started.
type Starter struct {
	cfg     Config
	log     hclog.Logger
	layout  homeLayout
	starter *processStarter
	null    *os.File

	starting sync.RWMutex // held for reading while a process is started
	closed   bool

	mu        sync.Mutex
	processes map[*Process]struct{}
}

// NewStarter checks cfg against this machine, creates the files it needs, and returns a starter. It returns an
// *UnavailableError if the machine can't isolate, and a *ConfigError if cfg is wrong.
//
// It marks all inherited descriptors above stderr close-on-exec.
func NewStarter(cfg Config, log hclog.Logger) (*Starter, error) {
	return newStarterForMachine(cfg, log, defaultBwrapPaths)
}

// defaultBwrapPaths are possible paths of bubblewrap, best first. PATH is not used, since others may be able to write
// its directories.
var defaultBwrapPaths = []string{"/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"}

func newStarterForMachine(cfg Config, log hclog.Logger, bwrapPaths []string) (*Starter, error) {
	if log == nil {
		log = hclog.NewNullLogger()
	}
	if err := checkHome(cfg); err != nil {
		return nil, err
	}
	rules, err := normalizeExposedPaths(cfg.ExposePaths)
	if err != nil {
		return nil, err
	}
	cfg.ExposePaths = rules
	if err = markCloseOnExec(); err != nil {
		return nil, fmt.Errorf("keep inherited descriptors from children: %w", err)
	}
	i := &Starter{cfg: cfg, log: log, processes: map[*Process]struct{}{}}
	if cfg.Home != "" {
		if i.layout, err = createHomeLayout(cfg.Home); err != nil {
			return nil, err
		}
	}
	if i.null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
		return nil, err
	}
	if i.starter, err = newProcessStarter(cfg, i.layout, log, bwrapPaths); err != nil {
		i.null.Close()
		return nil, err
	}
	return i, nil
}

// checkHome returns an error for a relative home, and for an empty one if isolation is on.
func checkHome(cfg Config) error {
	if filepath.IsAbs(cfg.Home) || (!cfg.Enabled && cfg.Home == "") {
		return nil
	}
	return &ConfigError{
		Key:     "home (PICOCLAW_HOME)",
		Problem: fmt.Sprintf("%q is not an absolute path", cfg.Home),
		Cure:    "set PICOCLAW_HOME to an absolute directory, or HOME so that the default can be found",
	}
}

// Enabled reports whether children run in namespaces with a mount view.
func (i *Starter) Enabled() bool { return i.cfg.Enabled }

// ApplyChildFilterToSelf applies the system call filter of p's children to this process permanently. Children then inherit it,
// which saves most of the start time of commands. The function does nothing if such children have no filter, or if
// bubblewrap installs it. Call it before the first Start.
func (i *Starter) ApplyChildFilterToSelf(p Profile) error { return i.starter.applyFilterToSelf(p) }

// Close kills all processes that Start started, with their descendants, and waits for them. Start fails afterwards.
func (i *Starter) Close() error {
	i.starting.Lock()
	again := i.closed
	i.closed = true
	i.starting.Unlock()
	if again {
		return nil
	}
	i.mu.Lock()
	running := slices.Collect(maps.Keys(i.processes))
	i.mu.Unlock()
	for _, p := range running {
		p.Kill()
	}
	for _, p := range running {
		<-p.done
	}
	i.starter.closeStarter()
	return i.null.Close()
}

// KernelFeatures are the isolation features of this machine.
type KernelFeatures struct {
	Landlock int  // version; 0 for none
	Filter   bool // system call filter for this architecture
}

// LandlockScope is the first Landlock version that confines signals and abstract sockets.
const LandlockScope = 6

// CgroupSupport describes the effect of control groups on this machine.
type CgroupSupport struct {
	Bounds []string // limited resources: "processes", "memory", "processor"
	Kill   bool     // the kernel can kill a whole group
	// Cause says why groups are missing or limit only some resources; Cure is the remedy, if any.
	Cause, Cure string
	Never       bool // impossible on this machine
}

// PathAccess is the access that the kernel allows a process to a path.
type PathAccess struct {
	Read, Write bool
	Why         string // deciding mount or rule
}

// AccessOf returns the access that a process with profile p has to an absolute path without symlinks.
func AccessOf(cfg Config, p Profile, path string) (PathAccess, error) {
	p, err := p.normalizeProfile()
	if err != nil {
		return PathAccess{}, err
	}
	if cfg.ExposePaths, err = normalizeExposedPaths(cfg.ExposePaths); err != nil {
		return PathAccess{}, err
	}
	if err := checkAbsolutePath(path); err != nil {
		return PathAccess{}, err
	}
	if p.UserEnv && cfg.Home != "" {
		p.ReadWrite = append(p.ReadWrite, UserEnvDir(cfg.Home, p.UserEnvID))
	}
	if cfg.Home != "" {
		p.Hide = append(p.Hide, cfg.Home)
	}
	return accessOf(cfg, p, path)
}

// ErrClosed is returned by Start after Close.
var ErrClosed = errors.New("isolation is closed and starts no processes")

// UnavailableError means that this machine can't provide the requested isolation. The process is then not started.
type UnavailableError struct {
	Cause string // what is missing or denied
	Cure  string // remedy
	Err   error  // cause; may be nil
}

func (e *UnavailableError) Error() string {
	text := "isolation is not available: " + e.Cause
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	if e.Cure != "" {
		text += "; " + e.Cure
	}
	return text
}

func (e *UnavailableError) Unwrap() error { return e.Err }

// ConfigError is a mistake in the configuration.
type ConfigError struct {
	Key     string // such as isolation.expose_paths[0].mode
	Problem string // what is wrong with its value
	Cure    string // what to write instead
}

func (e *ConfigError) Error() string {
	return fmt.Sprintf("%s: %s; %s", e.Key, e.Problem, e.Cure)
}

// ProfileError means that a profile can't be turned into a sandbox.
type ProfileError struct {
	Profile string // its name
	Path    string // the path concerned, if any
	Problem string
	Cure    string
}

func (e *ProfileError) Error() string {
	text := "isolation profile " + e.Profile
	if e.Path != "" {
		text += ": " + fmt.Sprintf("%q", e.Path)
	}
	text += " " + e.Problem
	if e.Cure != "" {
		text += "; " + e.Cure
	}
	return text
}

// SetupError means that the sandbox failed before its program started. bubblewrap wrote the reason to stderr.
type SetupError struct {
	Profile string
	Exit    ExitStatus
	Err     error // an *UnavailableError if no sandbox can be built here
}

func (e *SetupError) Error() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return fmt.Sprintf("the sandbox of %s ended before its program started (%s); see its standard error", e.Profile,
		e.Exit)
}

// Unwrap returns the reason why this machine can't build sandboxes; nil if it can.
func (e *SetupError) Unwrap() error { return e.Err }

// ExitError is returned by Run if the program fails.
type ExitError struct {
	Exit ExitStatus
}

func (e *ExitError) Error() string {
	if e.Exit.Exceeded != "" {
		return "it was ended: it used " + e.Exit.Exceeded
	}
	return e.Exit.String()
}
