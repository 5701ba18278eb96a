/* SPDX-License-Identifier: MIT */
/*
 * The smallest test frame that serves: a test is a function, CHECK tells what
 * was expected and goes on, and main ends with TEST_END().
 *
 *	TEST(parses_a_line) { CHECK(maps_parse_line(...) == 0); }
 *	int main(void) { RUN(parses_a_line); return TEST_END(); }
 *
 * The last line is "NAME: N passed, N failed", which tests/run adds up.
 */
#ifndef EBPROF_TEST_H
#define EBPROF_TEST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int test_passed, test_failed, test_ok;

/* A frame of its own each: main's would have to hold what all of them have. */
#define TEST(name) __attribute__((noinline)) static void name(void)

#define CHECK(cond) do { \
	if (!(cond)) { \
		test_ok = 0; \
		printf("%s:%d: expected %s\n", __FILE__, __LINE__, #cond); \
	} \
} while (0)

#define CHECK_EQ(a, b)                                                                            \
	do {                                                                                      \
		long long a_ = (long long)(a), b_ = (long long)(b);                               \
		if (a_ != b_) {                                                                   \
			test_ok = 0;                                                              \
			printf("%s:%d: %s is %lld, expected %s = %lld\n", __FILE__, __LINE__, #a, \
			       a_, #b, b_);                                                       \
		}                                                                                 \
	} while (0)

#define CHECK_STR(a, b)                                                                          \
	do {                                                                                     \
		const char *a_ = (a), *b_ = (b);                                                 \
		if (!a_ || strcmp(a_, b_)) {                                                     \
			test_ok = 0;                                                             \
			printf("%s:%d: %s is \"%s\", expected \"%s\"\n", __FILE__, __LINE__, #a, \
			       a_ ? a_ : "(null)", b_);                                          \
		}                                                                                \
	} while (0)

#define RUN(name) do { \
	test_ok = 1; \
	name(); \
	test_ok ? test_passed++ : test_failed++; \
	if (!test_ok) \
		printf("FAIL %s\n", #name); \
} while (0)

/* Where a file has tests of another architecture alone, none has run. */
#define TEST_END() \
	((void)test_ok, \
	 printf("%s: %d passed, %d failed\n", __FILE__, test_passed, test_failed), \
	 test_failed != 0)

#endif
