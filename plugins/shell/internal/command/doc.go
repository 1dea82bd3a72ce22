// Package command starts commands and ends them for certain. It must not know tools, calls or agents.
package command
