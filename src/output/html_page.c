/* SPDX-License-Identifier: MIT */
#include "output/html_page.h"

/* HTML_PAGE: where the build put the assembled page. */
__asm__(".pushsection .rodata\n"
	".global html_page\n"
	"html_page:\n"
	".incbin \"" HTML_PAGE "\"\n"
	".byte 0\n"
	".popsection\n");
