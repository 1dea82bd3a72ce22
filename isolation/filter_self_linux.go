package isolation

import "runtime"

// filterSelf puts this process behind the filter that children with p's needs get, and notes which it is.
func (pl *platform) filterSelf(p Profile) error {
	if !p.Confine || pl.cfg.Enabled {
		return nil // children get none from the thread that starts them
	}
	needs := confinedNeeds(p)
	runtime.LockOSThread() // giving up privileges is the thread's; the filter takes the other threads along
	defer runtime.UnlockOSThread()
	if err := giveUpPrivileges(); err != nil {
		return err
	}
	if err := pl.filter(needs).restrictProcess(); err != nil {
		return err
	}
	pl.behind.Store(&needs)
	return nil
}

// confinedNeeds are those of a child that is confined without a sandbox. The thread itself has to start a process
// behind the filter, so processes can't be refused.
func confinedNeeds(p Profile) filterNeeds {
	return filterNeeds{programs: p.anyProgram(), processes: true, internet: p.Network, apart: p.apart()}
}
