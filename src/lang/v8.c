/* SPDX-License-Identifier: MIT */
/*
 * V8 in node: which file has it, and where it keeps what its frames are of.
 *
 * V8 says so itself, in constants for debuggers (v8dbg_*, which a stripped file exports, too); what
 * they do not have, or no more, goes by the version.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "bpf/v8.h"
#include "elf/elf_lookup.h"
#include "lang/lang.h"
#include "lang/v8_lines.h"

/* What V8 says of itself, less its prefix, and the field that it is. */
static const struct constant {
	const char *name;
	uint16_t field;
	int16_t add;
} constants[] = {
#define CONSTANT(name, field, ...) { name, offsetof(struct ebp_v8, field), 0 __VA_ARGS__ }
	CONSTANT("FirstNonstringType", nonstring_type),
	CONSTANT("type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", shared_type),
	CONSTANT("type_Script__SCRIPT_TYPE", script_type),
	CONSTANT("type_BytecodeArray__BYTECODE_ARRAY_TYPE", bytecode_type),
	CONSTANT("type_ByteArray__BYTE_ARRAY_TYPE", bytes_type),
	CONSTANT("type_TrustedByteArray__TRUSTED_BYTE_ARRAY_TYPE", bytes_trusted_type),
	CONSTANT("off_fp_bytecode_array", slot_bytecode, +48),
	CONSTANT("off_fp_bytecode_offset", slot_offset, +48),
	CONSTANT("class_JSFunction__shared__SharedFunctionInfo", function_shared),
	CONSTANT("class_SharedFunctionInfo__function_data__Object", shared_data),
	CONSTANT("class_SharedFunctionInfo__name_or_scope_info__Object", shared_name),
	CONSTANT("class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_", shared_name),
	CONSTANT("class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_",
		 shared_name),
	CONSTANT("class_SharedFunctionInfo__script_or_debug_info__Object", shared_script),
	CONSTANT("class_SharedFunctionInfo__script_or_debug_info__HeapObject", shared_script),
	CONSTANT("class_SharedFunctionInfo__script__Tagged_HeapObject_", shared_script),
	CONSTANT("class_Script__source__Object", script_source),
	CONSTANT("class_Script__name__Object", script_name),
	CONSTANT("class_BytecodeArray__data__uintptr_t", bytecode_start),
#undef CONSTANT
};

/* What all versions share. */
#define ALL                                                                            \
	.script_source = 8, .script_name = 16, .script_id = 64, .shared_data = 8, \
	.slot_bytecode = 16, .slot_offset = 8
/* Code ends in its instructions. */
#define TO_10                                                                              \
	ALL, .flags = EBP_V8_CODE_INSIDE, .function_shared = 24, .function_code = 48,      \
	.shared_name = 16, .shared_script = 32, .code_size = 40, .code_table = 24, \
	.bytecode_table = 32
#define SINCE_12                                                                          \
	ALL, .function_shared = 32, .function_code = 24, .code_start = 40, .code_table = 16, \
	.bytecode_table = 24, .bytecode_start = 64
/* A ScopeInfo that is a FixedArray has its length before all others. */
#define SCOPE_ARRAY	.scope_count = 32, .scope_locals = 40
#define SCOPE_TO_12	.scope_count = 24, .scope_locals = 32
#define SCOPE_SINCE_13	.scope_count = 24, .scope_locals = 48

/* By major version of V8; node 12 has 7, 14 has 8, and so on. */
static const struct ebp_v8 releases[] = {
	[7] = { TO_10, .version = 7, .shared_type = 160, .script_type = 96, .bytecode_type = 72,
		.bytes_type = 70, .nonstring_type = 64, .code_start = 64, .bytecode_start = 54,
		SCOPE_ARRAY },
	[8] = { TO_10, .version = 8, .shared_type = 173, .script_type = 104, .bytecode_type = 133,
		.bytes_type = 132, .nonstring_type = 64, .code_start = 96, .bytecode_start = 54,
		SCOPE_ARRAY },
	[9] = { TO_10, .version = 9, .shared_type = 179, .script_type = 112, .bytecode_type = 133,
		.bytes_type = 132, .nonstring_type = 64, .code_start = 96, .bytecode_start = 54,
		SCOPE_TO_12 },
	[10] = { TO_10, .version = 10, .shared_type = 257, .script_type = 170,
		 .bytecode_type = 195, .bytes_type = 194, .nonstring_type = 128, .code_start = 128,
		 .bytecode_start = 56, SCOPE_TO_12 },
	[11] = { ALL, .version = 11, .shared_type = 262, .script_type = 167, .bytecode_type = 191,
		 .bytes_type = 190, .nonstring_type = 128, .function_shared = 24,
		 .function_code = 48, .shared_name = 16, .shared_script = 32, .code_start = 40,
		 .code_size = 56, .code_table = 24, .bytecode_table = 32, .bytecode_start = 54,
		 SCOPE_TO_12 },
	[12] = { SINCE_12, .version = 12, .shared_type = 274, .script_type = 167,
		 .bytecode_type = 205, .bytes_type = 186, .bytes_trusted_type = 212,
		 .nonstring_type = 128, .shared_name = 16, .shared_script = 32, .code_size = 52,
		 SCOPE_TO_12 },
	[13] = { SINCE_12, .version = 13, .shared_type = 282, .script_type = 167,
		 .bytecode_type = 186, .bytes_type = 217, .bytes_trusted_type = 196,
		 .nonstring_type = 128, .shared_name = 24, .shared_script = 40, .code_size = 56,
		 SCOPE_SINCE_13 },
	[14] = { SINCE_12, .version = 14, .shared_type = 288, .script_type = 166,
		 .bytecode_type = 185, .bytes_type = 218, .bytes_trusted_type = 196,
		 .nonstring_type = 128, .shared_name = 24, .shared_script = 40, .code_size = 56,
		 SCOPE_SINCE_13 },
};
#define RELEASES (sizeof(releases) / sizeof(*releases))

/* The first version whose stacks have the number of arguments below the function. */
#define ARGUMENTS_IN_FRAME 9

#define PREFIX	"v8dbg_"
#define MAJOR	"_ZN2v88internal7Version6major_E"

struct reading {
	const struct elf_file *f;
	uint32_t major;		/* 0: not known */
	uint32_t found;		/* constants */
	struct ebp_v8 said;	/* 0: not */
};

/* The number at @address in the file: 0, or negative. */
static int number_at(const struct elf_file *f, uint64_t address, int32_t *to)
{
	const struct elf_segment *s;
	size_t n = elf_file_segments(f, &s);

	for (size_t i = 0; i < n; i++)
		if (s[i].type == PT_LOAD && address >= s[i].vaddr &&
		    address - s[i].vaddr < s[i].filesz &&
		    sizeof(*to) <= s[i].filesz - (address - s[i].vaddr))
			return elf_file_read(f, s[i].offset + (address - s[i].vaddr), to,
					     sizeof(*to));
	return -1;
}

static void take_constant(struct reading *r, const Elf64_Sym *sym, const char *name)
{
	int32_t value;
	uint16_t field;

	for (size_t i = 0; i < sizeof(constants) / sizeof(*constants); i++) {
		if (strcmp(name, constants[i].name))
			continue;
		if (number_at(r->f, sym->st_value, &value))
			return;
		value += constants[i].add;
		if (value <= 0 || value > UINT16_MAX)
			return;
		field = (uint16_t)value;
		memcpy((char *)&r->said + constants[i].field, &field, sizeof(field));
		r->found++;
		return;
	}
}

static void take_symbol(void *ctx, const Elf64_Sym *sym, const char *name)
{
	struct reading *r = ctx;
	int32_t major = 0;

	if (ELF64_ST_TYPE(sym->st_info) != STT_OBJECT)
		return;
	if (!strncmp(name, PREFIX, strlen(PREFIX)))
		take_constant(r, sym, name + strlen(PREFIX));
	else if (!r->major && !strcmp(name, MAJOR) && !number_at(r->f, sym->st_value, &major) &&
		 major > 0)
		r->major = (uint32_t)major;
}

/* What the version has, with what V8 says of itself in its place. */
static struct ebp_v8 layout_of(const struct reading *r)
{
	struct ebp_v8 o = releases[r->major];

	if (r->major < ARGUMENTS_IN_FRAME) {
		o.slot_bytecode += 8;
		o.slot_offset += 8;
	}
	for (size_t i = 0; i < sizeof(constants) / sizeof(*constants); i++) {
		uint16_t said;

		memcpy(&said, (const char *)&r->said + constants[i].field, sizeof(said));
		if (said)
			memcpy((char *)&o + constants[i].field, &said, sizeof(said));
	}
	return o;
}

/* Files that are not searched have none; all else would be every file of the machine. */
static int may_have(const char *path)
{
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	return !strncmp(name, "node", 4) || !strncmp(name, "libnode", 7) ||
	       !strncmp(name, "nsolid", 6);
}

/* Programs that have another, or their own build of it. */
static const char *other(const char *path)
{
	static const char *const names[] = { "electron", "deno", "bun" };
	const char *name = strrchr(path, '/');

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name ? name + 1 : path, names[i]))
			return names[i];
	return NULL;
}

static void recognise(const struct elf_file *f, const char *name, struct lang_image *out)
{
	struct reading r = { .f = f };
	struct ebp_v8 layout;

	if (other(name))
		snprintf(out->why, sizeof(out->why),
			 "functions of JavaScript are read of node only");
	if (!may_have(name))
		return;
	elf_lookup_each(f, take_symbol, &r);
	if (!r.found)
		return;
	if (!r.major || elf_file_machine(f) != EM_X86_64)
		snprintf(out->why, sizeof(out->why), "its version of V8 is not known");
	else if (r.major >= RELEASES || !releases[r.major].version)
		snprintf(out->why, sizeof(out->why), "V8 %u is not known", r.major);
	if (*out->why)
		return;
	layout = layout_of(&r);
	out->ops = &lang_v8;
	memcpy(out->layout.words, &layout, sizeof(layout));
}

const struct lang_ops lang_v8 = {
	.name = "JavaScript",
	.language = EBP_LANGUAGE_V8,
	.anonymous = "(anonymous)",
	.recognise = recognise,
	.line = v8_line,
};
