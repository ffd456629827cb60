/* SPDX-License-Identifier: MIT
 * Checks the path of a model by the names of files. No file is opened.
 */
#include "base/model_path.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/path.h"

/* Returns 1 if `name` ends with `end` in upper or lower case. */
static int has_ending(const char *name, const char *end) {
    const size_t len = strlen(name), n = strlen(end);
    return len > n && !strcasecmp(name + len - n, end);
}

const char *aoei_foreign_format(const char *name) {
    static const struct {
        const char *ending, *format;
    } formats[] = {{".gguf", "GGUF"},
                   {".ggml", "GGML"},
                   {".onnx", "ONNX"},
                   {".tflite", "TensorFlow Lite"},
                   {".h5", "TensorFlow"},
                   {".msgpack", "Flax"},
                   {".ckpt", "PyTorch Lightning"}};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (has_ending(name, formats[i].ending))
            return formats[i].format;
    return NULL;
}

static int is_archive(const char *name) {
    static const char *const endings[] = {".zip", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst", ".7z"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (has_ending(name, endings[i]))
            return 1;
    return 0;
}

int aoei_check_model_dir(const char *path, aoe_error *err) {
    const char *format = aoei_foreign_format(path);
    if (!aoei_exists(path))
        return aoei_fail(err, AOE_ENOENT,
                         "%s: no such directory; give the path of a model directory (config.json, model.safetensors, "
                         "tokenizer files), or the name ORG/NAME of a model that aoe pull downloaded",
                         path);
    if (aoei_is_dir(path))
        return 0;
    if (format)
        return aoei_fail(
            err, AOE_EARG,
            "%s has the format %s, which aoe does not read; give the directory of a model in the format of Hugging "
            "Face (config.json, model.safetensors, tokenizer files)",
            path, format);
    if (is_archive(path))
        return aoei_fail(err, AOE_EARG, "%s is an archive; unpack it and give the model directory in it", path);
    return aoei_fail(err, AOE_EARG, "%s is a file; give its directory", path);
}
