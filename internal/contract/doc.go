// Package contract says what a plugin's manifest promises that it should not, or leaves unsaid that agents and
// operators need: the part of a plugin's quality that can be read off it without running it. A host takes such a plugin
// all the same; [pluginpb.Manifest.Check] says what it does not take.
//
// It must not know how a plugin is started, nor what an operator grants.
package contract
