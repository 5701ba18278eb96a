/* SPDX-License-Identifier: MIT */
/* The text of the flame graph page, as flamegraph/assemble makes it of the files there. */
#ifndef EBPROF_HTML_PAGE_H
#define EBPROF_HTML_PAGE_H

extern const char html_page[];

#define HTML_PAGE_DATA "<!--profile-->\n"	/* stands in it once: there the profile goes */

/* What its policy says of connections, where it first stands in it; and that of a live page. */
#define HTML_PAGE_CONNECT "connect-src 'none'"
#define HTML_PAGE_CONNECT_LIVE "connect-src 'self'"
/* In place of a profile, where one comes bit by bit. */
#define HTML_PAGE_LIVE "<script type=\"application/json\" id=\"live\">{}</script>\n"

#endif
