/* SPDX-License-Identifier: MIT */
/*
 * Interned strings: each distinct string is kept once and named by a small
 * number, so that comparing names is comparing integers. Id 0 is "". Pointers
 * stay valid until strtab_free(). The table owns its copies.
 */
#ifndef EBPROF_STRTAB_H
#define EBPROF_STRTAB_H

#include <stddef.h>
#include <stdint.h>

struct strtab;

struct strtab *strtab_new(void);
void strtab_free(struct strtab *t);
/* The id of @s, interned if it is new. */
uint32_t strtab_add(struct strtab *t, const char *s);
const char *strtab_get(const struct strtab *t, uint32_t id);
uint32_t strtab_count(const struct strtab *t);
/* Bytes of memory that it takes, about. */
size_t strtab_bytes(const struct strtab *t);

#endif
