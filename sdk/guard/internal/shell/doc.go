// Package shell interprets a shell command without running it.
//
// It follows the text the way a shell would, statement by statement, keeping what is known of variables, working
// directory, functions, aliases and files written on the way, and tells a [Visitor] about every simple command with
// the arguments that it would get, about every path that the shell itself opens, and about what can't be known.
//
// It knows the shell's language and its builtins. It must not know which programs are dangerous, what their
// arguments mean, or what a policy allows.
package shell
