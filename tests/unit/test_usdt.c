/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "probes/usdt.h"

static struct usdt_argument a;

#if defined(__x86_64__)
TEST(arguments)
{
	static const char all[] = "8@%rdi -4@$-5 1@-20(%rbp) 4@(%r12)  -2@%ax";

	CHECK_EQ(usdt_argument(all, 0, &a), 0);
	CHECK(a.place == USDT_REGISTER && a.size == 8 && !a.is_signed && a.reg == 5);
	CHECK_EQ(usdt_argument(all, 1, &a), 0);
	CHECK(a.place == USDT_CONSTANT && a.size == 4 && a.is_signed && a.offset == -5);
	CHECK_EQ(usdt_argument(all, 2, &a), 0);
	CHECK(a.place == USDT_MEMORY && a.size == 1 && a.reg == 6 && a.offset == -20);
	CHECK_EQ(usdt_argument(all, 3, &a), 0);
	CHECK(a.place == USDT_MEMORY && a.size == 4 && a.reg == 12 && !a.offset);
	CHECK_EQ(usdt_argument(all, 4, &a), 0);
	CHECK(a.place == USDT_REGISTER && a.size == 2 && a.is_signed && a.reg == 0);
	CHECK_EQ(usdt_argument(all, 5, &a), -ENOENT);
	CHECK_EQ(usdt_argument("", 0, &a), -ENOENT);
}

TEST(arguments_that_are_not_known)
{
	static const char *const bad[] = {
		"8@%rzz", "8@8(%rax,%rbx,4)", "3@%rax", "8@", "@%rax", "8@symbol(%rip)", "8@%xmm0",
		"8@$5x", "8@5(", "8@(%rax", "8@-", "99999999999999@%rax",
		"-9223372036854775808@%rax",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK_EQ(usdt_argument(bad[i], 0, &a), -ENOTSUP);
}
#endif

struct seen {
	int n;
	struct usdt_note notes[8];
};

static void take(void *ctx, const struct usdt_note *note)
{
	struct seen *s = ctx;

	if (s->n < 8)
		s->notes[s->n] = *note;
	s->n++;
}

static int notes_of(const char *path, struct seen *s)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;
	struct elf_file *f = elf_file_open(fd);

	*s = (struct seen){ 0 };
	err = f ? usdt_each(f, take, s) : -errno;
	elf_file_free(f);
	close(fd);
	return err;
}

TEST(notes_of_this_program)
{
	struct seen s;

	__asm__ volatile("990: nop\n"
			 ".pushsection .note.stapsdt,\"\",%note\n .balign 4\n"
			 " .4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n"
			 "992: .balign 4\n993: .8byte 990b, 0, 0\n"
			 " .asciz \"own\"\n .asciz \"probe\"\n .asciz \"8@$3\"\n"
			 "994: .balign 4\n.popsection\n");
	CHECK_EQ(notes_of("/proc/self/exe", &s), 0);
	CHECK(s.n >= 1);
	CHECK_STR(s.notes[0].provider, "own");
	CHECK_STR(s.notes[0].name, "probe");
	CHECK_STR(s.notes[0].arguments, "8@$3");
	CHECK(s.notes[0].offset && !s.notes[0].semaphore);
}

TEST(a_file_without_any)
{
	struct seen s;

	CHECK_EQ(notes_of("/bin/true", &s), -ENODATA);
}

int main(void)
{
#if defined(__x86_64__)
	RUN(arguments);
	RUN(arguments_that_are_not_known);
#endif
	RUN(notes_of_this_program);
	RUN(a_file_without_any);
	return TEST_END();
}
