// Package doctor says which walls stand between an agent and this machine, and what would raise the others.
//
// It reads the agent's policy, builds the sandbox that the policy asks for, and has it attacked (isolation/selftest):
// what it reports is what holds, not what is configured. It also says of one path which of the walls would let it
// through.
//
// It must not know how calls are made, nor how what it says is shown.
package doctor
