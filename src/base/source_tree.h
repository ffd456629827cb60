/* SPDX-License-Identifier: MIT
 * The source tree in which the library was built. It contains the default model, which a program that is linked with
 * libaoe.a cannot find by its own path. A program that must not use it, such as an installed one, defines the variable
 * itself.
 */
#pragma once

extern const char aoei_source_tree[]; /* absolute path; empty: unknown */
