/* SPDX-License-Identifier: MIT
 * Writes safetensors files. The header is written first, and then the data of the tensors in the order of the entries.
 * The data is written in pieces of any size, so a model may be larger than memory. The header is padded with spaces, so
 * that the data starts at a multiple of 64 bytes and the tensors of a mapped file are aligned.
 */
#include "modeldir/safetensors_writer.h"

#include <jansson.h>
#include <string.h>

#include "base/alloc.h"
#include "base/atomic_write.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/json.h"

#define DATA_ALIGN 64 /* alignment of the data in bytes */

struct aoei_st_writer {
    aoei_writer out;
    size_t left; /* number of bytes of tensor data that have not been written yet */
};

/* Returns the JSON object for the header of a tensor whose data starts at *offset. Adds the size of the data to
 * *offset. Returns NULL if out of memory or if the size overflows. */
static json_t *describe(const aoei_st_entry *e, size_t *offset) {
    size_t bytes = aoei_st_dtype_size(e->dtype), end;
    json_t *shape = json_array();
    for (size_t i = 0; i < e->n_dims; i++)
        if (aoei_mul_size(bytes, e->shape[i], &bytes) ||
            json_array_append_new(shape, json_integer((json_int_t)e->shape[i])))
            goto fail;
    if (aoei_add_size(*offset, bytes, &end))
        goto fail;
    json_t *v = json_pack("{s:s, s:o, s:[I, I]}", "dtype", aoei_st_dtype_name(e->dtype), "shape", shape, "data_offsets",
                          (json_int_t)*offset, (json_int_t)end);
    *offset = end;
    return v; /* json_pack takes ownership of the shape, even if json_pack fails */
fail:
    json_decref(shape);
    return NULL;
}

/* Appends to b the length of the header and the padded header. Sets *data_bytes to the total size of the data of all
 * tensors. Returns 0 or AOE_ENOMEM. */
static int make_header(aoei_buffer *b, size_t *data_bytes, const aoei_st_entry *entries, size_t n) {
    json_t *root = json_pack("{s:{s:s}}", "__metadata__", "format", "pt");
    aoei_buffer text = {0};
    int rc = AOE_ENOMEM;
    *data_bytes = 0;
    if (!root)
        return rc;
    for (size_t i = 0; i < n; i++)
        if (json_object_set_new(root, entries[i].name, describe(&entries[i], data_bytes)))
            goto done;
    if (aoei_json_append(&text, root, JSON_COMPACT))
        goto done;
    size_t padded = text.len + (DATA_ALIGN - (text.len + 8) % DATA_ALIGN) % DATA_ALIGN;
    for (size_t i = 0; i < 8; i++)
        aoei_buffer_putc(b, (char)(unsigned char)((uint64_t)padded >> (8 * i)));
    aoei_buffer_append(b, text.data, text.len);
    for (size_t i = text.len; i < padded; i++)
        aoei_buffer_putc(b, ' ');
    rc = b->failed ? AOE_ENOMEM : 0;
done:
    aoei_buffer_free(&text);
    json_decref(root);
    return rc;
}

int aoei_st_writer_open(aoei_st_writer **w, const char *path, const aoei_st_entry *entries, size_t n, aoe_error *err) {
    aoei_buffer header = {0};
    int rc = 0;
    *w = aoei_calloc(1, sizeof **w);
    if (!*w || make_header(&header, &(*w)->left, entries, n))
        rc = aoei_fail_nomem(err, n * sizeof *entries);
    if (!rc)
        rc = aoei_writer_open(&(*w)->out, path, err);
    if (!rc)
        rc = aoei_writer_write(&(*w)->out, header.data, header.len, err);
    aoei_buffer_free(&header);
    if (rc) {
        aoei_st_writer_abort(*w);
        *w = NULL;
    }
    return rc;
}

int aoei_st_writer_write(aoei_st_writer *w, const void *data, size_t bytes, aoe_error *err) {
    if (bytes > w->left)
        return aoei_fail(err, AOE_EARG, "%s: %zu more bytes were written than the tensors have", w->out.path,
                         bytes - w->left);
    w->left -= bytes;
    return aoei_writer_write(&w->out, data, bytes, err);
}

int aoei_st_writer_commit(aoei_st_writer *w, aoe_error *err) {
    int rc = w->left ? aoei_fail(err, AOE_EARG, "%s: %zu bytes of the tensors were not written", w->out.path, w->left)
                     : aoei_writer_commit(&w->out, err);
    aoei_st_writer_abort(w);
    return rc;
}

void aoei_st_writer_abort(aoei_st_writer *w) {
    if (!w)
        return;
    aoei_writer_abort(&w->out);
    aoei_free(w);
}
