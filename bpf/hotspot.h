/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * HotSpot in a process: where a build of it keeps its code, its methods, and their names.
 *
 * It says so itself, in the tables that gHotSpotVMStructs and the like lead to
 * (src/hotspot/share/runtime/vmStructs.hpp).
 */
#ifndef EBPROF_HOTSPOT_H
#define EBPROF_HOTSPOT_H

#include "bpf/lang.h"

#define EBP_HOTSPOT_CODE_OFFSET	1u	/* a blob has offsets of its code, not addresses (25) */
#define EBP_HOTSPOT_SHORT	2u	/* frame_complete is of 16 bits (25) */
#define EBP_HOTSPOT_IMMUTABLE	4u	/* scopes lie apart from the code (23) */
#define EBP_HOTSPOT_NO_ZERO	8u	/* UNSIGNED5 without bytes of 0 (20) */
/* the class has the source file's name, not its pool (11) */
#define EBP_HOTSPOT_CLASS_FILE	16u
#define EBP_HOTSPOT_MUTABLE	32u	/* metadata lie apart from the code (25) */
/* one heap of code, whose bounds are those of all; scopes' data have an offset, too (8) */
#define EBP_HOTSPOT_ONE_HEAP	64u

/* Offsets in bytes, in what is named; all are masked where they are used. */
struct ebp_hotspot {
	/* static fields, as offsets from the mapping's bias */
	__u64 heaps;			/* CodeCache::_heaps, or its one _heap */
	__u64 low, high;		/* CodeCache::_low_bound, _high_bound */
	__u64 interpreter;		/* AbstractInterpreter::_code */
	__u32 flags;			/* EBP_HOTSPOT_* */
	__u32 version;			/* 17, 21, ... */
	__u16 array_data;		/* GrowableArray */
	__u16 heap_start, heap_end;	/* CodeHeap: what is reserved for it, */
	/* which block a segment is of, and log2 of its size */
	__u16 heap_segmap, heap_shift;
	__u16 block;			/* bytes of a HeapBlock's header, before its CodeBlob */
	__u16 queue_start, queue_bytes;	/* StubQueue */
	/* CodeBlob and nmethod: */
	__u16 blob_bytes;		/* that are read of it */
	__u16 blob_header;		/* where a blob has the size of its own structure, */
	__u16 method_header;		/* and what it is of a method's */
	__u16 blob_name, blob_frame, blob_complete, blob_code;
	__u16 method, compile_id, orig_pc;
	__u16 pcs, pcs_end, scopes;	/* PcDesc and the scopes' data */
	__u16 data;			/* EBP_HOTSPOT_IMMUTABLE: what these are offsets of */
	/* EBP_HOTSPOT_MUTABLE: where the data lie, and after how many bytes metadata begin */
	__u16 mutable_data;
	__u16 metadata;
	/* Method, ConstMethod, ConstantPool, Klass, Symbol: */
	__u16 method_const, method_entry;	/* where the interpreter begins it */
	__u16 const_bytes;		/* of a ConstMethod, before its bytecodes */
	__u16 const_pool, const_size, const_flags, const_code, const_name;
	__u16 pool_bytes;		/* of a ConstantPool, before its entries */
	__u16 pool_holder, pool_file;
	__u16 class_name, class_file;
	__u16 symbol_length, symbol_body;
	__u16 bcp;			/* of an interpreted frame: words below its frame pointer */
};
_Static_assert(sizeof(struct ebp_hotspot) <= 8 * EBP_LAYOUT_WORDS, "wire");

#endif
