package isolation

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/hashicorp/go-hclog"
)

// Config is the operator's part of isolation.
type Config struct {
	// Enabled switches namespaces and the mount view on.
	Enabled bool
	// Home is the instance root, an absolute path. Nothing below it is
	// visible in a sandbox, unless a profile names it.
	Home string
	// ExposePaths are host paths that every sandbox sees besides its
	// profile's. They matter only when Enabled is set.
	ExposePaths []ExposePath
	// Groups has control groups made for children whose profile bounds one,
	// where this process may make any. For that it may move itself to another
	// group, until Close. See Isolation.Groups.
	Groups bool
}

// Isolation starts processes. It is safe for concurrent use. Close ends it and
// every process that it started.
type Isolation struct {
	cfg      Config
	log      hclog.Logger
	layout   layout
	platform *platform
	null     *os.File

	starting sync.RWMutex // held for reading while a process is started
	closed   bool

	mu        sync.Mutex
	processes map[*Process]struct{}
}

// Configure checks cfg against this machine and makes what it needs. It
// returns an *Unavailable when the machine cannot isolate, and a *ConfigError
// when cfg is wrong.
//
// It marks every descriptor above standard error close-on-exec, in the whole
// process: what this process inherited from whoever started it is nobody's
// business further down.
func Configure(cfg Config, log hclog.Logger) (*Isolation, error) {
	return configure(cfg, log, defaultMachine())
}

func configure(cfg Config, log hclog.Logger, m machine) (*Isolation, error) {
	if log == nil {
		log = hclog.NewNullLogger()
	}
	if err := checkHome(cfg); err != nil {
		return nil, err
	}
	rules, err := exposeRules(cfg.ExposePaths)
	if err != nil {
		return nil, err
	}
	cfg.ExposePaths = rules
	if err := closeInherited(); err != nil {
		return nil, fmt.Errorf("keep inherited descriptors from children: %w", err)
	}
	i := &Isolation{cfg: cfg, log: log, processes: map[*Process]struct{}{}}
	if cfg.Home != "" {
		if i.layout, err = newLayout(cfg.Home); err != nil {
			return nil, err
		}
	}
	if i.null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
		return nil, err
	}
	if i.platform, err = newPlatform(cfg, i.layout, log, m); err != nil {
		i.null.Close()
		return nil, err
	}
	return i, nil
}

// checkHome refuses an instance root that depends on the working directory.
func checkHome(cfg Config) error {
	if filepath.IsAbs(cfg.Home) || (!cfg.Enabled && cfg.Home == "") {
		return nil
	}
	return &ConfigError{
		Key:     "instance root (PICOCLAW_HOME)",
		Problem: fmt.Sprintf("%q is not an absolute path", cfg.Home),
		Cure:    "set PICOCLAW_HOME to an absolute directory, or HOME so that the default can be found",
	}
}

// Enabled reports whether children run in namespaces with a mount view.
func (i *Isolation) Enabled() bool { return i.cfg.Enabled }

// FilterSelf puts this process itself, with all its threads, behind the filter of system calls that children with p
// get, for good: children inherit it and are spared one of their own, which takes the kernel longer than all else that
// confines a command (`go test -bench Start ./isolation`). It does nothing where such children get no filter, or
// bubblewrap sets it. Call it before the first Start.
func (i *Isolation) FilterSelf(p Profile) error { return i.platform.filterSelf(p) }

// Close ends every process that Start began, with its whole tree, and waits
// until they are gone. Start fails afterwards.
func (i *Isolation) Close() error {
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
	i.platform.close()
	return i.null.Close()
}
