/* SPDX-License-Identifier: MIT */
/* What the commands that serve a page have in common: their options, and what they say. */
#ifndef EBPROF_SERVING_H
#define EBPROF_SERVING_H

#include "base/error.h"
#include "base/user.h"
#include "output/output.h"
#include "profile/profile.h"
#include "serve/server.h"

/* Rows; @at: the offset of a struct server_options. */
#define SERVING_OPTIONS(at, commands) \
	{ 0, 0, "listen", "ADDRESS", cli_string, at + offsetof(struct server_options, listen), \
	  "an address of this machine alone: 127.0.0.1 (default), ::1", commands }, \
	{ 0, 0, "port", "N", cli_count, at + offsetof(struct server_options, port), \
	  "listen at this port (default: one that is free)", commands }, \
	{ 0, 0, "open", NULL, cli_flag, at + offsetof(struct server_options, open), \
	  "show the page in your browser, too (xdg-open)", (commands) | CLI_BRIEF }

/*
 * Begins with @page, which it takes: says where it is, and opens it where that was asked for. NULL
 * with @e filled.
 */
struct server *serving_begin(const struct server_options *o, struct outfile_bytes *page,
			     const struct user *u, struct error *e);
/* The page of a profile, until a signal asks for the end. 0, or a negative errno with @e filled. */
int serving_show(const struct profile *p, const struct server_options *o,
		 const struct output_options *output, struct error *e);

#endif
