/* SPDX-License-Identifier: MIT */
/* Lines of CRuby's code: the index of positions and the lines that were sent (bpf/ruby.h). */
#ifndef EBPROF_RUBY_LINES_H
#define EBPROF_RUBY_LINES_H

#include <stddef.h>
#include <stdint.h>

/* The line of word @place of the code; 0: not known. @table: of @size bytes, as it was sent. */
uint32_t ruby_line(const uint8_t *table, size_t size, uint32_t place);

#endif
