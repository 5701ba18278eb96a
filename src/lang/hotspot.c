/* SPDX-License-Identifier: MIT */
/*
 * HotSpot: which file is a JVM, and where it keeps code and methods, by what it says of itself.
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bpf/hotspot.h"
#include "lang/hotspot_lines.h"
#include "lang/hotspot_tables.h"
#include "lang/lang.h"

#define OLDEST	 8		/* whose own number is that of HotSpot, 25 */
#define NO_ZERO	 20		/* the first version of EBP_HOTSPOT_NO_ZERO */
#define BLOB_MAX 504
/* words from an interpreted frame's pointer to its bcp, since 9 and before */
#define BCP	 8
#define BCP_TO_8 7

/* What is wanted of the tables: it is added to a member of the layout, and sets flags. */
struct wanted {
	const char *type, *field;	/* field "": the type's size */
	uint16_t at, bytes;		/* of the member */
	uint16_t flags;			/* EBP_HOTSPOT_* */
};

#define TO(member) offsetof(struct ebp_hotspot, member), sizeof(((struct ebp_hotspot *)0)->member)

static const struct wanted wanted[] = {
	{ "CodeCache", "_heaps", TO(heaps), 0 },
	{ "CodeCache", "_heap", TO(heaps), EBP_HOTSPOT_ONE_HEAP },
	{ "CodeCache", "_low_bound", TO(low), 0 },
	{ "CodeCache", "_high_bound", TO(high), 0 },
	{ "AbstractInterpreter", "_code", TO(interpreter), 0 },
	{ "GrowableArray<int>", "_data", TO(array_data), 0 },
	{ "CodeHeap", "_memory", TO(heap_start), 0 },
	{ "VirtualSpace", "_low", TO(heap_start), 0 },
	{ "CodeHeap", "_memory", TO(heap_end), 0 },
	{ "VirtualSpace", "_high_boundary", TO(heap_end), 0 },
	{ "CodeHeap", "_segmap", TO(heap_segmap), 0 },
	{ "VirtualSpace", "_low", TO(heap_segmap), 0 },
	{ "CodeHeap", "_log2_segment_size", TO(heap_shift), 0 },
	{ "HeapBlock", "", TO(block), 0 },
	{ "StubQueue", "_stub_buffer", TO(queue_start), 0 },
	{ "StubQueue", "_buffer_limit", TO(queue_bytes), 0 },
	{ "nmethod", "", TO(blob_bytes), 0 },
	{ "nmethod", "", TO(method_header), 0 },
	{ "CodeBlob", "_header_size", TO(blob_header), 0 },
	{ "CodeBlob", "_name", TO(blob_name), 0 },
	{ "CodeBlob", "_frame_size", TO(blob_frame), 0 },
	{ "CodeBlob", "_frame_complete_offset", TO(blob_complete), 0 },
	{ "CodeBlob", "_code_begin", TO(blob_code), 0 },
	{ "CodeBlob", "_code_offset", TO(blob_code), EBP_HOTSPOT_CODE_OFFSET },
	{ "CompiledMethod", "_method", TO(method), 0 },
	{ "nmethod", "_method", TO(method), 0 },
	{ "nmethod", "_compile_id", TO(compile_id), 0 },
	{ "nmethod", "_orig_pc_offset", TO(orig_pc), 0 },
	{ "nmethod", "_scopes_pcs_offset", TO(pcs), 0 },
	{ "nmethod", "_dependencies_offset", TO(pcs_end), 0 },
	{ "CompiledMethod", "_scopes_data_begin", TO(scopes), 0 },
	{ "nmethod", "_scopes_data_offset", TO(scopes), 0 },
	{ "nmethod", "_immutable_data", TO(data), EBP_HOTSPOT_IMMUTABLE },
	{ "nmethod", "_metadata_offset", TO(metadata), 0 },
	{ "CodeBlob", "_mutable_data", TO(mutable_data), EBP_HOTSPOT_MUTABLE },
	{ "Method", "_constMethod", TO(method_const), 0 },
	{ "Method", "_i2i_entry", TO(method_entry), 0 },
	{ "ConstMethod", "", TO(const_bytes), 0 },
	{ "ConstMethod", "_constants", TO(const_pool), 0 },
	{ "ConstMethod", "_constMethod_size", TO(const_size), 0 },
	{ "ConstMethod", "_flags", TO(const_flags), 0 },
	{ "ConstMethod", "_flags._flags", TO(const_flags), 0 },
	{ "ConstMethod", "_code_size", TO(const_code), 0 },
	{ "ConstMethod", "_name_index", TO(const_name), 0 },
	{ "ConstantPool", "", TO(pool_bytes), 0 },
	{ "ConstantPool", "_pool_holder", TO(pool_holder), 0 },
	{ "ConstantPool", "_source_file_name_index", TO(pool_file), 0 },
	{ "Klass", "_name", TO(class_name), 0 },
	{ "InstanceKlass", "_source_file_name_index", TO(class_file), EBP_HOTSPOT_CLASS_FILE },
	{ "Symbol", "_length", TO(symbol_length), 0 },
	{ "Symbol", "_body", TO(symbol_body), 0 },
};
#define WANTED (sizeof(wanted) / sizeof(*wanted))

/* Members of which a build may have none. */
static const uint16_t not_in_all[] = {
	offsetof(struct ebp_hotspot, pcs_end), offsetof(struct ebp_hotspot, data),
	offsetof(struct ebp_hotspot, mutable_data), offsetof(struct ebp_hotspot, pool_file),
	offsetof(struct ebp_hotspot, class_file),
};

/* ... and those that one with a single heap of code does not need. */
static const uint16_t not_of_one_heap[] = {
	offsetof(struct ebp_hotspot, low), offsetof(struct ebp_hotspot, high),
	offsetof(struct ebp_hotspot, array_data),
};

struct reading {
	struct ebp_hotspot o;
	uint64_t version;		/* address of the number */
	uint64_t relocations;		/* where a blob has their size; 0: not found */
	uint8_t found[sizeof(struct ebp_hotspot)];	/* members, by where they begin */
};

static void add(struct reading *r, const struct wanted *w, uint64_t value)
{
	uint8_t *member = (uint8_t *)&r->o + w->at;
	uint64_t sum = 0;

	memcpy(&sum, member, w->bytes);
	sum += value;
	memcpy(member, &sum, w->bytes);
	r->o.flags |= w->flags;
	r->found[w->at] = 1;
}

static void take(void *ctx, const struct hotspot_entry *e)
{
	struct reading *r = ctx;

	if (e->is_static && !strcmp(e->field, "_vm_major_version"))
		r->version = e->value;
	if (!strcmp(e->type, "CodeBlob") && !strcmp(e->field, "_relocation_size"))
		r->relocations = e->value;
	for (size_t i = 0; i < WANTED; i++) {
		const struct wanted *w = &wanted[i];

		if (!strcmp(w->type, e->type) && !strcmp(w->field, e->field) &&
		    e->is_static == (w->bytes == 8) &&
		    (e->is_static || e->value <= UINT16_MAX / 2))
			add(r, w, e->value);
	}
}

static int is_needed(const struct reading *r, uint16_t at)
{
	for (size_t i = 0; i < sizeof(not_in_all) / sizeof(*not_in_all); i++)
		if (not_in_all[i] == at)
			return 0;
	if (!(r->o.flags & EBP_HOTSPOT_ONE_HEAP))
		return 1;
	for (size_t i = 0; i < sizeof(not_of_one_heap) / sizeof(*not_of_one_heap); i++)
		if (not_of_one_heap[i] == at)
			return 0;
	return 1;
}

/* The first thing that is not there; NULL: all is. */
static const struct wanted *missing(const struct reading *r)
{
	for (size_t i = 0; i < WANTED; i++)
		if (!r->found[wanted[i].at] && is_needed(r, wanted[i].at))
			return &wanted[i];
	return NULL;
}

/* Mutable data are relocations and then metadata; the size of the former tells where. */
static void place_metadata(struct reading *r)
{
	if (!(r->o.flags & EBP_HOTSPOT_MUTABLE))
		return;
	r->o.metadata = (uint16_t)(r->relocations & 0x7fff);
	r->found[offsetof(struct ebp_hotspot, metadata)] = !!r->relocations;
}

/* The segment of @f that has @address in the file; NULL: none. */
static const struct elf_segment *segment_of(const struct elf_file *f, uint64_t address)
{
	const struct elf_segment *s;
	size_t n = elf_file_segments(f, &s);

	for (size_t i = 0; i < n; i++)
		if (s[i].type == PT_LOAD && address >= s[i].vaddr &&
		    address - s[i].vaddr < s[i].filesz)
			return &s[i];
	return NULL;
}

static uint32_t version_of(const struct elf_file *f, uint64_t address)
{
	const struct elf_segment *s = segment_of(f, address);
	uint32_t version = 0;

	if (s && elf_file_read(f, s->offset + (address - s->vaddr), &version, sizeof(version)))
		return 0;
	return version;
}

/* What mappings of code have between address and offset in the file. */
static uint64_t skew_of(const struct elf_file *f)
{
	const struct elf_segment *s;
	size_t n = elf_file_segments(f, &s);

	for (size_t i = 0; i < n; i++)
		if (s[i].type == PT_LOAD && s[i].flags & PF_X)
			return s[i].vaddr - s[i].offset;
	return 0;
}

static void fill(struct reading *r, const struct elf_file *f, struct lang_image *out)
{
	struct ebp_hotspot *o = &r->o;
	uint64_t skew = skew_of(f);

	o->heaps -= skew;
	o->low -= skew;
	o->high -= skew;
	o->interpreter -= skew;
	o->bcp = o->version < 9 ? BCP_TO_8 : BCP;
	o->blob_bytes = o->blob_bytes > BLOB_MAX ? BLOB_MAX : o->blob_bytes;
	if (o->flags & EBP_HOTSPOT_CODE_OFFSET && o->version >= NO_ZERO)
		o->flags |= EBP_HOTSPOT_SHORT;
	if (o->version >= NO_ZERO)
		o->flags |= EBP_HOTSPOT_NO_ZERO;
	if (!o->pcs_end)
		o->pcs_end = o->scopes;
	out->ops = &lang_hotspot;
	memcpy(out->layout.words, o, sizeof(*o));
}

static void recognise(const struct elf_file *f, const char *name, struct lang_image *out)
{
	struct reading r = { .version = 0 };
	const struct wanted *lacks;

	if (!strstr(name, "libjvm"))
		return;
	if (hotspot_tables_each(f, take, &r)) {
		snprintf(out->why, sizeof(out->why), "it does not say where Java's frames are");
		return;
	}
	r.o.version = r.o.flags & EBP_HOTSPOT_ONE_HEAP ? OLDEST : version_of(f, r.version);
	place_metadata(&r);
	lacks = missing(&r);
	if (elf_file_machine(f) != EM_X86_64 || r.o.version < OLDEST)
		snprintf(out->why, sizeof(out->why), "Java %u is not known", r.o.version);
	else if (lacks)
		snprintf(out->why, sizeof(out->why), "this build of Java %u lacks %s::%s",
			 r.o.version, lacks->type, lacks->field);
	else
		fill(&r, f, out);
}

static uint32_t line(const struct lang_code *code, uint32_t place)
{
	return place == EBP_PLACE_NONE ? 0
				       : hotspot_line(code->table, code->table_bytes,
						      code->version >= NO_ZERO, place);
}

/* java/lang/Thread is java.lang.Thread; a hidden class has an address behind its name. */
static void tidy(char *scope)
{
	for (char *p = scope; *p; p++) {
		if ((*p == '+' || *p == '/') && p[1] == '0' && p[2] == 'x') {
			*p = '\0';
			break;
		}
		if (*p == '/')
			*p = '.';
	}
}

const struct lang_ops lang_hotspot = {
	.name = "Java",
	.reads = "HotSpot of JDK 8 and newer (x86-64)",
	.language = EBP_LANGUAGE_HOTSPOT,
	.files = { "jvm" },
	.joint = ".",
	.tidy = tidy,
	.recognise = recognise,
	.line = line,
};
