/* SPDX-License-Identifier: MIT
 * Computes all eigenvalues and eigenvectors of a real symmetric matrix in double precision. The matrix is reduced to
 * tridiagonal form by Householder reflections and then diagonalized by the QL algorithm with implicit shifts (Wilkinson
 * and Reinsch 1971; Golub and Van Loan, section 8.3). The absolute error is a small multiple of the rounding error of
 * the largest eigenvalue. The result is a pure function of the matrix and does not depend on the number of threads.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"
#include "base/pool.h"

/* Computes the eigenvalues and eigenvectors of a. a: [n, n] matrix, which must be symmetric and contain only finite
 * values. The function overwrites a: row i becomes the eigenvector of value[i], with norm 1. The first component of
 * largest magnitude of each eigenvector is positive. value: [n] eigenvalues in descending order. Errors: AOE_ENOMEM,
 * AOE_ENUMERIC if the matrix is not finite or QL does not converge. */
int aoei_eigen_symmetric(double *a, double *value, size_t n, aoei_pool *pool, aoe_error *err);
