/* SPDX-License-Identifier: MIT */
/*
 * Names without what stands between the angle brackets of their templates or
 * generic types, and without what template functions return:
 *	std::vector<int, std::allocator<int> >::push_back	std::vector<...>::push_back
 *	<alloc::vec::Vec<T> as Drop>::drop			<alloc::vec::Vec<...> as Drop>::drop
 *	void std::sort<int*>(int*, int*)		std::sort<...>(int*, int*)
 * Operators (<, <<, ->, <=>) and what a compiler put in braces stay.
 */
#ifndef EBPROF_SHORT_TEMPLATES_H
#define EBPROF_SHORT_TEMPLATES_H

#include <stddef.h>

/*
 * Writes @name, readable (symbols/demangle.h) but hostile, to @dst. 1, or 0 where there is nothing
 * to shorten, it would not fit, or its brackets do not match; then @dst has no meaning.
 */
int short_templates(const char *name, char *dst, size_t size);

#endif
