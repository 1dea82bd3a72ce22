package isolation

// Offers is what a machine has, with nothing installed, to build walls of.
type Offers struct {
	Landlock int  // the version of Landlock that the kernel has; 0 for none
	Filter   bool // a filter of system calls for this architecture
}

// LandlockScope is the first version of Landlock that keeps signals and abstract sockets inside.
const LandlockScope = 6
