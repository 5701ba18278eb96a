/* SPDX-License-Identifier: MIT */
#include "symbols/kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/search.h"
#include "base/strtab.h"
#include "base/text.h"
#include "base/vec.h"

#define CHUNK		(256u << 10)	/* read at once; also the longest line */
#define MAX_SYMBOLS	(4u << 20)	/* a kernel with all its modules has 200 thousand */
#define MAX_NAME	512		/* KSYM_NAME_LEN of the kernel, with the terminator */
/* bytes; kallsyms has no sizes, and no kernel function comes near */
#define MAX_FUNCTION	(1u << 20)
#define KERNEL_HALF	(1ull << 63)	/* kernel addresses have the highest bit set */
/* the symbol of what is reserved before a function (Linux 6.2, CONFIG_PREFIX_SYMBOLS) */
#define PREFIX		"__pfx_"
#define PREFIX_MAX	64		/* bytes of it */

struct entry {
	uint64_t start;
	uint32_t name;		/* offset in names */
	uint16_t module;
	uint8_t rank;		/* among those at one address: more is better */
	uint8_t prefix;		/* bytes before it that are its, too */
};

/* As it is kept: these, in the order of offsets, and all names. In our own byte order. */
#define KEPT_MAGIC "kallsy1\n"

struct kept_head {
	char magic[8];
	uint32_t n;
	uint32_t names;		/* bytes */
};

struct kept {
	uint32_t offset;	/* from _stext */
	uint32_t name;		/* offset in the names */
	uint32_t prefix;
};

struct kallsyms {
	VEC(struct entry) entries;	/* by start, one for each address */
	VEC(char) names;
	struct strtab *modules;
	uint64_t stext;
	uint64_t end;			/* nothing is known from here on; 0: all is known */
	/* While reading. */
	int only_stext;			/* nothing else is wanted */
	uint32_t last_module;		/* lines of a module stand together */
	uint64_t prefix;		/* where the last one begins */
	int hidden;			/* functions at address 0 were seen */
};

/* T global, W weak, t local; i an indirect function. The rest is data. 0: not code. */
static uint8_t rank_of(char type)
{
	switch (type) {
	case 'T':
		return 3;
	case 'W':
	case 'w':
		return 2;
	case 't':
	case 'i':
		return 1;
	default:
		return 0;
	}
}

static const char *parse_hex(const char *p, const char *end, uint64_t *out)
{
	const char *first = p;

	*out = 0;
	for (; p < end && p - first <= 16; p++) {
		unsigned int digit = (unsigned int)*p - '0', letter = (unsigned int)*p - 'a';

		if (digit < 10)
			*out = *out << 4 | digit;
		else if (letter < 6)
			*out = *out << 4 | (letter + 10);
		else
			break;
	}
	return p > first && p - first <= 16 ? p : NULL;
}

/* "[name]" at @p, or nothing for what is built in. Ids beyond 16 bits share the last one's name. */
static uint16_t parse_module(struct kallsyms *k, const char *p, const char *end)
{
	const char *last = strtab_get(k->modules, k->last_module);
	char name[MAX_NAME], clean[MAX_NAME];
	size_t n;

	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	n = strnlen(p, (size_t)(end - p));
	if (n < 3 || n >= sizeof(name) || p[0] != '[' || p[n - 1] != ']')
		return 0;
	if (!strncmp(last, p, n) && !last[n])
		return (uint16_t)k->last_module;
	if (strtab_count(k->modules) > UINT16_MAX)
		return UINT16_MAX;
	memcpy(name, p, n);
	name[n] = '\0';
	text_clean(clean, sizeof(clean), name);
	k->last_module = strtab_add(k->modules, clean);
	return (uint16_t)k->last_module;
}

/*
 * 1 where @name is what is reserved before the function that comes next. They are half of all
 * symbols, and left out. But those of modules are not in the order of addresses.
 */
static int take_prefix(struct kallsyms *k, uint64_t start, const char *name, size_t n, int built_in)
{
	if (!built_in || n <= sizeof(PREFIX) - 1 || memcmp(name, PREFIX, sizeof(PREFIX) - 1) != 0)
		return 0;
	k->prefix = start;
	return 1;
}

/* One line, without its newline. What is not of the form is skipped. */
static void parse_line(struct kallsyms *k, const char *p, const char *end)
{
	const char *name, *stop;
	struct entry e = { 0 };
	size_t n;

	p = parse_hex(p, end, &e.start);
	if (!p || end - p < 4 || p[0] != ' ' || p[2] != ' ')
		return;
	e.rank = rank_of(p[1]);
	if (!e.rank)
		return;
	k->hidden |= !e.start;
	name = stop = p + 3;
	while (stop < end && *stop != '\t' && *stop != ' ' && *stop)
		stop++;
	n = (size_t)(stop - name);
	/* Labels within a function of assembler are no functions (".E_copy"). */
	if (!n || n >= MAX_NAME || *name == '.' || e.start < KERNEL_HALF ||
	    k->entries.n >= MAX_SYMBOLS || take_prefix(k, e.start, name, n, stop == end))
		return;
	if (n == 6 && stop == end && !memcmp(name, "_stext", 6))
		k->stext = e.start;
	e.name = (uint32_t)k->names.n;
	e.module = parse_module(k, stop, end);
	e.prefix = e.start > k->prefix && e.start - k->prefix <= PREFIX_MAX
			   ? (uint8_t)(e.start - k->prefix)
			   : 0;
	vec_push(&k->entries, e);
	vec_reserve(&k->names, k->names.n + n + 1);
	memcpy(k->names.v + k->names.n, name, n);
	k->names.v[k->names.n + n] = '\0';
	k->names.n += n + 1;
}

/* All whole lines of @buf; returns the bytes used up. */
static size_t parse_chunk(struct kallsyms *k, const char *buf, size_t n)
{
	const char *p = buf, *newline;

	while ((newline = memchr(p, '\n', (size_t)(buf + n - p)))) {
		parse_line(k, p, newline);
		p = newline + 1;
	}
	return (size_t)(p - buf);
}

static int read_all(struct kallsyms *k, int fd)
{
	char *buf = xmalloc(CHUNK);
	size_t have = 0;
	int err = 0;

	while (!k->only_stext || (!k->stext && !k->hidden)) {
		ssize_t n = io_read(fd, buf + have, CHUNK - have);
		size_t used;

		if (n <= 0) {
			err = (int)n;
			break;
		}
		have += (size_t)n;
		used = parse_chunk(k, buf, have);
		if (!used && have == CHUNK)
			used = have;	/* no newline in all this: not a line of ours */
		memmove(buf, buf + used, have - used);
		have -= used;
	}
	if (!err && have)
		parse_line(k, buf, buf + have);
	free(buf);
	return err;
}

static int compare(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;

	return a->start < b->start ? -1 : a->start > b->start;
}

/*
 * What is built in comes sorted, and sorting it again would take as long as all the rest: so only
 * what is not in its place.
 */
static void sort(struct kallsyms *k)
{
	struct entry *v = k->entries.v;
	size_t sorted = 1, low;
	uint64_t least;

	while (sorted < k->entries.n && v[sorted].start >= v[sorted - 1].start)
		sorted++;
	if (sorted >= k->entries.n)
		return;
	least = v[sorted].start;
	for (size_t i = sorted; i < k->entries.n; i++)
		least = v[i].start < least ? v[i].start : least;
	low = upper_bound(v, sorted, .start, least);
	qsort(v + low, k->entries.n - low, sizeof(*v), compare);
}

static size_t underscores(const struct kallsyms *k, const struct entry *e)
{
	return strspn(k->names.v + e->name, "_");
}

/*
 * Of two names for one address: global, weak, local; then the one with fewer underscores before it.
 */
static int is_better(const struct kallsyms *k, const struct entry *a, const struct entry *b)
{
	return a->rank != b->rank ? a->rank > b->rank : underscores(k, a) < underscores(k, b);
}

/* Sorts, and keeps the best name of each address. */
static void settle(struct kallsyms *k)
{
	size_t kept = 0;

	sort(k);
	for (size_t i = 0; i < k->entries.n; i++) {
		struct entry *e = &k->entries.v[i], *last = &k->entries.v[kept ? kept - 1 : 0];

		if (!kept || last->start != e->start)
			k->entries.v[kept++] = *e;
		else if (is_better(k, e, last))
			*last = *e;
	}
	k->entries.n = kept;
	k->entries.v = xreallocarray(k->entries.v, kept, sizeof(*k->entries.v));
	k->entries.cap = kept;
	k->names.v = xreallocarray(k->names.v, k->names.n, 1);
	k->names.cap = k->names.n;
}

static struct kallsyms *new_table(void)
{
	struct kallsyms *k = xcalloc(1, sizeof(*k));

	k->modules = strtab_new();
	return k;
}

struct kallsyms *kallsyms_new(const char *path)
{
	struct kallsyms *k;
	int fd, err;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	k = new_table();
	err = read_all(k, fd);
	close(fd);
	if (!err && !k->entries.n)
		err = k->hidden ? -EPERM : -ENODATA;
	if (err) {
		kallsyms_free(k);
		errno = -err;
		return NULL;
	}
	settle(k);
	return k;
}

uint64_t kallsyms_read_stext(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct kallsyms *k;
	uint64_t stext;

	if (fd < 0)
		return 0;
	k = new_table();
	k->only_stext = 1;
	stext = read_all(k, fd) ? 0 : k->stext;
	close(fd);
	kallsyms_free(k);
	return stext;
}

/* --- What is kept of it. -------------------------------------------------------------- */

/* The functions that are built in, from _stext on: they follow each other. */
static size_t built_in(const struct kallsyms *k, size_t *first)
{
	const struct entry *v = k->entries.v;
	size_t i = upper_bound(v, k->entries.n, .start, k->stext - 1);

	*first = i;
	while (i < k->entries.n && !v[i].module && v[i].start - k->stext <= UINT32_MAX)
		i++;
	return k->stext ? i - *first : 0;
}

void *kallsyms_write(const struct kallsyms *k, size_t *size)
{
	struct kept_head head = { .magic = KEPT_MAGIC };
	size_t first, n = built_in(k, &first), at;
	struct kept *to;
	char *bytes, *names;

	for (size_t i = first; i < first + n; i++)
		head.names += (uint32_t)strlen(k->names.v + k->entries.v[i].name) + 1;
	head.n = (uint32_t)n;
	at = sizeof(head) + n * sizeof(*to);
	*size = at + head.names;
	bytes = xmalloc(*size);
	memcpy(bytes, &head, sizeof(head));
	to = (struct kept *)(bytes + sizeof(head));
	names = bytes + at;
	for (size_t i = first; i < first + n; i++, to++) {
		const struct entry *e = &k->entries.v[i];
		size_t length = strlen(k->names.v + e->name) + 1;

		*to = (struct kept){ .offset = (uint32_t)(e->start - k->stext),
				     .name = (uint32_t)(names - bytes - at),
				     .prefix = e->prefix };
		memcpy(names, k->names.v + e->name, length);
		names += length;
	}
	return bytes;
}

static int is_sound(const struct kept_head *head, const struct kept *from, const char *names,
		    uint64_t stext)
{
	for (uint32_t i = 0; i < head->n; i++)
		if (from[i].offset > UINT64_MAX - stext || from[i].prefix > PREFIX_MAX ||
		    from[i].name >= head->names || !names[from[i].name] ||
		    (i && from[i].offset <= from[i - 1].offset))
			return 0;
	return 1;
}

struct kallsyms *kallsyms_of_kept(const void *bytes, size_t size, uint64_t stext)
{
	const struct kept_head *head = bytes;
	const struct kept *from = (const struct kept *)(head + 1);
	struct kallsyms *k;
	const char *names;

	errno = EBADMSG;
	if (size < sizeof(*head) || memcmp(head->magic, KEPT_MAGIC, sizeof(head->magic)) != 0 ||
	    !head->n || head->n > MAX_SYMBOLS || !head->names ||
	    size != sizeof(*head) + head->n * sizeof(*from) + head->names ||
	    ((const char *)bytes)[size - 1] || stext < KERNEL_HALF)
		return NULL;
	names = (const char *)(from + head->n);
	if (!is_sound(head, from, names, stext))
		return NULL;
	k = new_table();
	k->stext = stext;
	vec_reserve(&k->entries, head->n);
	for (uint32_t i = 0; i < head->n; i++)
		vec_push(&k->entries, (struct entry){ .start = stext + from[i].offset,
						      .name = from[i].name,
						      .prefix = (uint8_t)from[i].prefix });
	vec_reserve(&k->names, head->names);
	memcpy(k->names.v, names, head->names);
	k->names.n = head->names;
	k->end = k->entries.v[head->n - 1].start;
	return k;
}

void kallsyms_free(struct kallsyms *k)
{
	if (!k)
		return;
	vec_free(&k->entries);
	vec_free(&k->names);
	strtab_free(k->modules);
	free(k);
}

uint64_t kallsyms_stext(const struct kallsyms *k)
{
	return k->stext;
}

int kallsyms_find(const struct kallsyms *k, uint64_t address, struct kallsyms_symbol *out)
{
	size_t low = upper_bound(k->entries.v, k->entries.n, .start, address);
	const struct entry *e = &k->entries.v[low];

	if (k->end && (address < k->stext || address >= k->end))
		return -ENOENT;
	if (low == k->entries.n || e->start - address > e->prefix) {
		if (!low)
			return -ENOENT;
		e--;
		if (address - e->start >= MAX_FUNCTION)
			return -ENOENT;
	}
	out->name = k->names.v + e->name;
	out->module = e->module ? strtab_get(k->modules, e->module) : "[kernel]";
	out->start = e->start;
	return 0;
}
