/* SPDX-License-Identifier: MIT */
/*
 * An ELF file (gABI; 32 and 64 bits, little endian), read with pread.
 *
 * Why not mmap or libelf: the file belongs to the target and may be truncated,
 * overwritten or replaced while we read; a mapping would then kill a profiler
 * that runs as root with SIGBUS. Every offset, count and size is checked
 * against the file's size and the limits below. Not thread safe.
 */
#ifndef EBPROF_ELF_FILE_H
#define EBPROF_ELF_FILE_H

#include <stddef.h>
#include <stdint.h>

#define ELF_BUILD_ID_MAX 20	/* bytes kept, as the kernel keeps (BUILD_ID_SIZE_MAX) */

struct elf_file;

struct elf_segment {		/* a PT_* program header */
	uint32_t type, flags;
	uint64_t offset, vaddr, filesz, memsz;
};

struct elf_section {
	const char *name;	/* "" where it has none */
	uint32_t type, link, info;
	uint64_t flags, addr, offset, size, entsize;
};

/*
 * Reads headers, program headers and section headers. Borrows @fd, which must
 * stay open. NULL with errno: ENOEXEC not an ELF file we read, EBADMSG
 * malformed beyond use, or pread's. A file whose section headers are damaged
 * or stripped opens with 0 sections: its segments may still serve.
 */
struct elf_file *elf_file_open(int fd);
/* The same over @size bytes at @mem (the vDSO), borrowed. */
struct elf_file *elf_file_open_memory(const void *mem, size_t size);
void elf_file_free(struct elf_file *f);

size_t elf_file_segments(const struct elf_file *f, const struct elf_segment **out);
size_t elf_file_sections(const struct elf_file *f, const struct elf_section **out);
/* The first section of that name, or NULL. */
const struct elf_section *elf_file_section(const struct elf_file *f, const char *name);

/*
 * Bytes that may be there: the file's size, but far less where nearly all of it is a hole. Who
 * takes memory or time by what a file says of itself is bound by this, because a hole costs
 * nothing.
 */
uint64_t elf_file_stored(const struct elf_file *f);
int elf_file_is64(const struct elf_file *f);
uint16_t elf_file_machine(const struct elf_file *f);	/* EM_* */
uint16_t elf_file_type(const struct elf_file *f);	/* ET_* */
/* e_entry: where a program begins; 0: nowhere */
uint64_t elf_file_entry(const struct elf_file *f);

/*
 * Reads exactly @size bytes at @offset of the file. 0, or -EBADMSG outside of the file, or pread's
 * error.
 */
int elf_file_read(const struct elf_file *f, uint64_t offset, void *dst, size_t size);

/*
 * The string at @offset, cut to @size - 1 bytes, terminated. The bytes from @end on end it, too: a
 * string table need not end with a zero. 0, -EBADMSG: there is none, or pread's error.
 */
int elf_file_string(const struct elf_file *f, uint64_t offset, uint64_t end, char *dst,
		    size_t size);

/*
 * The section's bytes, in a malloc'd block with one NUL byte added behind them
 * (a string table ends whatever it holds). NULL with errno: EFBIG over @limit
 * bytes, EBADMSG outside of the file or SHT_NOBITS, ENOTSUP compressed.
 */
void *elf_file_section_data(const struct elf_file *f, const struct elf_section *s, size_t limit,
			    size_t *size);

/*
 * NT_GNU_BUILD_ID from the PT_NOTE segments, else from the SHT_NOTE sections.
 * Returns its length in bytes (1..ELF_BUILD_ID_MAX), 0 where there is none or a
 * longer one, which the kernel does not take either.
 */
size_t elf_file_build_id(const struct elf_file *f, uint8_t id[ELF_BUILD_ID_MAX]);

/* The same from the notes themselves, such as the running kernel's (/sys/kernel/notes). */
size_t elf_notes_build_id(const void *notes, size_t size, uint8_t id[ELF_BUILD_ID_MAX]);

/*
 * The virtual address (as in the symbol table) of the byte at @offset of the
 * file, by the PT_LOAD segment that holds it; an executable one is preferred
 * where two segments share a page of the file. 0, or -ENOENT.
 */
int elf_file_vaddr(const struct elf_file *f, uint64_t offset, uint64_t *vaddr);

#endif
