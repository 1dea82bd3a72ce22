// Package serve is what a plugin's process does with the plugin: it answers the wire's calls, and the command line of a
// person who starts it by hand. It must not know how authors write tools, nor how hosts decide.
package serve
