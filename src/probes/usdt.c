/* SPDX-License-Identifier: MIT */
#include "probes/usdt.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NOTES_MAX (16u << 20)	/* bytes */
#define STAPSDT 3		/* n_type of <sys/sdt.h>, with the name "stapsdt" */
#define OWNER "stapsdt"
#define PADDED(n) (((n) + 3) & ~(size_t)3)

/* The file's place of @vaddr: 0 where none. */
static uint64_t offset_of(const struct elf_file *f, uint64_t vaddr)
{
	const struct elf_segment *all;
	size_t n = elf_file_segments(f, &all);

	for (size_t i = 0; i < n; i++)
		if (all[i].type == PT_LOAD && vaddr - all[i].vaddr < all[i].filesz)
			return all[i].offset + (vaddr - all[i].vaddr);
	return 0;
}

/* A text of the note up to @end, which is then behind it; 0, or -EBADMSG. */
static int take_text(const char **at, const char *end, char out[USDT_TEXT_MAX])
{
	size_t n = strnlen(*at, (size_t)(end - *at));

	if (n == (size_t)(end - *at) || n >= USDT_TEXT_MAX)
		return -EBADMSG;
	memcpy(out, *at, n + 1);
	*at += n + 1;
	return 0;
}

/*
 * The description of a note: three addresses, three texts. @moved: how far the section is from
 * where it was when the addresses were written, by prelink.
 */
static int read_note(const struct elf_file *f, const char *at, size_t size, uint64_t base,
		     struct usdt_note *out)
{
	const char *end = at + size;
	uint64_t words[3], moved;

	memset(out, 0, sizeof(*out));
	if (size < sizeof(words))
		return -EBADMSG;
	memcpy(words, at, sizeof(words));
	at += sizeof(words);
	moved = base && words[1] ? base - words[1] : 0;
	out->offset = offset_of(f, words[0] + moved);
	out->semaphore = words[2] ? offset_of(f, words[2] + moved) : 0;
	if (take_text(&at, end, out->provider) || take_text(&at, end, out->name) ||
	    take_text(&at, end, out->arguments))
		return -EBADMSG;
	return out->offset && *out->name ? 0 : -EBADMSG;
}

int usdt_each(const struct elf_file *f, usdt_take *take, void *ctx)
{
	const struct elf_section *s = elf_file_section(f, ".note.stapsdt");
	const struct elf_section *base = elf_file_section(f, ".stapsdt.base");
	struct usdt_note note;
	size_t size, at = 0;
	char *bytes;
	int err = 0;

	if (!s || !elf_file_is64(f))
		return -ENODATA;
	bytes = elf_file_section_data(f, s, NOTES_MAX, &size);
	if (!bytes)
		return -errno;
	while (!err && size - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr h;
		size_t name = at + sizeof(h), text, next;

		memcpy(&h, bytes + at, sizeof(h));
		if (h.n_namesz > size || h.n_descsz > size)
			err = -EBADMSG;
		text = name + PADDED(h.n_namesz);
		next = text + PADDED(h.n_descsz);
		if (err || text + h.n_descsz > size)
			err = -EBADMSG;
		else if (h.n_type == STAPSDT && h.n_namesz == sizeof(OWNER) &&
			 !memcmp(bytes + name, OWNER, sizeof(OWNER)) &&
			 !read_note(f, bytes + text, h.n_descsz, base ? base->addr : 0, &note))
			take(ctx, &note);
		at = next < size ? next : size;
	}
	free(bytes);
	return err;
}

#if defined(__x86_64__)
/* By DWARF's numbers (psABI, figure 3.36), in 8, 4, 2 and 1 bytes. */
static const struct {
	const char *names[4];
} registers[] = {
	{ { "rax", "eax", "ax", "al" } },   { { "rdx", "edx", "dx", "dl" } },
	{ { "rcx", "ecx", "cx", "cl" } },   { { "rbx", "ebx", "bx", "bl" } },
	{ { "rsi", "esi", "si", "sil" } },  { { "rdi", "edi", "di", "dil" } },
	{ { "rbp", "ebp", "bp", "bpl" } },  { { "rsp", "esp", "sp", "spl" } },
	{ { "r8", "r8d", "r8w", "r8b" } },  { { "r9", "r9d", "r9w", "r9b" } },
	{ { "r10", "r10d", "r10w", "r10b" } }, { { "r11", "r11d", "r11w", "r11b" } },
	{ { "r12", "r12d", "r12w", "r12b" } }, { { "r13", "r13d", "r13w", "r13b" } },
	{ { "r14", "r14d", "r14w", "r14b" } }, { { "r15", "r15d", "r15w", "r15b" } },
};

static int register_of(const char *name, size_t n)
{
	for (size_t i = 0; i < sizeof(registers) / sizeof(*registers); i++)
		for (size_t k = 0; k < 4; k++)
			if (strlen(registers[i].names[k]) == n &&
			    !strncmp(registers[i].names[k], name, n))
				return (int)i;
	return -1;
}

/* "%rax", "$5", "-8(%rbp)". */
static int parse_place(const char *text, size_t n, struct usdt_argument *a)
{
	const char *close = memchr(text, ')', n);
	char *end = (char *)text;

	if (n > 1 && *text == '%') {
		a->place = USDT_REGISTER;
		a->reg = register_of(text + 1, n - 1);
		return a->reg < 0 ? -ENOTSUP : 0;
	}
	if (n > 1 && *text == '$') {
		a->place = USDT_CONSTANT;
		a->offset = strtoll(text + 1, &end, 0);
		return end == text + n ? 0 : -ENOTSUP;
	}
	a->place = USDT_MEMORY;
	a->offset = *text == '(' ? 0 : strtoll(text, &end, 0);
	if (!close || close != text + n - 1 || end[0] != '(' || end[1] != '%')
		return -ENOTSUP;
	a->reg = register_of(end + 2, (size_t)(close - end - 2));
	return a->reg < 0 ? -ENOTSUP : 0;
}
#else
/* "x0", "w0", "sp". */
static int register_of(const char *name, size_t n)
{
	char digits[3] = "";
	int number;

	if (n == 2 && !strncmp(name, "sp", n))
		return 31;
	if (n < 2 || n > 3 || (*name != 'x' && *name != 'w') || name[1] < '0' || name[1] > '9')
		return -1;
	memcpy(digits, name + 1, n - 1);
	number = atoi(digits);
	return number <= 30 ? number : -1;
}

/* "x0", "5", "[sp, 8]". */
static int parse_place(const char *text, size_t n, struct usdt_argument *a)
{
	const char *comma = memchr(text, ',', n);
	char *end;
	size_t name;

	if (*text == '[' && text[n - 1] == ']') {
		name = comma ? (size_t)(comma - text) - 1 : n - 2;
		a->place = USDT_MEMORY;
		a->reg = register_of(text + 1, name);
		a->offset = comma ? strtoll(comma + 1, &end, 0) : 0;
		return a->reg < 0 || (comma && end != text + n - 1) ? -ENOTSUP : 0;
	}
	a->reg = register_of(text, n);
	a->place = a->reg < 0 ? USDT_CONSTANT : USDT_REGISTER;
	if (a->reg >= 0)
		return 0;
	a->offset = strtoll(text, &end, 0);
	return end == text + n ? 0 : -ENOTSUP;
}
#endif

/* Where the operand at @text ends: at a blank that is not within brackets. */
static size_t operand_length(const char *text)
{
	size_t n = 0;
	int depth = 0;

	for (; text[n] && (depth || text[n] != ' '); n++)
		depth += text[n] == '[' || text[n] == '(' ? 1
			 : text[n] == ']' || text[n] == ')' ? -1
							    : 0;
	return n;
}

int usdt_argument(const char *arguments, unsigned int n, struct usdt_argument *out)
{
	const char *at = arguments + strspn(arguments, " ");
	long size = 8;
	size_t length;
	char *end;

	memset(out, 0, sizeof(*out));
	for (; n && *at; n--) {
		at += operand_length(at);
		at += strspn(at, " ");
	}
	if (!*at)
		return -ENOENT;
	length = operand_length(at);
	if (memchr(at, '@', length)) {
		size = strtol(at, &end, 10);
		if (*end != '@' || size < -8 || size > 8)
			return -ENOTSUP;
		length -= (size_t)(end + 1 - at);
		at = end + 1;
	}
	out->is_signed = size < 0;
	out->size = (int)(size < 0 ? -size : size);
	if (!length || (out->size != 1 && out->size != 2 && out->size != 4 && out->size != 8))
		return -ENOTSUP;
	return parse_place(at, length, out);
}
