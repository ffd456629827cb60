/* SPDX-License-Identifier: MIT
 * Saves, compares and restores the state of the process. The umask and the working directory can be read only by
 * functions that another thread of the program may disturb, so a program opens a transport before it starts threads
 * that use them.
 */
#include "comm/process_state.h"

#include <fcntl.h>
#include <locale.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"

static mode_t read_mask(void) {
    const mode_t mask = umask(077);
    umask(mask);
    return mask;
}

int aoei_process_save(aoei_process_state *s, aoe_error *err) {
    *s = (aoei_process_state){.dir = -1};
    fegetenv(&s->environment);
    for (int i = 1; i < NSIG; i++)
        s->has_action[i] = sigaction(i, NULL, &s->action[i]) == 0;
    s->mask = read_mask();
    s->dir = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    s->locale = aoei_strdup(setlocale(LC_ALL, NULL));
    return s->locale ? 0 : aoei_fail_nomem(err, 0);
}

/* Restores the signal handlers. Returns 1 if one of them had changed. */
static int restore_actions(const aoei_process_state *s) {
    int changed = 0;
    for (int i = 1; i < NSIG; i++) {
        struct sigaction now;
        if (!s->has_action[i] || sigaction(i, NULL, &now))
            continue;
        if (now.sa_flags == s->action[i].sa_flags && now.sa_handler == s->action[i].sa_handler)
            continue;
        changed = 1;
        sigaction(i, &s->action[i], NULL);
    }
    return changed;
}

/* Returns to the saved working directory. Returns 1 if it had changed. */
static int restore_dir(const aoei_process_state *s) {
    struct stat saved, now;
    if (s->dir < 0 || fstat(s->dir, &saved))
        return 0;
    if (!stat(".", &now) && now.st_dev == saved.st_dev && now.st_ino == saved.st_ino)
        return 0;
    (void)!fchdir(s->dir);
    return 1;
}

int aoei_process_restore(aoei_process_state *s) {
    int changed = restore_actions(s) + restore_dir(s);
    if (read_mask() != s->mask) {
        umask(s->mask);
        changed++;
    }
    const char *locale = setlocale(LC_ALL, NULL);
    if (s->locale && locale && strcmp(locale, s->locale) != 0) {
        setlocale(LC_ALL, s->locale);
        changed++;
    }
    fesetenv(&s->environment);
    if (s->dir >= 0)
        close(s->dir);
    aoei_free(s->locale);
    s->dir = -1;
    s->locale = NULL;
    return changed;
}
