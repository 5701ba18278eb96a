/* SPDX-License-Identifier: MIT */
/*
 * record_image PID FILE MAPPED > IMAGE: an image (lang_image.h) of the interpreter in FILE, which
 * process PID has mapped as MAPPED, with the frames that it has just now. tests/unit/images/record
 * runs it, and says what the frames have to be.
 */
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/lang_image.h"

static int read_live(void *ctx, uint64_t at, void *dst, size_t n)
{
	struct iovec to = { dst, n }, from = { (void *)at, n };

	return process_vm_readv(*(pid_t *)ctx, &to, 1, &from, 1, 0) == (ssize_t)n ? 0 : -1;
}

/* The bias of the first mapping of @mapped; 0: it is not there. */
static uint64_t bias_of(pid_t pid, const char *mapped)
{
	char path[64], line[512];
	uint64_t start, offset, bias = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	while (f && !bias && fgets(line, sizeof(line), f))
		if (strstr(line, mapped) && sscanf(line, "%lx-%*x %*s %lx", &start, &offset) == 2)
			bias = start - offset;
	if (f)
		fclose(f);
	return bias;
}

static int by_place(const void *a, const void *b)
{
	const struct image_piece *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->n > y->n ? -1 : x->n < y->n;
}

/* Those that touch are one. */
static void put_pieces(const struct image *m)
{
	uint64_t end = 0;

	qsort(m->pieces.v, m->pieces.n, sizeof(*m->pieces.v), by_place);
	for (size_t i = 0; i < m->pieces.n; i++) {
		const struct image_piece *p = &m->pieces.v[i];

		if (p->at + p->n <= end)
			continue;
		if (p->at > end || !end)
			printf("%smemory %lx ", end ? "\n" : "", p->at);
		for (size_t k = p->at < end ? end - p->at : 0; k < p->n; k++)
			printf("%02x", p->bytes[k]);
		end = p->at + p->n;
	}
	puts("");
}

static void put_image(const struct image *m)
{
	const uint8_t *words = (const uint8_t *)m->layout.words;
	size_t n = sizeof(m->layout.words);

	while (n && !words[n - 1])
		n--;
	printf("language %u\nlayout ", m->language);
	for (size_t i = 0; i < n; i++)
		printf("%02x", words[i]);
	printf("\nat %lx %lx %lx %lx\n", m->bias, m->tp, m->fp, m->ip);
	for (size_t i = 0; i < m->nframes; i++)
		printf("frame %u %s\n", m->frames[i].line, m->frames[i].name);
	put_pieces(m);
}

static int recognise(const char *path, struct image *m)
{
	struct elf_file *f = elf_file_open(open(path, O_RDONLY | O_CLOEXEC));
	const struct lang_ops *ops[] = { &lang_ruby, &lang_php, &lang_perl };
	struct lang_image found = { 0 };

	for (size_t i = 0; f && i < sizeof(ops) / sizeof(*ops) && !found.ops; i++)
		ops[i]->recognise(f, path, &found);
	elf_file_free(f);
	m->layout = found.layout;
	m->language = found.ops ? found.ops->language : EBP_LANGUAGE_NONE;
	lang_image_free(&found);
	return m->language ? 0 : -1;
}

int main(int argc, char **argv)
{
	pid_t pid = argc == 4 ? atoi(argv[1]) : 0;
	struct user_regs_struct regs;
	static struct image m = { .live = read_live };

	m.ctx = &pid;
	if (argc != 4 || recognise(argv[2], &m)) {
		fprintf(stderr, "record_image PID FILE MAPPED: not an interpreter\n");
		return 1;
	}
	m.bias = bias_of(pid, argv[3]);
	if (ptrace(PTRACE_ATTACH, pid, 0, 0) || waitpid(pid, NULL, 0) != pid ||
	    ptrace(PTRACE_GETREGS, pid, 0, &regs)) {
		perror("record_image");
		return 1;
	}
	m.tp = regs.fs_base;
	m.fp = regs.r14;
	m.ip = regs.r15;
	image_walk(&m);
	ptrace(PTRACE_DETACH, pid, 0, 0);
	put_image(&m);
	image_free(&m);
	return 0;
}
