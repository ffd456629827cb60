/* SPDX-License-Identifier: MIT
 * Interface between the library and the shim libaoe-mpi.so (mpi/aoe_mpi.c), the only code that includes mpi.h. The
 * library loads the shim at run time, so that one build of the library works with every MPI. The shim moves bytes
 * between two ranks and does nothing else. All functions are called in one thread. If a function fails, it writes one
 * line to text[AOEI_MPI_TEXT].
 */
#pragma once

enum {
    AOEI_MPI_VERSION = 1,     /* changes with every change of this file */
    AOEI_MPI_TEXT = 512,      /* bytes of a message, with its NUL */
    AOEI_MPI_HOST = 256,      /* bytes of the name of a computer, with its NUL */
    AOEI_MPI_SLOTS = 8,       /* number of messages that are sent or received at the same time */
    AOEI_MPI_BYTES = 64 << 20 /* maximum size of a message: the counts of MPI are of type int */
};

/* This process among all processes of the run. */
typedef struct aoei_mpi_world {
    int rank, ranks;
    char host[AOEI_MPI_HOST]; /* name of this computer */
} aoei_mpi_world;

/* A message that was sent or received completely. */
typedef struct aoei_mpi_done {
    int slot;  /* number that `post` returned; -1: a sign of life from the rank `peer` */
    int peer;  /* signs of life: the sender */
    int bytes; /* received messages: number of bytes */
} aoei_mpi_done;

/* The symbol aoe_mpi_shim of the shim. `version` and `built` are the first fields in every version. */
typedef struct aoei_mpi_shim {
    int version;       /* AOEI_MPI_VERSION */
    const char *built; /* the MPI with which the shim was compiled, for messages */
    /* Initializes MPI, unless the program has done it. Returns 0 or -1. */
    int (*open)(aoei_mpi_world *world, char *text);
    /* Starts to send or to receive `bytes` bytes, at most AOEI_MPI_BYTES. Returns the slot of the message, or -1. The
     * data may not be used until `test` has returned the slot. */
    int (*post)(int is_send, int peer, void *data, int bytes, char *text);
    /* Sends a sign of life to a rank. Returns 0 or -1. */
    int (*sign)(int peer, char *text);
    /* Does not wait. Sets done[AOEI_MPI_SLOTS + 1] to the messages that are complete since the last call. Returns their
     * number, or -1. */
    int (*test)(aoei_mpi_done *done, char *text);
    void (*end_all)(int status); /* ends all ranks; does not return */
    int (*close)(char *text);    /* waits for all ranks, and ends MPI, if `open` has started it. Returns 0 or -1 */
} aoei_mpi_shim;
