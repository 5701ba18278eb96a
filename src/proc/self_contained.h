/* SPDX-License-Identifier: MIT */
/*
 * Whether a program keeps to itself, by what its file tells the dynamic linker (gABI, "Dynamic
 * Linking"): then no interpreter comes with it, and none after it.
 */
#ifndef EBPROF_SELF_CONTAINED_H
#define EBPROF_SELF_CONTAINED_H

struct elf_file;

/*
 * 1: the file @path imports none of the functions that start programs or load libraries, and is
 * linked with the runtimes of C and C++ alone. 0 for any other, for a static one, and for what
 * cannot be read.
 */
int self_contained(const char *path);
/* The same of an open one. */
int self_contained_file(const struct elf_file *f);

#endif
