package isolation

// Offers is what a machine has, with nothing installed, to build walls of.
type Offers struct {
	Landlock int  // the version of Landlock that the kernel has; 0 for none
	Filter   bool // a filter of system calls for this architecture
}

// LandlockScope is the first version of Landlock that keeps signals and abstract sockets inside.
const LandlockScope = 6

// Groups says what control groups do on this machine.
type Groups struct {
	Bounds []string // what they bound: "processes", "memory", "processor"
	Kill   bool     // the kernel ends all of a group in one step
	// Cause says why there are none or why they do not bound all; Cure what would change that, if anything.
	Cause, Cure string
	Never       bool // the machine can't have them, whatever is configured
}

// Reach is what a process could do with one path, as far as the kernel's wall goes.
type Reach struct {
	Read, Write bool
	Why         string // what of the wall says so
}

// ReachOf says what a process with a profile could do with a path, which must be absolute and lead through no symbolic
// link. It starts and changes nothing.
func ReachOf(cfg Config, p Profile, path string) (Reach, error) {
	p, err := p.normal()
	if err != nil {
		return Reach{}, err
	}
	if cfg.ExposePaths, err = exposeRules(cfg.ExposePaths); err != nil {
		return Reach{}, err
	}
	if err := checkPath(path); err != nil {
		return Reach{}, err
	}
	if p.UserEnv && cfg.Home != "" {
		p.ReadWrite = append(p.ReadWrite, UserEnv(cfg.Home, p.UserEnvID))
	}
	if cfg.Home != "" {
		p.Hide = append(p.Hide, cfg.Home)
	}
	return reach(cfg, p, path)
}
