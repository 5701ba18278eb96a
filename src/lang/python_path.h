/* SPDX-License-Identifier: MIT */
/* Files of Python's code, as they are shown. */
#ifndef EBPROF_PYTHON_PATH_H
#define EBPROF_PYTHON_PATH_H

/*
 * The part of @file behind the entry of sys.path that it was found below, as "asyncio/events.py";
 * @file itself where that is not known. Known are the folders that CPython's own site module
 * enters, by their names: an entry of the program's own looks like any other folder.
 */
const char *python_module_path(const char *file);

#endif
