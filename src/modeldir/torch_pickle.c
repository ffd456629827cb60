/* SPDX-License-Identifier: MIT
 * The machine that executes the pickle program of a PyTorch file. It has a stack of values, a stack of marks, and a
 * memo, which is an array of values. Tuples, lists and dicts are stored in an array of containers; values refer to them
 * by index, so a list that is filled after it was stored in the memo is seen with its elements. The memory that the
 * machine uses is proportional to the length of the program.
 */
#include "modeldir/torch_pickle.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"

#define MAX_PROGRAM ((size_t)64 << 20) /* maximum length of the program in bytes */
#define MAX_MARKS   64                 /* maximum number of marks at one time */

typedef enum kind {
    NONE,
    BOOL,
    INT,
    FLOAT,
    STRING,
    TUPLE,   /* index: container */
    LIST,    /* index: container */
    DICT,    /* index: container, with keys and values in alternation */
    GLOBAL,  /* index: element of `globals` */
    STORAGE, /* index: element of machine.storages */
    TENSOR   /* index: element of machine.tensors */
} kind;

typedef struct value {
    kind kind;
    uint32_t length; /* STRING: bytes */
    union {
        int64_t integer;    /* INT, BOOL */
        const char *string; /* STRING: text in the program, without a terminating NUL */
        size_t index;       /* other kinds: see above */
    } of;
} value;

typedef struct container {
    value *items; /* [n] owned */
    size_t n, capacity;
} container;

typedef struct storage {
    size_t global; /* index of its class in `globals` */
    value key;     /* STRING */
    size_t elements;
} storage;

/* What a function or class of the program means. */
typedef enum meaning { ORDERED_DICT, REBUILD_TENSOR, REBUILD_PARAMETER, STORAGE_CLASS } meaning;

/* The functions and classes that a program may use. dtype and width: data type of a storage. */
static const struct {
    const char *module, *name;
    meaning meaning;
    const char *dtype;
    size_t width;
} globals[] = {{"collections", "OrderedDict", ORDERED_DICT, NULL, 0},
               {"torch._utils", "_rebuild_tensor", REBUILD_TENSOR, NULL, 0}, /* PyTorch before version 0.4 */
               {"torch._utils", "_rebuild_tensor_v2", REBUILD_TENSOR, NULL, 0},
               {"torch._utils", "_rebuild_parameter", REBUILD_PARAMETER, NULL, 0},
               {"torch", "FloatStorage", STORAGE_CLASS, "F32", 4},
               {"torch", "DoubleStorage", STORAGE_CLASS, "F64", 8},
               {"torch", "HalfStorage", STORAGE_CLASS, "F16", 2},
               {"torch", "BFloat16Storage", STORAGE_CLASS, "BF16", 2},
               {"torch", "LongStorage", STORAGE_CLASS, "I64", 8},
               {"torch", "IntStorage", STORAGE_CLASS, "I32", 4},
               {"torch", "ShortStorage", STORAGE_CLASS, "I16", 2},
               {"torch", "CharStorage", STORAGE_CLASS, "I8", 1},
               {"torch", "ByteStorage", STORAGE_CLASS, "U8", 1},
               {"torch", "BoolStorage", STORAGE_CLASS, "BOOL", 1}};

enum { GLOBALS = sizeof globals / sizeof *globals };

typedef struct machine {
    const unsigned char *data; /* [size] program, borrowed */
    size_t size, at;           /* at: position of the next byte */
    const char *path;          /* name of the file in messages, borrowed */
    aoe_error *err;

    value *stack; /* [depth] owned */
    size_t depth, stack_capacity;
    size_t marks[MAX_MARKS], n_marks; /* depths of the stack at which marks were set */
    value *memo;                      /* [n_memo] owned */
    size_t n_memo, memo_capacity;
    container *containers; /* [n_containers] owned */
    size_t n_containers, containers_capacity;
    storage *storages; /* [n_storages] owned */
    size_t n_storages, storages_capacity;
    aoei_torch_view *tensors; /* [n_tensors] without names; owned */
    size_t n_tensors, tensors_capacity;
} machine;

/* ---------------------------------------------------------------- errors and memory */

static int damaged(const machine *m, const char *what) {
    return aoei_fail(m->err, AOE_EFORMAT,
                     "%s: the PyTorch file is damaged: at byte %zu of its pickle program, %s; download it again",
                     m->path, m->at, what);
}

static int unsupported(const machine *m, const char *what) {
    return aoei_fail(
        m->err, AOE_EUNSUPPORTED,
        "%s: the pickle program of the file contains %s; only a dict of tensors can be read; save the model in "
        "safetensors format",
        m->path, what);
}

/* Returns a pointer to a new element at the end of an array of *n elements, or NULL if memory allocation fails. */
static void *append(const machine *m, void **items, size_t *capacity, size_t *n, size_t bytes) {
    if (aoei_grow(items, capacity, *n, bytes)) {
        aoei_fail_nomem(m->err, bytes);
        return NULL;
    }
    return (char *)*items + (*n)++ * bytes;
}

static int push(machine *m, value v) {
    value *top = append(m, (void **)&m->stack, &m->stack_capacity, &m->depth, sizeof v);
    if (!top)
        return AOE_ENOMEM;
    *top = v;
    return 0;
}

/* Removes the value at the top of the stack. A mark is not removed. */
static int pop(machine *m, value *v) {
    const size_t lowest = m->n_marks ? m->marks[m->n_marks - 1] : 0;
    if (m->depth <= lowest)
        return damaged(m, "a value is missing");
    *v = m->stack[--m->depth];
    return 0;
}

/* Returns the value at the top of the stack, or NULL if there is none above the last mark. */
static value *top_of(machine *m) {
    const size_t lowest = m->n_marks ? m->marks[m->n_marks - 1] : 0;
    return m->depth > lowest ? &m->stack[m->depth - 1] : NULL;
}

static int push_index(machine *m, kind k, size_t index) {
    return push(m, (value){.kind = k, .of.index = index});
}

static int push_container(machine *m, kind k) {
    container *c = append(m, (void **)&m->containers, &m->containers_capacity, &m->n_containers, sizeof *c);
    if (!c)
        return AOE_ENOMEM;
    *c = (container){0};
    return push_index(m, k, m->n_containers - 1);
}

/* Appends items[n] to a container. */
static int extend(machine *m, size_t index, const value *items, size_t n) {
    container *c = &m->containers[index];
    for (size_t i = 0; items && i < n; i++) {
        value *added = append(m, (void **)&c->items, &c->capacity, &c->n, sizeof *added);
        if (!added)
            return AOE_ENOMEM;
        *added = items[i];
    }
    return 0;
}

/* ---------------------------------------------------------------- arguments of instructions */

/* Sets *p to the next n bytes of the program. */
static int take(machine *m, const unsigned char **p, size_t n) {
    if (n > m->size - m->at)
        return damaged(m, "the program ends early");
    *p = m->data + m->at;
    m->at += n;
    return 0;
}

/* Reads an unsigned little-endian integer of 1 to 8 bytes. */
static int take_integer(machine *m, uint64_t *v, size_t bytes) {
    const unsigned char *p = NULL;
    const int rc = take(m, &p, bytes);
    *v = 0;
    for (size_t i = 0; i < bytes && !rc; i++)
        *v |= (uint64_t)p[i] << (8 * i);
    return rc;
}

/* Reads a line of the program. *line has *n bytes and no terminating NUL. */
static int take_line(machine *m, const char **line, size_t *n) {
    const unsigned char *first = m->data + m->at, *end = memchr(first, '\n', m->size - m->at);
    if (!end)
        return damaged(m, "a line has no end");
    *line = (const char *)first;
    *n = (size_t)(end - first);
    m->at += *n + 1;
    return 0;
}

static int is_text(const char *s, size_t n, const char *text) {
    return strlen(text) == n && !memcmp(s, text, n);
}

/* ---------------------------------------------------------------- instructions */

static int push_integer(machine *m, size_t bytes, int is_signed) {
    uint64_t v = 0;
    const int rc = take_integer(m, &v, bytes);
    if (is_signed && bytes < 8 && v >> (8 * bytes - 1) & 1)
        v |= ~(uint64_t)0 << (8 * bytes);
    return rc ? rc : push(m, (value){.kind = INT, .of.integer = (int64_t)v});
}

/* LONG1: a signed integer with its number of bytes. */
static int push_long(machine *m) {
    uint64_t bytes = 0;
    int rc = take_integer(m, &bytes, 1);
    if (rc)
        return rc;
    if (bytes > 8)
        return unsupported(m, "an integer of more than 64 bits");
    return bytes ? push_integer(m, (size_t)bytes, 1) : push(m, (value){.kind = INT});
}

static int push_string(machine *m, size_t length_bytes) {
    const unsigned char *p = NULL;
    uint64_t n = 0;
    int rc = take_integer(m, &n, length_bytes);
    if (!rc)
        rc = take(m, &p, (size_t)n);
    return rc ? rc : push(m, (value){.kind = STRING, .length = (uint32_t)n, .of.string = (const char *)p});
}

/* GLOBAL: a function or class, given as two lines. */
static int push_global(machine *m) {
    const char *module = NULL, *name = NULL;
    size_t module_len = 0, name_len = 0;
    int rc;
    if ((rc = take_line(m, &module, &module_len)) || (rc = take_line(m, &name, &name_len)))
        return rc;
    for (size_t i = 0; i < GLOBALS; i++)
        if (is_text(module, module_len, globals[i].module) && is_text(name, name_len, globals[i].name))
            return push_index(m, GLOBAL, i);
    char what[160];
    snprintf(what, sizeof what, "the function or class '%.*s.%.*s'", (int)(module_len < 60 ? module_len : 60), module,
             (int)(name_len < 60 ? name_len : 60), name);
    return unsupported(m, what);
}

static int set_mark(machine *m) {
    if (m->n_marks == MAX_MARKS)
        return damaged(m, "too many marks are set");
    m->marks[m->n_marks++] = m->depth;
    return 0;
}

/* Removes the last mark. Sets *items to the values above the mark, which are removed from the stack, and *n to their
 * number. They are valid until the next value is pushed. */
static int pop_mark(machine *m, const value **items, size_t *n) {
    if (!m->n_marks)
        return damaged(m, "a mark is missing");
    const size_t first = m->marks[--m->n_marks];
    *items = m->stack ? m->stack + first : NULL; /* NULL: no value was pushed before */
    *n = m->depth - first;
    m->depth = first;
    return 0;
}

/* Replaces the last n values of the stack, which `items` points to, by a tuple of them. */
static int push_tuple(machine *m, const value *items, size_t n) {
    container *c = append(m, (void **)&m->containers, &m->containers_capacity, &m->n_containers, sizeof *c);
    if (!c)
        return AOE_ENOMEM;
    *c = (container){0};
    const size_t index = m->n_containers - 1;
    const int rc = extend(m, index, items, n);
    return rc ? rc : push_index(m, TUPLE, index);
}

/* TUPLE1, TUPLE2, TUPLE3: a tuple of the last n values. */
static int push_short_tuple(machine *m, size_t n) {
    value v = {0};
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++)
        rc = pop(m, &v);
    return rc ? rc : push_tuple(m, m->stack + m->depth, n);
}

/* Appends items[n], which are no longer on the stack, to the list or dict at the top of the stack. */
static int fill(machine *m, kind k, const value *items, size_t n) {
    const value *target = top_of(m);
    if (!target || target->kind != k)
        return damaged(m, k == LIST ? "the target of an element is not a list" : "the target of an item is not a dict");
    if (k == DICT && n % 2)
        return damaged(m, "a dict has a key without a value");
    return extend(m, target->of.index, items, n);
}

/* APPEND and SETITEM: one element of a list, or one key and value of a dict. */
static int fill_one(machine *m, kind k) {
    const size_t n = k == LIST ? 1 : 2;
    value v[2] = {{0}};
    int rc = 0;
    for (size_t i = n; i-- > 0 && !rc;)
        rc = pop(m, &v[i]);
    return rc ? rc : fill(m, k, v, n);
}

/* APPENDS and SETITEMS: all values above the last mark. */
static int fill_all(machine *m, kind k) {
    const value *items = NULL;
    size_t n = 0;
    const int rc = pop_mark(m, &items, &n);
    return rc ? rc : fill(m, k, items, n);
}

static int store(machine *m, size_t bytes) {
    uint64_t index = 0;
    const value *v = top_of(m);
    const int rc = take_integer(m, &index, bytes);
    if (rc)
        return rc;
    if (!v)
        return damaged(m, "a value is missing");
    /* each of the values that were stored before needed an instruction of at least two bytes */
    if (index > m->at)
        return damaged(m, "an index of the memo is too large");
    while (m->n_memo <= index) {
        value *added = append(m, (void **)&m->memo, &m->memo_capacity, &m->n_memo, sizeof *added);
        if (!added)
            return AOE_ENOMEM;
        *added = (value){0};
    }
    m->memo[index] = *v;
    return 0;
}

static int load(machine *m, size_t bytes) {
    uint64_t index = 0;
    const int rc = take_integer(m, &index, bytes);
    if (rc)
        return rc;
    return index < m->n_memo ? push(m, m->memo[index]) : damaged(m, "an index of the memo has no value");
}

/* ---------------------------------------------------------------- storages and tensors */

/* Returns item i of a tuple if it has kind k; otherwise NULL. */
static const value *item(const machine *m, const value *tuple, size_t i, kind k) {
    const container *c = &m->containers[tuple->of.index];
    return i < c->n && c->items[i].kind == k ? &c->items[i] : NULL;
}

/* Returns 1 if the value is a key that names a record data/KEY. */
static int is_key(const value *v) {
    int valid = v && v->length > 0 && v->length <= AOEI_TORCH_MAX_KEY;
    for (size_t i = 0; valid && i < v->length; i++) {
        const char c = v->of.string[i];
        valid = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    }
    return valid;
}

/* BINPERSID: replaces the tuple ("storage", class, key, location, number of elements) by a storage. Before PyTorch 1.6,
 * the tuple also contains None, or a tuple if the storage is a part of another storage. */
static int make_storage(machine *m) {
    value id = {0};
    int rc = pop(m, &id);
    if (rc)
        return rc;
    if (id.kind != TUPLE)
        return unsupported(m, "a persistent id that is not a storage");
    const value *tag = item(m, &id, 0, STRING), *type = item(m, &id, 1, GLOBAL), *key = item(m, &id, 2, STRING),
                *elements = item(m, &id, 4, INT);
    if (!tag || !is_text(tag->of.string, tag->length, "storage") || !type ||
        globals[type->of.index].meaning != STORAGE_CLASS)
        return unsupported(m, "a persistent id that is not a storage");
    if (item(m, &id, 5, TUPLE))
        return unsupported(m, "a storage that is a part of another storage");
    if (!is_key(key) || !elements || elements->of.integer < 0)
        return damaged(m, "a storage has no valid key or number of elements");
    storage *s = append(m, (void **)&m->storages, &m->storages_capacity, &m->n_storages, sizeof *s);
    if (!s)
        return AOE_ENOMEM;
    *s = (storage){type->of.index, *key, (size_t)elements->of.integer};
    return push_index(m, STORAGE, m->n_storages - 1);
}

/* Reads a tuple of non-negative integers into out[AOEI_TORCH_MAX_DIMS]. */
static int read_sizes(machine *m, const value *tuple, size_t *out, size_t *n) {
    const container *c = &m->containers[tuple->of.index];
    if (c->n > AOEI_TORCH_MAX_DIMS)
        return unsupported(m, "a tensor of more than 8 dimensions");
    *n = c->n;
    for (size_t i = 0; i < c->n; i++) {
        if (c->items[i].kind != INT || c->items[i].of.integer < 0)
            return damaged(m, "a tensor has an invalid size or stride");
        out[i] = (size_t)c->items[i].of.integer;
    }
    return 0;
}

/* _rebuild_tensor_v2(storage, offset, size, stride, ...) */
static int make_tensor(machine *m, const value *arguments) {
    const value *of = item(m, arguments, 0, STORAGE), *offset = item(m, arguments, 1, INT),
                *size = item(m, arguments, 2, TUPLE), *stride = item(m, arguments, 3, TUPLE);
    aoei_torch_view t = {0};
    size_t n_strides = 0;
    int rc;
    if (!of || !offset || offset->of.integer < 0 || !size || !stride)
        return damaged(m, "a tensor has invalid arguments");
    if ((rc = read_sizes(m, size, t.shape, &t.n_dims)) || (rc = read_sizes(m, stride, t.stride, &n_strides)))
        return rc;
    if (n_strides != t.n_dims)
        return damaged(m, "a tensor has a different number of sizes and strides");
    const storage *s = &m->storages[of->of.index];
    t.dtype = globals[s->global].dtype;
    t.width = globals[s->global].width;
    memcpy(t.key, s->key.of.string, s->key.length);
    t.elements = s->elements;
    t.offset = (size_t)offset->of.integer;
    aoei_torch_view *added = append(m, (void **)&m->tensors, &m->tensors_capacity, &m->n_tensors, sizeof t);
    if (!added)
        return AOE_ENOMEM;
    *added = t;
    return push_index(m, TENSOR, m->n_tensors - 1);
}

/* REDUCE and NEWOBJ: calls a function with a tuple of arguments. */
static int call(machine *m) {
    value arguments = {0}, function = {0};
    int rc;
    if ((rc = pop(m, &arguments)) || (rc = pop(m, &function)))
        return rc;
    if (function.kind != GLOBAL || arguments.kind != TUPLE)
        return damaged(m, "a call has no function or no arguments");
    switch (globals[function.of.index].meaning) {
    case ORDERED_DICT:
        return m->containers[arguments.of.index].n ? unsupported(m, "an OrderedDict with arguments")
                                                   : push_container(m, DICT);
    case REBUILD_TENSOR:
        return make_tensor(m, &arguments);
    case REBUILD_PARAMETER: {
        const value *tensor = item(m, &arguments, 0, TENSOR);
        return tensor ? push(m, *tensor) : damaged(m, "a parameter has no tensor");
    }
    case STORAGE_CLASS:
        break;
    }
    return unsupported(m, "a call of a storage class");
}

/* BUILD: the attributes of a dict, such as _metadata, are dropped. */
static int drop_attributes(machine *m) {
    value state = {0};
    const int rc = pop(m, &state);
    const value *target = top_of(m);
    if (rc)
        return rc;
    return target && target->kind == DICT ? 0 : unsupported(m, "an object with attributes");
}

static int push_tuple_to_mark(machine *m) {
    const value *items = NULL;
    size_t n = 0;
    const int rc = pop_mark(m, &items, &n);
    return rc ? rc : push_tuple(m, items, n);
}

/* PROTO: the version of the protocol. */
static int check_protocol(machine *m) {
    uint64_t version = 0;
    const int rc = take_integer(m, &version, 1);
    return rc ? rc : version == 2 ? 0 : unsupported(m, "a pickle protocol other than 2");
}

static int push_float(machine *m) {
    const unsigned char *p = NULL;
    const int rc = take(m, &p, 8); /* the values are not used */
    return rc ? rc : push(m, (value){.kind = FLOAT});
}

/* Executes the instruction `code`. */
static int execute(machine *m, unsigned char code) {
    switch (code) {
    case 0x80:
        return check_protocol(m);
    case 'c':
        return push_global(m);
    case '(':
        return set_mark(m);
    case ')':
        return push_container(m, TUPLE);
    case 't':
        return push_tuple_to_mark(m);
    case 0x85:
    case 0x86:
    case 0x87:
        return push_short_tuple(m, (size_t)(code - 0x84));
    case ']':
        return push_container(m, LIST);
    case 'a':
        return fill_one(m, LIST);
    case 'e':
        return fill_all(m, LIST);
    case '}':
        return push_container(m, DICT);
    case 's':
        return fill_one(m, DICT);
    case 'u':
        return fill_all(m, DICT);
    case 'q':
        return store(m, 1);
    case 'r':
        return store(m, 4);
    case 'h':
        return load(m, 1);
    case 'j':
        return load(m, 4);
    case 'J':
        return push_integer(m, 4, 1);
    case 'K':
        return push_integer(m, 1, 0);
    case 'M':
        return push_integer(m, 2, 0);
    case 0x8a:
        return push_long(m);
    case 'G':
        return push_float(m);
    case 'X':
        return push_string(m, 4);
    case 'U':
        return push_string(m, 1);
    case 'N':
        return push(m, (value){.kind = NONE});
    case 0x88:
    case 0x89:
        return push(m, (value){.kind = BOOL, .of.integer = code == 0x88});
    case 'Q':
        return make_storage(m);
    case 'R':
    case 0x81:
        return call(m);
    case 'b':
        return drop_attributes(m);
    default: {
        char what[64];
        snprintf(what, sizeof what, "the pickle instruction 0x%02x at byte %zu", code, m->at - 1);
        return unsupported(m, what);
    }
    }
}

/* ---------------------------------------------------------------- result */

/* Returns an error if the dict is a training checkpoint, which contains the dict of tensors as one of its values. */
static int check_root(machine *m, const container *root) {
    for (size_t i = 0; i + 1 < root->n; i += 2) {
        const value *key = &root->items[i], *v = &root->items[i + 1];
        if (key->kind == STRING && v->kind == DICT &&
            (is_text(key->of.string, key->length, "state_dict") || is_text(key->of.string, key->length, "model")))
            return aoei_fail(
                m->err, AOE_EUNSUPPORTED,
                "%s: the file is a training checkpoint, whose weights are the value '%.*s'; save only these weights",
                m->path, (int)key->length, key->of.string);
    }
    return 0;
}

/* Copies the tensors of the root dict to p->views. */
static int collect_views(machine *m, const value *root, aoei_torch_program *p) {
    if (root->kind != DICT)
        return unsupported(m, "no dict as its result");
    const container *c = &m->containers[root->of.index];
    int rc = check_root(m, c);
    if (rc)
        return rc;
    p->views = aoei_calloc(c->n / 2 + 1, sizeof *p->views);
    if (!p->views)
        return aoei_fail_nomem(m->err, c->n * sizeof *p->views);
    for (size_t i = 0; i + 1 < c->n && !rc; i += 2) {
        const value *key = &c->items[i], *v = &c->items[i + 1];
        if (key->kind != STRING || v->kind != TENSOR)
            continue;
        if (memchr(key->of.string, 0, key->length)) {
            rc = damaged(m, "the name of a tensor contains NUL");
            break;
        }
        aoei_torch_view *view = &p->views[p->n_views];
        *view = m->tensors[v->of.index];
        view->name = aoei_strndup(key->of.string, key->length);
        rc = view->name ? 0 : aoei_fail_nomem(m->err, key->length);
        p->n_views += !rc;
    }
    return rc;
}

/* Allocates p->storages with n elements. */
static int allocate_storages(const machine *m, aoei_torch_program *p, size_t n) {
    p->storages = aoei_calloc(n + 1, sizeof *p->storages);
    p->n_storages = p->storages ? n : 0;
    return p->storages ? 0 : aoei_fail_nomem(m->err, n * sizeof *p->storages);
}

/* Copies the storages that the program named to p->storages. */
static int collect_storages(const machine *m, aoei_torch_program *p) {
    const int rc = allocate_storages(m, p, m->n_storages);
    for (size_t i = 0; i < m->n_storages && !rc; i++) {
        memcpy(p->storages[i].key, m->storages[i].key.of.string, m->storages[i].key.length);
        p->storages[i].width = globals[m->storages[i].global].width;
    }
    return rc;
}

/* Copies the strings of the root list to p->storages. */
static int collect_keys(machine *m, const value *root, aoei_torch_program *p) {
    if (root->kind != LIST)
        return damaged(m, "the list of storages is missing");
    const container *c = &m->containers[root->of.index];
    int rc = allocate_storages(m, p, c->n);
    for (size_t i = 0; i < c->n && !rc; i++) {
        const value *key = &c->items[i];
        if (key->kind == STRING && is_key(key))
            memcpy(p->storages[i].key, key->of.string, key->length);
        else
            rc = damaged(m, "the key of a storage is not valid");
    }
    return rc;
}

static void machine_free(machine *m) {
    for (size_t i = 0; i < m->n_containers; i++)
        aoei_free(m->containers[i].items);
    aoei_free(m->containers);
    aoei_free(m->stack);
    aoei_free(m->memo);
    aoei_free(m->storages);
    aoei_free(m->tensors);
}

/* Executes the program up to its end, and sets *root to its result. */
static int run(machine *m, value *root) {
    int rc = 0, stopped = 0;
    if (m->size < 2 || m->data[0] != 0x80)
        return damaged(m, "the program does not begin with its protocol");
    while (!rc && !stopped) {
        const unsigned char *code = NULL;
        rc = m->at < MAX_PROGRAM ? take(m, &code, 1) : unsupported(m, "a program of more than 64 MiB");
        stopped = !rc && *code == '.';
        if (!rc && !stopped)
            rc = execute(m, *code);
    }
    return rc ? rc : pop(m, root);
}

int aoei_torch_pickle_read(aoei_torch_program *p, const unsigned char *data, size_t size, const char *path,
                           aoe_error *err) {
    machine m = {.data = data, .size = size, .path = path, .err = err};
    value root = {0};
    *p = (aoei_torch_program){0};
    int rc = run(&m, &root);
    if (!rc)
        rc = collect_views(&m, &root, p);
    if (!rc)
        rc = collect_storages(&m, p);
    p->size = m.at;
    machine_free(&m);
    if (rc)
        aoei_torch_program_free(p);
    return rc;
}

int aoei_torch_pickle_flag(int *flag, size_t *used, const char *key, const unsigned char *data, size_t size,
                           const char *path, aoe_error *err) {
    machine m = {.data = data, .size = size, .path = path, .err = err};
    value root = {0};
    *flag = 0;
    int rc = run(&m, &root);
    if (!rc && root.kind != DICT)
        rc = damaged(&m, "the description of the system is missing");
    const container *c = rc ? NULL : &m.containers[root.of.index];
    for (size_t i = 0; c && i + 1 < c->n; i += 2)
        if (c->items[i].kind == STRING && is_text(c->items[i].of.string, c->items[i].length, key))
            *flag = c->items[i + 1].kind == BOOL && c->items[i + 1].of.integer;
    *used = m.at;
    machine_free(&m);
    return rc;
}

int aoei_torch_pickle_keys(aoei_torch_program *p, const unsigned char *data, size_t size, const char *path,
                           aoe_error *err) {
    machine m = {.data = data, .size = size, .path = path, .err = err};
    value root = {0};
    *p = (aoei_torch_program){0};
    int rc = run(&m, &root);
    if (!rc)
        rc = collect_keys(&m, &root, p);
    p->size = m.at;
    machine_free(&m);
    if (rc)
        aoei_torch_program_free(p);
    return rc;
}

void aoei_torch_program_free(aoei_torch_program *p) {
    for (size_t i = 0; i < p->n_views; i++)
        aoei_free(p->views[i].name);
    aoei_free(p->views);
    aoei_free(p->storages);
    *p = (aoei_torch_program){0};
}
