/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CPython in a process: its layout (lang.h). */
#ifndef EBPROF_PYTHON_H
#define EBPROF_PYTHON_H

#include "bpf/lang.h"

/* How the current frame is found, and the place in its code. */
/* the thread's state has a C frame that has it (3.11, 3.12) */
#define EBP_PYTHON_CFRAME	1u
#define EBP_PYTHON_POINTER	2u	/* the place is an address, not an index */
#define EBP_PYTHON_BYTES	4u	/* the index is of bytes, not of instructions (to 3.9) */
#define EBP_PYTHON_ALWAYS_ENTRY	8u	/* each frame is a call of the interpreter (to 3.10) */
#define EBP_PYTHON_OWNER	16u	/* a frame owned by the C stack marks the call (3.12) */
#define EBP_PYTHON_BARE_KEY	32u	/* the key is an int by itself (3.6) */
#define EBP_PYTHON_BASE		64u	/* the last frame is the thread's, not a call's (3.15) */
/* How the thread's state is found where there is no key (3.15): */
#define EBP_PYTHON_TLS		128u	/* in the program's own thread-local storage */
#define EBP_PYTHON_MODULE	256u	/* in that of a library */
#define EBP_PYTHON_MUSL		512u	/* the keys' values are an array of its own */

#define EBP_PYTHON_SELF	 16u
#define EBP_PYTHON_SELVES 8u	/* with the first */

/* Where CPython keeps what; offsets in bytes, all below the sizes beside them. */
struct ebp_python {
	/* offsets from the mapping's bias: */
	/*
	 * of the key of the thread's state, a Py_tss_t: int is_initialized, pthread_key_t.
	 * EBP_PYTHON_MODULE: of the library's number, and an offset in its storage; EBP_PYTHON_TLS:
	 * from the thread pointer
	 */
	__u64 key;
	__u64 code_type, unicode_type;
	__u32 flags;		/* EBP_PYTHON_* */
	/* of PyThreadState: */
	__u16 thread_id, current;
	__u16 cframe_current, cframe_previous;	/* of the C frame */
	/* of a frame: */
	__u16 frame_bytes;	/* that are read of it: at most 127 */
	__u16 frame_code, frame_back, frame_place, frame_entry;
	/* of the byte at frame_entry, where a call of the interpreter began */
	__u16 entry_value;
	/* of a code object: */
	__u16 code_bytes;	/* that are read of it: at most 255 */
	__u16 code_first_line, code_file, code_name, code_table;
	__u16 code_start;	/* of the first instruction; EBP_PYTHON_POINTER */
	/* of strings, by their form: where the characters begin */
	__u16 ascii, compact;
	__u16 minor;		/* the version: 3.minor */
	__u16 slot;		/* EBP_PYTHON_MODULE: from the offset there */
	/*
	 * struct pthread begins so far below the thread pointer, or up to @selves steps of
	 * EBP_PYTHON_SELF more: on aarch64 it ends there, and its size goes by glibc's version
	 */
	__u16 self, selves;
	/* its first block of keys, entries {sequence, value}; EBP_PYTHON_MUSL: their array */
	__u16 keys;
	/* of PyThreadState: its interpreter, and that one's number (since 3.12); 0: not known */
	__u16 thread_interp, interp_id;
	/* of a code object: a number that no other one of its interpreter has (3.12); 0: none */
	__u16 code_version;
	/* a bit for each word of a code object that never changes and tells it from others */
	__u64 code_words;
	/*
	 * asyncio (since 3.14): of PyThreadState, the task that runs; 0: not known. Of a task: its
	 * coroutine; who awaits it, and a byte that says that these are several. Of a coroutine its
	 * frame, and the byte that has @awaits where it waits for what is on top of its stack; of
	 * the frame where that ends.
	 */
	__u16 running_task;
	__u16 task_coroutine, task_awaiter, task_awaiters;
	__u16 coroutine_frame, frame_stack;
	__u16 coroutine_state, awaits;
	/* from the mapping's bias */
	__u64 coroutine_type, generator_type;
};
_Static_assert(sizeof(struct ebp_python) == 120, "wire");

_Static_assert(sizeof(struct ebp_python) <= 8 * EBP_LAYOUT_WORDS, "wire");

#endif
