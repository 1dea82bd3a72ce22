// Package catalog knows which plugins and tools there are, from their manifests alone: it runs nothing.
//
// A schema in a manifest stays text until somebody needs it: to connect, or to start a plugin, takes no reading of
// schemas.
//
// It must not know who may use them, how a plugin is started, or what a call decides.
package catalog
