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

/* The bias of the first mapping of @mapped, and which mapping the thread is in. */
static void find_mappings(pid_t pid, const char *mapped, struct image *m)
{
	char path[64], line[512];
	uint64_t start, end, offset;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) != 3)
			continue;
		if (strstr(line, mapped) && !m->bias)
			m->bias = start - offset;
		if (m->place.pc >= start && m->place.pc < end) {
			m->place.row = start;
			m->place.row_end = end;
		}
	}
	if (f)
		fclose(f);
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
	const struct image_place *l = &m->place;
	size_t n = sizeof(m->layout.words);

	while (n && !words[n - 1])
		n--;
	printf("language %u\nlayout ", m->language);
	for (size_t i = 0; i < n; i++)
		printf("%02x", words[i]);
	if (m->layout.loop_bytes)
		printf("\nloop %llx %x", m->layout.loop, m->layout.loop_bytes);
	printf("\nat %lx %lx %lx %lx\n", m->bias, m->tp, m->fp, m->ip);
	printf("place %lx %lx %lx %lx %lx %lx %lx %lx %lx %lx\n", l->pc, l->sp, l->fp, l->rdi,
	       l->rdx, l->rbx, l->r14, l->r15, l->row, l->row_end);
	for (size_t i = 0; i < m->nframes; i++)
		printf("frame %u %s\n", m->frames[i].line, m->frames[i].name);
	put_pieces(m);
}

static int recognise(const char *path, struct image *m)
{
	struct elf_file *f = elf_file_open(open(path, O_RDONLY | O_CLOEXEC));
	const struct lang_ops *ops[] = { &lang_ruby, &lang_php, &lang_perl, &lang_lua,
					 &lang_luajit };
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
	if (ptrace(PTRACE_ATTACH, pid, 0, 0) || waitpid(pid, NULL, 0) != pid ||
	    ptrace(PTRACE_GETREGS, pid, 0, &regs)) {
		perror("record_image");
		return 1;
	}
	m.tp = regs.fs_base;
	m.fp = regs.r14;
	m.ip = regs.r15;
	m.place = (struct image_place){ .pc = regs.rip, .sp = regs.rsp, .fp = regs.rbp,
					.rdi = regs.rdi, .rdx = regs.rdx, .rbx = regs.rbx,
					.r14 = regs.r14, .r15 = regs.r15 };
	find_mappings(pid, argv[3], &m);
	image_walk(&m);
	ptrace(PTRACE_DETACH, pid, 0, 0);
	put_image(&m);
	image_free(&m);
	return 0;
}
