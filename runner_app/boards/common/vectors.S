// Vector table and the two entry points that cannot be C++: reset (no stack limit and no vector
// unit yet) and fault (the stack may be the culprit).
    .syntax unified
    .arch armv8.1-m.main        // the board's core, whichever one the rest is compiled for
    .thumb

    .section .vectors, "a"
    .global vector_table
vector_table:
    .word stack_top
    .word reset_entry
    .rept 14 + 96               // system exceptions and interrupts; no interrupt is ever taken
    .word fault_entry
    .endr

    .section .boot.reset_entry, "ax"
    .global reset_entry
    .thumb_func
reset_entry:
    cpsid i
    ldr r0, =stack_limit
    msr msplim, r0
    ldr r0, =stack_top
    msr msp, r0
    ldr r0, =0xE000ED08         // VTOR
    ldr r1, =vector_table
    str r1, [r0]
    ldr r0, =0xE000ED88         // CPACR: full access to FPU and MVE
    ldr r1, [r0]
    orr r1, r1, #(0xF << 20)
    str r1, [r0]
    ldr r0, =0xE000ED14         // CCR: a division by zero faults instead of giving 0
    ldr r1, [r0]
    orr r1, r1, #(1 << 4)
#ifndef __ARM_FEATURE_UNALIGNED
    orr r1, r1, #(1 << 3)       // nor does the core that the code is for access unaligned words
#endif
    str r1, [r0]
    dsb
    isb
    mov lr, #-1
    ldr r0, =start              // may be out of the reach of a branch
    bx r0
    .ltorg

    .section .text.fault_entry, "ax"
    .global fault_entry
    .thumb_func
fault_entry:
    tst lr, #4                  // which stack holds the exception frame
    ite eq
    mrseq r0, msp
    mrsne r0, psp
    mrs r1, ipsr
    movs r2, #0
    msr msplim, r2
    ldr r2, =fault_stack_top    // a stack of its own: the frame's may be exhausted
    msr msp, r2
    b fault
    .ltorg
