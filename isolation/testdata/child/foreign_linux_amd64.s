#include "textflag.h"

// func oldCall(number uint32) int32
TEXT ·oldCall(SB), NOSPLIT, $0-12
	MOVL number+0(FP), AX
	INT $0x80
	MOVL AX, ret+8(FP)
	RET
