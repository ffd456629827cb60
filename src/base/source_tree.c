/* SPDX-License-Identifier: MIT
 * Defines the path of the source tree, which the Makefile passes to the compiler.
 */
#include "base/source_tree.h"

#ifndef AOEI_SOURCE_TREE
#define AOEI_SOURCE_TREE ""
#endif

const char aoei_source_tree[] = AOEI_SOURCE_TREE;
