/* SPDX-License-Identifier: MIT
 * Runs a program with limits and collects its output.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"
#include "base/buffer.h"

typedef struct aoei_command {
    const char *program;          /* absolute path of the program */
    const char *const *argv;      /* arguments; argv[0] is the name of the program; ends with NULL */
    double seconds;               /* time until the program is killed */
    size_t memory;                /* maximum address space in bytes */
    size_t output_limit;          /* maximum number of bytes of its output */
    int (*cancelled)(void *user); /* polled; a value other than 0 ends the program; may be NULL */
    void *user;
    /* results */
    aoei_buffer output; /* what the program wrote to its standard output; freed by the caller */
    char errors[1024];  /* the end of what it wrote to its standard error, terminated by NUL */
    int status;         /* as of waitpid, if `end` is AOEI_COMMAND_EXITED */
    enum {
        AOEI_COMMAND_EXITED,
        AOEI_COMMAND_TIME,    /* killed: it ran too long */
        AOEI_COMMAND_OUTPUT,  /* killed: it wrote too much */
        AOEI_COMMAND_NO_START /* it could not be started; `status` is the error number */
    } end;
} aoei_command;

/* Runs the program until it ends or must be killed. Its whole process group is gone when the function returns, except
 * processes that left the group. Errors: AOE_EIO (no process or pipe can be created), AOE_ENOMEM, AOE_ECANCELLED. */
int aoei_command_run(aoei_command *c, aoe_error *err);
