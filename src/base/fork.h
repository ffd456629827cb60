/* SPDX-License-Identifier: MIT
 * Detects that this process is a child of the process that created an object. A child that fork() created has only one
 * thread, so threads of the object do not exist, and locks that other threads held are never released.
 */
#pragma once

/* Starts to count calls of fork(); later calls of this function have no effect. Call it before an object is created.
 * Returns 0 or AOE_ENOMEM. */
int aoei_fork_watch(void);
/* Returns the number of calls of fork() that led to this process since aoei_fork_watch was first called. An object
 * stores the number at its creation. */
unsigned aoei_fork_generation(void);
/* If *generation is not aoei_fork_generation, calls renew(object) and sets *generation. Only one thread of a process
 * calls `renew` for an object; other threads wait for it. */
void aoei_fork_renew(_Atomic unsigned *generation, void (*renew)(void *object), void *object);
