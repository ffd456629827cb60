/* SPDX-License-Identifier: MIT
 * Eigenvalues and eigenvectors of a symmetric matrix, all of them, in double:
 * Householder's tridiagonal form and QL with implicit shifts (Wilkinson and Reinsch
 * 1971; Golub and Van Loan, section 8.3). Errors are a small multiple of the rounding
 * of the largest eigenvalue. The result is a pure function of the matrix: threads do not
 * show in a bit. Not here: matrices that are not symmetric, some eigenvalues alone.
 */
#ifndef AOEI_BASE_EIGEN_H
#define AOEI_BASE_EIGEN_H

#include <stddef.h>

#include "aoe.h"
#include "base/pool.h"

/* a: [n, n], finite and symmetric; on return row i is the eigenvector, of length 1, of value[i]; its component of largest
 * magnitude (the first of equal ones) is positive. value: [n] descending. Errors: AOE_ENOMEM, AOE_ENUMERIC (it is not
 * finite). */
int aoei_eigen_symmetric(double *a, double *value, size_t n, aoei_pool *pool, aoe_error *err);

#endif
