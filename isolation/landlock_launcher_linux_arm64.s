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
// R20 is the table, R21 the ruleset, R22 the rule at hand, R19 the stack as the kernel made it: argc, argv, environment.
TEXT ·landlockLauncherText(SB), NOSPLIT|NOFRAME, $0-0
	MOVD RSP, R19
	MOVD $0x400000, R20
	ADD  $0x1000, R20

	MOVD $444, R8 // landlock_create_ruleset(attributes, 24, 0)
	MOVD R20, R0
	MOVD $24, R1
	MOVD $0, R2
	SVC
	TBNZ $63, R0, fail
	MOVD R0, R21
	ADD  $48, R20, R22

rule:
	MOVD 0(R22), R1
	CBZ  R1, restrict
	MOVD $56, R8 // openat(AT_FDCWD, path, O_PATH|O_NOFOLLOW|O_CLOEXEC, 0)
	MOVD $-100, R0
	MOVD $0x280000, R2
	ADD  $0x8000, R2
	MOVD $0, R3
	SVC
	TBNZ $63, R0, fail
	MOVD R0, R23

	MOVD 8(R22), R4 // struct landlock_path_beneath_attr, below the stack
	SUB  $16, R19, R2
	MOVD R4, 0(R2)
	MOVW R23, 8(R2)
	MOVD $445, R8 // landlock_add_rule(ruleset, LANDLOCK_RULE_PATH_BENEATH, attr, 0)
	MOVD R21, R0
	MOVD $1, R1
	MOVD $0, R3
	SVC
	CBNZ R0, fail

	MOVD $57, R8 // close(path)
	MOVD R23, R0
	SVC
	ADD  $16, R22
	B    rule

restrict:
	MOVD $446, R8 // landlock_restrict_self(ruleset, 0)
	MOVD R21, R0
	MOVD $0, R1
	SVC
	CBNZ R0, fail
	MOVD $57, R8 // close(ruleset)
	MOVD R21, R0
	SVC

	MOVD 24(R20), R0 // execve(program, argv, environment), with the program's path for argv[0]
	MOVD R0, 8(R19)
	ADD  $8, R19, R1
	MOVD 0(R19), R2
	ADD  R2<<3, R19, R2
	ADD  $16, R2
	MOVD $221, R8
	SVC

fail:
	MOVD $64, R8 // write(2, complaint, length)
	MOVD $2, R0
	MOVD 32(R20), R1
	MOVD 40(R20), R2
	SVC
	MOVD $94, R8 // exit_group(126)
	MOVD $126, R0
	SVC
	BRK

	WORD $0x20646e65 // "end of stage    "
	WORD $0x7320666f
	WORD $0x65676174
	WORD $0x20202020

// func landlockLauncherCodeAddress() uintptr
TEXT ·landlockLauncherCodeAddress(SB), NOSPLIT, $0-8
	MOVD $·landlockLauncherText(SB), R0
	MOVD R0, ret+0(FP)
	RET
