/* SPDX-License-Identifier: MIT */
/* How stacks are taken, and what that may use; the same for all ways of measuring. */
#ifndef EBPROF_STACK_OPTIONS_H
#define EBPROF_STACK_OPTIONS_H

#include <stdint.h>

struct stack_options {
	int user_only, kernel_only;	/* not both */
	int per_thread;			/* outputs tell threads apart by their ids */
	/* each sample with its time, as long as there is room; not, even if it costs little */
	int timeline, no_timeline;
	uint64_t max_frames;		/* at most EBP_FRAMES_MAX */
	/* what the kernel cannot finish is not sent to user space */
	int no_rescue;
	int native;			/* frames of interpreters are shown, too */
	int await;			/* tasks that await the one that runs are shown below it */
	uint64_t unwind_memory;		/* bytes of unwind tables, at most */
	uint64_t buffer;		/* bytes of the ring buffer; 0: chosen */
};

#endif
