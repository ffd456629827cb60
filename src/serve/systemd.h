/* SPDX-License-Identifier: MIT
 * What a service tells systemd and receives from it, by the plain protocols of sd_listen_fds(3) and sd_notify(3),
 * without libsystemd. All functions do nothing if the process was not started by systemd.
 */
#pragma once

#include "aoe.h"

/* Sets *fd to the listening socket that systemd has passed (socket activation), or to -1 if there is none. Errors:
 * AOE_EARG (the variables LISTEN_PID and LISTEN_FDS are invalid, or there is more than one socket). */
int aoei_systemd_socket(int *fd, aoe_error *err);
/* Each function sends a message to the socket in the variable NOTIFY_SOCKET. They return 0, also if the variable is not
 * set. Errors: AOE_EARG (the variable is invalid), AOE_EIO. */
int aoei_systemd_ready(aoe_error *err);     /* the service is ready, also after reloading */
int aoei_systemd_reloading(aoe_error *err); /* reloading has begun; aoei_systemd_ready ends it */
int aoei_systemd_stopping(aoe_error *err);
/* Sets the status that `systemctl status` prints. */
int aoei_systemd_status(const char *text, aoe_error *err);
