// Package pidfile keeps two daemons off one instance root, and tells others where the one is that runs.
//
// A daemon writes its process id down with [WritePidFile] and holds a lock on the file for as long as it lives. The
// kernel gives the lock back, however the daemon ends. So whether one runs is never guessed from the number: what is
// recorded without a lock is stale, be it of a process that has ended, of another that has got its id since, of the
// first process of a container that was there before (always 1), or no number at all.
//
// It must not know what a daemon does, nor how it is told to stop.
package pidfile
