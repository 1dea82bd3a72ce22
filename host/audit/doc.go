// Package audit keeps the record of every call: one line of JSON each, in files that only their owner can read, and
// reads them again.
//
// Several host processes write to one file at the same time, and one of them rotates it when it is full: a lock on the
// directory has them take turns, and each looks, in its turn, which file is the current one. A record that can't be
// written is kept and written with the next one.
//
// A full file is put aside by one rename, to a name with the time in it. No writer holds on to a file that was put
// aside, so no record is lost or cut in two between several hosts.
//
// Every record ends with a hash of the record before and itself, made under the lock. There is no key: whoever takes
// the host over could use it too. A head that is noted elsewhere does more.
//
// The package must not know how a call is decided or made; it is told, and writes it down.
package audit
