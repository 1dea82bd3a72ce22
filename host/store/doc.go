// Package store keeps the plugins that an operator has installed: their files below <home>/plugins, and the lock file
// <home>/picoclaw.lock, which says which version of each is the one that runs, what every file of it must be, what the
// operator has granted it, and what is switched off.
//
// What an operator switches off stands in the lock file and not in the configuration, whose file is people's own. It
// can only take away. A host that runs sees it at its next call.
//
// It must not know who may call a tool, how a plugin is started, or how a person is asked.
package store
