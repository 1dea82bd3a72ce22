package isolation

// machine is what of this machine the sandbox depends on.
type machine struct {
	// bwrap are the places where bubblewrap is looked for, best first. PATH
	// is not asked: whoever can write to a directory in it must not choose
	// the program that builds the sandbox.
	bwrap []string
}

func defaultMachine() machine {
	return machine{bwrap: []string{
		"/usr/bin/bwrap",
		"/bin/bwrap",
		"/usr/local/bin/bwrap",
		"/run/current-system/sw/bin/bwrap",
	}}
}
