/* SPDX-License-Identifier: MIT
 * The parts that only the static program has (`make static`): the default model, and errors instead of shared
 * libraries. The linker replaces the functions NAME by __wrap_NAME (option --wrap).
 * - The files of the default model are in the program. If there is no other default model, they are written once to a
 *   folder of the user's cache or, if it cannot be written, of TMPDIR, /tmp or the current directory. Programs map the
 *   weights from there, so that several processes share them.
 * - The library of a static glibc cannot load shared libraries: it needs those of the same release, and otherwise
 *   crashes. dlopen therefore always fails.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aoe.h"

/* clang-format off */
#define FILES(X) X(0, "LICENSE") X(1, "NOTICE") X(2, "README.md") X(3, "aoe.json") X(4, "config.json") \
    X(5, "model.safetensors") X(6, "modules.json") X(7, "special_tokens_map.json") X(8, "tokenizer.json") \
    X(9, "tokenizer_config.json") X(10, "vocab.txt")
/* clang-format on */
#define EMBED(i, name)                                                                                                 \
    __asm__(".section .rodata\n.balign 16\nembedded_" #i ":\n.incbin \"models/aoe-small-en/" name "\"\n"               \
            "embedded_end_" #i ":\n.byte 0\n.text\n");                                                                 \
    extern const char embedded_##i[], embedded_end_##i[];
FILES(EMBED)

typedef struct embedded {
    const char *name, *begin, *end;
} embedded;
#define ROW(i, name) {name, embedded_##i, embedded_end_##i},
static const embedded files[] = {FILES(ROW)};

int __real_aoe_default_model(char *dir, size_t size, aoe_error *err);
int __wrap_aoe_default_model(char *dir, size_t size, aoe_error *err);
void *__wrap_dlopen(const char *name, int flags);
char *__wrap_dlerror(void);

void *__wrap_dlopen(const char *name, int flags) {
    (void)name, (void)flags;
    return NULL;
}

char *__wrap_dlerror(void) {
    static char text[] = "the static program cannot load shared libraries; use the program of the Debian package, of "
                         "the wheel or of `make`, and for that program";
    return text;
}

/* Writes DIR/NAME to path[PATH_MAX]. Returns 0 if it is too long. */
static int join(char *path, const char *dir, const char *name) {
    return snprintf(path, PATH_MAX, "%s/%s", dir, name) < PATH_MAX;
}

/* Returns 1 if `dir` belongs to this user, nobody else may write to it, and it contains all files. */
static int is_complete(const char *dir) {
    struct stat s;
    char path[PATH_MAX];
    if (lstat(dir, &s) || !S_ISDIR(s.st_mode) || s.st_uid != geteuid() || (s.st_mode & 022))
        return 0;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (!join(path, dir, files[i].name) || lstat(path, &s) || !S_ISREG(s.st_mode) ||
            s.st_size != files[i].end - files[i].begin)
            return 0;
    return 1;
}

static int write_file(const char *path, const char *at, const char *end) {
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return 0;
    while (at < end) {
        const ssize_t n = write(fd, at, (size_t)(end - at));
        if (n < 0 && errno != EINTR)
            break;
        at += n > 0 ? n : 0;
    }
    return close(fd) == 0 && at == end;
}

/* Writes the model to a new folder next to `dir`, and renames it. Returns 1 if `dir` is then complete. Another process
 * may do the same at the same time: one of the renames succeeds. */
static int extract(const char *dir) {
    char temporary[PATH_MAX], path[PATH_MAX];
    int good = snprintf(temporary, sizeof temporary, "%s.XXXXXX", dir) < (int)sizeof temporary && mkdtemp(temporary);
    if (!good)
        return 0;
    for (size_t i = 0; good && i < sizeof files / sizeof *files; i++)
        good = join(path, temporary, files[i].name) && write_file(path, files[i].begin, files[i].end);
    if (good && rename(temporary, dir) == 0)
        return is_complete(dir);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (join(path, temporary, files[i].name))
            (void)unlink(path);
    (void)rmdir(temporary);
    return is_complete(dir);
}

/* Creates the folder and its parents. */
static void make_folders(const char *folder) {
    char path[PATH_MAX];
    const size_t n = strlen(folder);
    if (n >= sizeof path)
        return;
    memcpy(path, folder, n + 1);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        (void)mkdir(path, 0700);
        *slash = '/';
    }
    (void)mkdir(path, 0700);
}

int __wrap_aoe_default_model(char *dir, size_t size, aoe_error *err) {
    const int rc = __real_aoe_default_model(dir, size, err);
    const char *chosen = getenv("AOE_MODEL"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char folders[5][PATH_MAX] = {"", "", "", "/tmp", "."}, path[PATH_MAX];
    if (rc != AOE_ENOENT || (chosen && *chosen))
        return rc;
    if (cache && *cache == '/')
        (void)join(folders[0], cache, "aoe");
    if (home && *home == '/')
        (void)join(folders[1], home, ".cache/aoe");
    if (getenv("TMPDIR"))
        (void)snprintf(folders[2], PATH_MAX, "%s", getenv("TMPDIR"));
    for (size_t i = 0; i < 5; i++) {
        if (!*folders[i])
            continue;
        if (i < 2)
            make_folders(folders[i]);
        const int n =
            snprintf(path, sizeof path, "%s/aoe-small-en-" AOE_VERSION "-%u", folders[i], (unsigned)geteuid());
        if (n < (int)sizeof path && (size_t)n < size && (is_complete(path) || extract(path))) {
            memcpy(dir, path, (size_t)n + 1);
            return 0;
        }
    }
    return rc; /* the error of the search */
}
