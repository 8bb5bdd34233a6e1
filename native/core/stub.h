/* Entry points that need no code of their own, written as tables (native/symbols).
 *
 * The x86-64 calling convention lets a callee ignore its arguments, so one shape serves every signature that returns an
 * int-sized status.
 */
#ifndef VEST_STUB_H
#define VEST_STUB_H

#include "vest.h"

/* Computes into device memory only, or sets something that no answer depends on: success, nothing to do. */
#define VEST_NOOP(name)                                                                                                \
    VEST_EXPORT int name(void);                                                                                        \
    VEST_EXPORT int name(void) { return 0; }

/* Launches kernels. */
#define VEST_LAUNCH(name)                                                                                              \
    VEST_EXPORT int name(void);                                                                                        \
    VEST_EXPORT int name(void)                                                                                         \
    {                                                                                                                  \
        vest_on_kernel_launch();                                                                                       \
        return 0;                                                                                                      \
    }

/* Known by name alone. Never a silent success: recorded, and refused with the library's own "not supported" status. */
#define VEST_UNSUPPORTED(name)                                                                                         \
    VEST_EXPORT int name(void);                                                                                        \
    VEST_EXPORT int name(void)                                                                                         \
    {                                                                                                                  \
        vest_log_unmodelled(VEST_LIBRARY, #name, "refused");                                                           \
        return VEST_REFUSAL;                                                                                           \
    }

/* Another name of an entry point that may be defined in another file: the jump leaves the arguments as they are. */
#define VEST_ALIAS(name, of)                                                                                           \
    __asm__(".pushsection .text\n"                                                                                     \
            ".globl " #name "\n"                                                                                       \
            ".type " #name ", @function\n" #name ":\n"                                                                 \
            "    endbr64\n"                                                                                            \
            "    jmp " #of "@PLT\n"                                                                                    \
            ".size " #name ", .-" #name "\n"                                                                           \
            ".popsection\n");

#endif
