#include "textflag.h"

// The Landlock launcher; see landlock_launcher_linux.go. Its code is copied into another program, so it calls nothing.
// Its data is in the table after the code:
//
//	 0  the attributes of the ruleset, 24 bytes
//	24  the program's path
//	32  the message when a call fails
//	40  the length of the message
//	48  the rules, each the path and the rights; a path of 0 ends them
//
// R12 is the table, R13 the ruleset, R14 the rule at hand, R15 the stack as the kernel made it: argc, argv, environment.
TEXT ·landlockLauncherText(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ SP, R15
	MOVQ $0x401000, R12

	MOVQ $444, AX // landlock_create_ruleset(attributes, 24, 0)
	MOVQ R12, DI
	MOVQ $24, SI
	XORL DX, DX
	SYSCALL
	TESTQ AX, AX
	JLT  fail
	MOVQ AX, R13
	LEAQ 48(R12), R14

rule:
	MOVQ 0(R14), SI
	TESTQ SI, SI
	JEQ  restrict
	MOVQ $257, AX // openat(AT_FDCWD, path, O_PATH|O_NOFOLLOW|O_CLOEXEC, 0)
	MOVQ $-100, DI
	MOVQ $0x2a0000, DX
	XORL R10, R10
	SYSCALL
	TESTQ AX, AX
	JLT  fail
	MOVQ AX, BX

	MOVQ 8(R14), DX // struct landlock_path_beneath_attr, below the stack
	MOVQ DX, -16(R15)
	MOVL BX, -8(R15)
	MOVQ $445, AX // landlock_add_rule(ruleset, LANDLOCK_RULE_PATH_BENEATH, attr, 0)
	MOVQ R13, DI
	MOVQ $1, SI
	LEAQ -16(R15), DX
	XORL R10, R10
	SYSCALL
	TESTQ AX, AX
	JNE  fail

	MOVQ $3, AX // close(path)
	MOVQ BX, DI
	SYSCALL
	ADDQ $16, R14
	JMP  rule

restrict:
	MOVQ $446, AX // landlock_restrict_self(ruleset, 0)
	MOVQ R13, DI
	XORL SI, SI
	SYSCALL
	TESTQ AX, AX
	JNE  fail
	MOVQ $3, AX // close(ruleset)
	MOVQ R13, DI
	SYSCALL

	MOVQ 24(R12), DI // execve(program, argv, environment), with the program's path for argv[0]
	MOVQ DI, 8(R15)
	LEAQ 8(R15), SI
	MOVQ 0(R15), DX
	LEAQ 16(R15)(DX*8), DX
	MOVQ $59, AX
	SYSCALL

fail:
	MOVQ $1, AX // write(2, complaint, length)
	MOVQ $2, DI
	MOVQ 32(R12), SI
	MOVQ 40(R12), DX
	SYSCALL
	MOVQ $231, AX // exit_group(126)
	MOVQ $126, DI
	SYSCALL
	INT  $3

	BYTE $'e'; BYTE $'n'; BYTE $'d'; BYTE $' '
	BYTE $'o'; BYTE $'f'; BYTE $' '; BYTE $'s'
	BYTE $'t'; BYTE $'a'; BYTE $'g'; BYTE $'e'
	BYTE $' '; BYTE $' '; BYTE $' '; BYTE $' '

// func landlockLauncherCodeAddress() uintptr
TEXT ·landlockLauncherCodeAddress(SB), NOSPLIT, $0-8
	LEAQ ·landlockLauncherText(SB), AX
	MOVQ AX, ret+0(FP)
	RET
