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
#include "lang/v8_code.h"
#include "lang/v8_scripts.h"

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
	CONSTANT("CodeKindBaseline", baseline_kind),
	CONSTANT("type_Code__CODE_TYPE", code_type),
	CONSTANT("class_InstructionStream__instruction_start__uintptr_t", stream_start),
	CONSTANT("DeoptimizationDataLiteralArrayIndex", deopt_literals),
	CONSTANT("DeoptimizationDataInliningPositionsIndex", deopt_inlined),
	CONSTANT("frametype_IrregexpFrame", regexp_frame),
	CONSTANT("frametype_WasmFrame", wasm_frame),
	CONSTANT("frametype_WasmCompiledFrame", wasm_frame),
#undef CONSTANT
};

/* What all versions share. */
#define ALL                                                                            \
	.script_source = 8, .script_name = 16, .script_id = 64, .shared_data = 8, \
	.slot_bytecode = 16, .slot_offset = 8
#define DEOPT_TO_12	.deopt_literals = 2, .deopt_inlined = 7
#define DEOPT_SINCE_13	.deopt_literals = 3, .deopt_inlined = 8
/* Code ends in its instructions. */
#define TO_10                                                                              \
	ALL, DEOPT_TO_12, .flags = EBP_V8_CODE_INSIDE, .function_shared = 24,          \
	.function_code = 48, .shared_name = 16, .shared_script = 32, .code_size = 40, \
	.code_table = 24, .code_flags = 48, .code_deopt = 16, .bytecode_table = 32
#define SINCE_12                                                                       \
	ALL, .function_shared = 32, .function_code = 24, .code_start = 40,             \
	.code_table = 16, .code_deopt = 8, .stream_start = 32, .baseline_kind = 10, \
	.bytecode_table = 24, .bytecode_start = 64
/* A ScopeInfo that is a FixedArray has its length before all others. */
#define SCOPE_ARRAY	.scope_count = 32, .scope_locals = 40
#define SCOPE_TO_12	.scope_count = 24, .scope_locals = 32
#define SCOPE_SINCE_13	.scope_count = 24, .scope_locals = 48

/* By major version of V8; node 12 has 7, 14 has 8, and so on. */
static const struct ebp_v8 releases[] = {
	[7] = { TO_10, .version = 7, .code_type = 69, .shared_type = 160, .script_type = 96,
		.bytecode_type = 72,
		.bytes_type = 70, .nonstring_type = 64, .code_start = 64, .bytecode_start = 54,
		SCOPE_ARRAY },
	[8] = { TO_10, .version = 8, .code_type = 158, .shared_type = 173, .script_type = 104,
		.bytecode_type = 133,
		.bytes_type = 132, .nonstring_type = 64, .code_start = 96, .bytecode_start = 54,
		SCOPE_ARRAY },
	[9] = { TO_10, .version = 9, .code_type = 162, .baseline_kind = 11, .shared_type = 179,
		.script_type = 112, .bytecode_type = 133,
		.bytes_type = 132, .nonstring_type = 64, .code_start = 96, .bytecode_start = 54,
		SCOPE_TO_12 },
	[10] = { TO_10, .version = 10, .code_type = 240, .baseline_kind = 11, .shared_type = 257,
		 .script_type = 170,
		 .bytecode_type = 195, .bytes_type = 194, .nonstring_type = 128, .code_start = 128,
		 .bytecode_start = 56, SCOPE_TO_12 },
	[11] = { ALL, DEOPT_TO_12, .version = 11, .code_type = 245, .baseline_kind = 11,
		 .code_flags = 48,
		 .code_deopt = 16, .stream_start = 16, .shared_type = 262, .script_type = 167,
		 .bytecode_type = 191,
		 .bytes_type = 190, .nonstring_type = 128, .function_shared = 24,
		 .function_code = 48, .shared_name = 16, .shared_script = 32, .code_start = 40,
		 .code_size = 56, .code_table = 24, .bytecode_table = 32, .bytecode_start = 54,
		 SCOPE_TO_12 },
	[12] = { SINCE_12, DEOPT_TO_12, .version = 12, .code_type = 206, .code_flags = 48,
		 .shared_type = 274, .script_type = 167,
		 .bytecode_type = 205, .bytes_type = 186, .bytes_trusted_type = 212,
		 .nonstring_type = 128, .shared_name = 16, .shared_script = 32, .code_size = 52,
		 SCOPE_TO_12 },
	[13] = { SINCE_12, DEOPT_SINCE_13, .version = 13, .code_type = 187, .code_flags = 52,
		 .shared_type = 282, .script_type = 167,
		 .bytecode_type = 186, .bytes_type = 217, .bytes_trusted_type = 196,
		 .nonstring_type = 128, .shared_name = 24, .shared_script = 40, .code_size = 56,
		 SCOPE_SINCE_13 },
	[14] = { SINCE_12, DEOPT_SINCE_13, .version = 14, .code_type = 186, .code_flags = 52,
		 .shared_type = 288, .script_type = 166,
		 .bytecode_type = 185, .bytes_type = 218, .bytes_trusted_type = 196,
		 .nonstring_type = 128, .shared_name = 24, .shared_script = 40, .code_size = 56,
		 SCOPE_SINCE_13 },
};
#define RELEASES (sizeof(releases) / sizeof(*releases))

/* The first version whose stacks have the number of arguments below the function. */
#define ARGUMENTS_IN_FRAME 9

#define PREFIX	"v8dbg_"
#define MAJOR	"_ZN2v88internal7Version6major_E"
#define ISOLATE "_ZN2v88internal18g_current_isolate_E"
/* What programs that take node's add-ons export. */
#define ADD_ONS "napi_module_register"
/* A builtin that looks up where a function's code begins. */
#define CALL	"Builtins_CallFunction_ReceiverIsAny"
/* The first version whose functions have a handle for their code. */
#define HANDLES 13

struct reading {
	const struct elf_file *f;
	uint32_t major;		/* 0: not known */
	uint32_t found;		/* constants */
	int add_ons;		/* it defines ADD_ONS */
	uint64_t isolate;	/* where the thread's is,
	in the thread's own variables; 0: not known */
	uint64_t call;		/* address of CALL; 0: not known */
	struct ebp_v8 said;	/* 0: not */
};

/* What the file has at @address: 0, or negative. */
static int read_at(const struct elf_file *f, uint64_t address, void *to, size_t size)
{
	const struct elf_segment *s;
	size_t n = elf_file_segments(f, &s);

	for (size_t i = 0; i < n; i++)
		if (s[i].type == PT_LOAD && address >= s[i].vaddr &&
		    address - s[i].vaddr < s[i].filesz &&
		    size <= s[i].filesz - (address - s[i].vaddr))
			return elf_file_read(f, s[i].offset + (address - s[i].vaddr), to, size);
	return -1;
}

static void take_constant(struct reading *r, const Elf64_Sym *sym, const char *name)
{
	int32_t value;
	uint16_t field;

	for (size_t i = 0; i < sizeof(constants) / sizeof(*constants); i++) {
		if (strcmp(name, constants[i].name))
			continue;
		if (read_at(r->f, sym->st_value, &value, sizeof(value)))
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

	if (ELF64_ST_TYPE(sym->st_info) == STT_TLS && !strcmp(name, ISOLATE))
		r->isolate = sym->st_value;
	if (!r->call && !strcmp(name, CALL))
		r->call = sym->st_value;
	r->add_ons |= !strcmp(name, ADD_ONS);
	if (ELF64_ST_TYPE(sym->st_info) != STT_OBJECT)
		return;
	if (!strncmp(name, PREFIX, strlen(PREFIX)))
		take_constant(r, sym, name + strlen(PREFIX));
	else if (!r->major && !strcmp(name, MAJOR) &&
		 !read_at(r->f, sym->st_value, &major, sizeof(major)) && major > 0)
		r->major = (uint32_t)major;
}

#define CALL_BYTES	256	/* of CALL that are searched */
#define ISOLATE_ROOT	128	/* from an isolate to what the root register has */

/*
 * Where the address of the table of handles is in an isolate, as CALL knows it; 0: it is not found:
 *	mov DISP32(%r13), %r10; mov %r15, %rcx; shr $8, %ecx; shl $4, %ecx
 */
static uint32_t find_dispatch(const struct reading *r)
{
	static const uint8_t load[] = { 0x4d, 0x8b, 0x95 };
	static const uint8_t index[] = { 0x49, 0x8b, 0xcf, 0xc1, 0xe9, 8, 0xc1, 0xe1, 4 };
	uint8_t code[CALL_BYTES];
	int32_t at;

	if (!r->call || read_at(r->f, r->call, code, sizeof(code)))
		return 0;
	for (size_t i = 0; i + sizeof(load) + 4 + sizeof(index) <= sizeof(code); i++) {
		memcpy(&at, code + i + sizeof(load), sizeof(at));
		if (!memcmp(code + i, load, sizeof(load)) && at > 0 &&
		    !memcmp(code + i + sizeof(load) + 4, index, sizeof(index)))
			return (uint32_t)at + ISOLATE_ROOT;
	}
	return 0;
}

/* A program's own thread variables end where the thread pointer points to. */
static int64_t find_isolate(const struct reading *r)
{
	const struct elf_segment *s;
	size_t n = elf_file_segments(r->f, &s);

	for (size_t i = 0; i < n && r->isolate; i++)
		if (s[i].type == PT_TLS && r->isolate < s[i].memsz && s[i].memsz < INT32_MAX)
			return (int64_t)r->isolate - (int64_t)((s[i].memsz + 7) & ~7ull);
	return 0;
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
	if (r->major >= HANDLES) {
		o.dispatch = find_dispatch(r);
		o.isolate = o.dispatch ? find_isolate(r) : 0;
	}
	return o;
}

/* Whether a file of that name may be node. */
static int may_be_node(const char *path)
{
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	return !strncmp(name, "node", 4) || !strncmp(name, "libnode", 7) ||
	       !strncmp(name, "nsolid", 6);
}

/* What is of no use in a file that exports node's interface for add-ons. */
static void say_why(const struct reading *r, const char *name, struct lang_image *out)
{
	const char *why = NULL;

	if (!may_be_node(name))
		why = "functions of JavaScript are read of node only";
	else if (!r->found)
		why = "its V8 does not say where its frames are";
	else if (!r->major || elf_file_machine(r->f) != EM_X86_64)
		why = "its version of V8 is not known";
	if (why)
		snprintf(out->why, sizeof(out->why), "%s", why);
	else if (r->major >= RELEASES || !releases[r->major].version)
		snprintf(out->why, sizeof(out->why), "V8 %u is not known", r->major);
}

static void recognise(const struct elf_file *f, const char *name, struct lang_image *out)
{
	struct reading r = { .f = f };
	struct ebp_v8 layout;

	/* Those that are to be as node (Electron, Deno, Bun) export it, too. */
	if (!elf_may_export(f, ADD_ONS))
		return;
	elf_lookup_each(f, take_symbol, &r);
	if (!r.add_ons)
		return;
	say_why(&r, name, out);
	if (*out->why)
		return;
	layout = layout_of(&r);
	out->ops = &lang_v8;
	memcpy(out->layout.words, &layout, sizeof(layout));
}

const struct lang_ops lang_v8 = {
	.name = "JavaScript",
	.reads = "node 12 to 26 (x86-64)",
	.language = EBP_LANGUAGE_V8,
	.files = { "node", "nsolid" },
	.anonymous = "(anonymous)",
	.recognise = recognise,
	.line = v8_line,
	.complete = v8_complete,
	.frames = v8_frames,
	.release = v8_release,
	.open = v8_scripts_new,
	.close = v8_scripts_free,
};
