/* SPDX-License-Identifier: MIT */
/*
 * libmicrohttpd, loaded where it is needed alone: it brings GnuTLS and what that needs with it,
 * which no other command should take the time and the memory for. Debian has not all of that as
 * static libraries (p11-kit), so a static program cannot have it, either.
 */
#ifndef EBPROF_MICROHTTPD_H
#define EBPROF_MICROHTTPD_H

#include <microhttpd.h>

/* Its functions of these names. */
struct microhttpd {
	__typeof__(MHD_start_daemon) *start_daemon;
	__typeof__(MHD_get_daemon_info) *get_daemon_info;
	__typeof__(MHD_get_timeout) *get_timeout;
	__typeof__(MHD_run) *run;
	__typeof__(MHD_get_connection_values) *get_connection_values;
	__typeof__(MHD_create_response_from_buffer) *create_response_from_buffer;
	__typeof__(MHD_add_response_header) *add_response_header;
	__typeof__(MHD_queue_response) *queue_response;
	__typeof__(MHD_destroy_response) *destroy_response;
};

/* 0, or -ELIBACC where it is not there, or another one. It stays loaded. */
int microhttpd_load(struct microhttpd *m);

#endif
