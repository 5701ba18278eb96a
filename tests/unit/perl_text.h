/* SPDX-License-Identifier: MIT */
/*
 * perl_read_text() of bpf/perl_step.h for memory that is read by perl_read() alone: to the end of
 * the text, or of what can be read.
 */
#ifndef EBPROF_TEST_PERL_TEXT_H
#define EBPROF_TEST_PERL_TEXT_H

static int perl_read_text(struct perl_env *env, void *dst, uint32_t size, uint64_t address)
{
	uint8_t *to = dst;
	uint32_t n = 0;

	while (n < size - 1 && !perl_read(env, to + n, 1, address + n) && to[n])
		n++;
	to[n] = 0;
	return n ? (int)n + 1 : -1;
}

#endif
