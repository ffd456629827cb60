/* SPDX-License-Identifier: MIT
 * Lets the disk operations of SQLite fail. After test_sqlite_fault_begin, the operations of SQLite that change the disk
 * are counted together with those of the library (base/io_fault.h), so aoei_io_fail_at makes them fail or kills the
 * process at one of them.
 */
#pragma once

/* Makes SQLite use the file operations of this unit for databases that are opened later. */
void test_sqlite_fault_begin(void);
/* on: 1: from now on, SQLite cannot sync any file; 0: it can again. */
void test_sqlite_fault_sync(int on);
