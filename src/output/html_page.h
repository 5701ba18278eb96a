/* SPDX-License-Identifier: MIT */
/* The text of the flame graph page, as flamegraph/assemble makes it of the files there. */
#ifndef EBPROF_HTML_PAGE_H
#define EBPROF_HTML_PAGE_H

extern const char html_page[];

#define HTML_PAGE_DATA "<!--profile-->\n"	/* stands in it once: there the profile goes */

#endif
