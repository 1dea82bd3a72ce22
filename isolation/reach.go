package isolation

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
