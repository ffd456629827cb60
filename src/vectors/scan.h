/* SPDX-License-Identifier: MIT
 * Searches the vectors of an index for the k rows with the largest dot products with a query. The rows are read from
 * append-only arrays, which are usually files in memory (mmap): the values, and their codes and signs (codes.h).
 *
 * Exact scan: computes approximate scores from the codes of all rows, with a bound of their error. Then it computes the
 * scores of the rows whose bound reaches the k-th best score. The result, including the bits of the scores, equals that
 * of a scan of the values.
 * Fast scan: computes approximate scores from the signs of all rows. Then it computes the scores of the best
 * candidates.
 *
 * The score of a row is the dot product of the query and the values, accumulated in double (aoei_scan_score) and
 * rounded to float. Results do not depend on the CPU tier, the number of threads or the other queries of a call.
 */
#pragma once

#include "base/context.h"
#include "vectors/scan_query.h"

/* Find the k best rows of each query queries[Q, D] and store them in best[Q, k], from the best to the worst. `order`
 * decides ties between equal scores; NULL: the lower row comes first. If there are fewer than k rows, the remaining
 * neighbors are missing (AOEI_NO_TEXT). Rows with a NaN score are ignored. aoei_scan_fast computes the scores of
 * `candidates` rows per query, or of k rows if k is larger. Errors: AOE_ENUMERIC (a query is not finite), AOE_ENOMEM.
 */
int aoei_scan_exact(const aoe_context *ctx, const aoei_scan *s, const float *queries, size_t Q, size_t k,
                    aoei_order_fn order, void *user, aoei_neighbor *best, aoe_error *err);
int aoei_scan_fast(const aoe_context *ctx, const aoei_scan *s, const float *queries, size_t Q, size_t k,
                   size_t candidates, aoei_order_fn order, void *user, aoei_neighbor *best, aoe_error *err);
