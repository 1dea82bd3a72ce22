package isolation

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
