/* SPDX-License-Identifier: MIT */
#include "profile/frame_kind.h"

const struct frame_kind_row frame_kinds[FRAME_KINDS] = {
	[FRAME_USER] = { .name = "user" },
	[FRAME_KERNEL] = { .name = "kernel" },
	[FRAME_MARK] = { .name = "mark" },
	[FRAME_PYTHON] = { .name = "python" },
};
