package main

import "fmt"

// oldCall makes a system call as a 32-bit program does.
func oldCall(number uint32) int32

// foreign asks for the process id by the numbers of other architectures: i386, and x32 by a bit in the number.
func foreign(args []string) error {
	if args[0] == "x32" {
		const getpid, x32 = 39, 1 << 30
		fmt.Println(outcome(raw(getpid | x32)))
		return nil
	}
	const getpid = 20
	fmt.Println("process", oldCall(getpid))
	return nil
}
