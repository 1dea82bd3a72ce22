// Package config loads the configuration, checks it, and says where each value came from.
//
// Three layers are merged by koanf, the later one winning: the built-in defaults, one file (JSON with comments, or
// YAML), and the PICOCLAW_* variables. A flag that the caller passes in [Options] stands above them all. What one
// agent sets for itself stands above what is set for all agents, whichever layer either came from, and replaces
// it: lists are not joined. isolation.expose_paths alone is joined, by target.
//
// [Schema] is the table of all keys. The check, the names of the variables, the JSON Schema ([JSONSchema]) and the
// documentation are made from it, so a key that is not in the table does not exist. Whatever is wrong (an unknown
// key, a wrong type, a regular expression that does not compile) is an [Error] that names the place, the full key
// and the cure, and nothing starts; [Check] finds all of them in one go.
//
// The package reads the configuration file and the environment and nothing else. It must not know what a policy
// is, look at workspaces, or know which plugins are installed.
package config
