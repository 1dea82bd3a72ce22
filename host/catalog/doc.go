// Package catalog knows which plugins and tools there are, from their manifests alone: it runs nothing.
//
// It must not know who may use them, how a plugin is started, or what a call decides.
package catalog
