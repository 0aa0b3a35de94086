// What this image is, for whoever boots it: an ELF note with the JSON text of MANIFEST_FILE.
    .section .note.corstone-harness, "a", %note
    .balign 4
    .long name_end - name
    .long description_end - description
    .long 1                     // type: manifest
name:
    .asciz "corstone-harness"
name_end:
    .balign 4
description:
    .incbin MANIFEST_FILE
description_end:
    .balign 4

#if defined(__linux__)
    .section .note.GNU-stack, "", %progbits
#endif
