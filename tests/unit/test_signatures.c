/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <unistd.h>

#include "probes/signatures.h"

/* Functions of this program are what is looked for. */
#define FUNCTION __attribute__((noinline, used))

typedef int number;
enum color { RED, GREEN = 1000 };
enum sign { MINUS = -1, PLUS = 1 };
struct pair { long a, b; };

static volatile long sink;

FUNCTION static number of_typedefs(const number a, const unsigned short b, volatile signed char c)
{
	sink += a + b + c;
	return (int)sink;
}

FUNCTION static const char *of_addresses(const void *a, const struct pair *b, int (*c)(void))
{
	sink += a == b;
	return c ? "" : NULL;
}

FUNCTION static enum color of_enumerations(enum color a, enum sign b, _Bool c)
{
	sink += (long)a + (long)b + c;
	return RED;
}

FUNCTION static void of_what_is_no_number(double a, struct pair b, unsigned long c)
{
	sink += (long)a + b.a + (long)c;
}

FUNCTION static unsigned char of_many(char a, long b, int c, short d, unsigned int e,
				      unsigned long f, int g)
{
	sink += a + b + c + d + e + (long)f + g;
	return 0;
}

static const char *signature_of(struct signatures *s, const void *function)
{
	static char text[SIGNATURE_TEXT];
	Dl_info info;

	CHECK(dladdr((void *)&sink, &info));
	signatures_find(s, (uintptr_t)function - (uintptr_t)info.dli_fbase, text);
	return text;
}

TEST(own_functions)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_file *f = elf_file_open(fd);
	struct signatures *s = signatures_open(f);

	CHECK(s);
	CHECK_STR(signature_of(s, (void *)of_typedefs), "-4 -4 2 -1 0 0 0");
	CHECK_STR(signature_of(s, (void *)of_addresses), "8 8 8 8 0 0 0");
	CHECK_STR(signature_of(s, (void *)of_enumerations), "4 4 -4 1 0 0 0");
	CHECK_STR(signature_of(s, (void *)of_what_is_no_number), "0 0 0 8 0 0 0");
	CHECK_STR(signature_of(s, (void *)of_many),
		  CHAR_MIN < 0 ? "1 -1 -8 -4 -2 4 8" : "1 1 -8 -4 -2 4 8");
	/* The middle of a function is none. */
	CHECK_STR(signature_of(s, (char *)of_many + 1), "");
	signatures_close(s);
	elf_file_free(f);
	close(fd);
}

int main(void)
{
	RUN(own_functions);
	return TEST_END();
}
