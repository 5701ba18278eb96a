/* SPDX-License-Identifier: MIT */
/*
 * Lines on standard error, as a service says them: where that is the journal, each begins with how
 * much it matters, "<3>" (sd-daemon(3)), by which journalctl -p chooses.
 */
#ifndef EBPROF_SAY_H
#define EBPROF_SAY_H

/* The numbers of syslog(3). */
enum say_level { SAY_ERROR = 3, SAY_WARNING = 4, SAY_NOTICE = 5, SAY_INFO = 6 };

/* "ebprof: ", the text, and the line's end, by one call of write(2). The text is clean. */
void say(enum say_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
