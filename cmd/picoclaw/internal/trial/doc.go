// Package trial tries a plugin out, as its author or an operator wants before anybody relies on it: what its manifest
// says, and then, in a host of its own with a workspace to throw away, whether the program keeps to it.
//
// It must not know whether the plugin is installed anywhere, or how what it finds is shown.
package trial
