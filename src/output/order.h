/* SPDX-License-Identifier: MIT */
/* Sorting by small numbers: a counting sort, because there may be millions. */
#ifndef EBPROF_ORDER_H
#define EBPROF_ORDER_H

#include <stddef.h>
#include <stdint.h>

/*
 * Indexes 0..@n-1 ordered by their keys, all below @keys; equal keys keep their order. The caller
 * frees it.
 */
uint32_t *order_by(const uint32_t *key, size_t n, size_t keys);

#endif
