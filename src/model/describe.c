/* SPDX-License-Identifier: MIT
 * Implements aoe_model_describe, which writes one line about a model. The line contains the pooling, the data type and
 * the CPU tier, and the reason for each of these three choices. The CPU tier is the instruction set that was selected
 * at run time.
 */
#include "model/describe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/cpu.h"
#include "base/log.h"
#include "encoder/arch.h"
#include "model/model.h"

/* Returns a text that says where the pooling setting comes from. The text is a static string or is written to
 * buf[size]. */
static const char *pooling_reason(const aoe_model *m, char *buf, size_t size) {
    const char *from = m->settings.pooling_from;
    if (!strcmp(from, "option"))
        return "option";
    if (!strcmp(from, "method"))
        return "default of the method";
    if (!strcmp(from, "default"))
        snprintf(buf, size, "default for %s", m->config.arch->model_type);
    else
        snprintf(buf, size, "from %s", from);
    return buf;
}

/* Returns a text with the reason for the choice of the data type. The text is a static string or is written to
 * buf[size]. */
static const char *dtype_reason(const aoe_model *m, char *buf, size_t size) {
    if (m->dtype != AOE_DTYPE_AUTO)
        return "option";
    if (m->config.arch->auto_float32) {
        snprintf(buf, size, "auto: default for %s", m->config.arch->model_type);
        return buf;
    }
    const char *instructions = aoei_tier_bf16(m->ctx->tier);
    if (!instructions)
        return "auto: no bf16 instructions in this CPU tier";
    snprintf(buf, size, "auto: this CPU has %s", instructions);
    return buf;
}

/* Returns a text with the reason for the choice of the CPU tier. The text is a static string or is written to
 * buf[size]. */
static const char *tier_reason(const aoe_model *m, char *buf, size_t size) {
    const char *limit = getenv("AOE_CPU");
    if (!limit || m->ctx->tier == aoei_cpu_detect())
        return "highest of this CPU";
    snprintf(buf, size, "AOE_CPU=%s", limit);
    return buf;
}

void aoe_model_describe(const aoe_model *m, char *text, size_t size) {
    if (!m || !text)
        return;
    char pooling[64], dtype[64], tier[64];
    snprintf(text, size, "pooling: %s (%s); dtype: %s (%s); CPU tier: %s (%s)", aoe_pooling_name(m->settings.pooling),
             pooling_reason(m, pooling, sizeof pooling), aoei_model_computed(m), dtype_reason(m, dtype, sizeof dtype),
             aoei_tier_name(m->ctx->tier), tier_reason(m, tier, sizeof tier));
}

void aoei_model_log_description(const aoe_model *m) {
    char text[512];
    aoe_model_describe(m, text, sizeof text);
    aoei_log_write(&m->ctx->log, AOE_LOG_INFO, "%s", text);
}
