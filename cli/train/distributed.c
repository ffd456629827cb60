/* SPDX-License-Identifier: MIT
 * Opens and closes the transport of a run on several processes, and decides which rank prints.
 */
#include "cli/train/distributed.h"

#include <time.h>
#include <unistd.h>

#include "base/cpu.h"

enum { NONE, MPI };

static const char *const transports[] = {[NONE] = "none", [MPI] = "mpi", NULL};

const aoei_option cli_distributed_table[CLI_DISTRIBUTED_COUNT] = {
    {.name = "distributed",
     .kind = AOEI_OPTION_CHOICE,
     .value = "TRANSPORT",
     .choices = transports,
     .noun = "transport",
     .offset = offsetof(cli_distributed, transport),
     .help = "train in all processes that mpirun or srun has started, each with some shards of every batch; mpi "
             "needs libaoe-mpi.so (make mpi)"},
};

/* Warns if this rank may use only one of the CPUs of its computer, to which mpirun may have bound it. */
static void check_binding(size_t threads) {
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    if (!threads && cpus > 1 && aoei_cpu_count() == 1)
        cli_warn(
            "a rank may use only 1 of the %ld CPUs of its computer; start mpirun with --bind-to none, or srun with "
            "--cpus-per-task. If this is intended, add --threads 1",
            cpus);
}

int cli_distributed_open(cli_distributed *d, aoe_training_args *args, size_t threads) {
    if (d->transport == NONE) {
        const char *variable = NULL;
        const int copies = aoe_comm_copies(&variable);
        return copies == 1 ? 0
                           : cli_fail("%d copies of this command were started (%s), and all of them would write to %s; "
                                      "add --distributed mpi, or start one copy. If each copy has an output directory "
                                      "of its own, unset %s in its environment",
                                      copies, variable, args->output, variable);
    }
    aoe_error err;
    if (aoe_comm_open(&d->comm, transports[d->transport], &err))
        return cli_fail("%s", err.message);
    args->comm = d->comm;
    if (d->comm->rank) {
        cli_set_quiet(1);
        cli_catch_messages(d->message, sizeof d->message);
    } else if (d->comm->ranks > 1) {
        check_binding(threads);
    }
    return 0;
}

/* Ends all ranks. The ranks that see an error of another rank print one after another, so that usually only the first
 * of them prints before all are ended. A rank that mpirun ends in the meantime prints nothing. */
static void end_all(cli_distributed *d) {
    const double seconds = 4.0 * d->comm->rank / d->comm->ranks;
    const struct timespec pause = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (long)seconds) * 1e9)};
    if (d->comm->rank) {
        const int interrupted = nanosleep(&pause, NULL);
        cli_catch_messages(NULL, 0);
        if (!interrupted && d->message[0])
            cli_message("%s", d->message);
    }
    cli_flush_stdout();
    d->comm->abort(d->comm->self, 1);
}

int cli_distributed_close(cli_distributed *d, int code, int agreed) {
    if (d->comm && code && !agreed)
        end_all(d);
    aoe_comm_close(d->comm);
    d->comm = NULL;
    return code;
}
