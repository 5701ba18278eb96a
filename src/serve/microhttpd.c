/* SPDX-License-Identifier: MIT */
#include "serve/microhttpd.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>

#define LIBRARY "libmicrohttpd.so.12"

int microhttpd_load(struct microhttpd *m)
{
	const struct { const char *name; void *to; } functions[] = {
		{ "MHD_start_daemon", &m->start_daemon },
		{ "MHD_get_daemon_info", &m->get_daemon_info },
		{ "MHD_get_timeout", &m->get_timeout },
		{ "MHD_run", &m->run },
		{ "MHD_get_connection_values", &m->get_connection_values },
		{ "MHD_create_response_from_buffer", &m->create_response_from_buffer },
		{ "MHD_add_response_header", &m->add_response_header },
		{ "MHD_queue_response", &m->queue_response },
		{ "MHD_destroy_response", &m->destroy_response },
	};
	/* A static program would load another C library than its own. */
	void *library = getauxval(AT_BASE) ? dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL) : NULL;

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		void *function = library ? dlsym(library, functions[i].name) : NULL;

		if (!function)
			return -ELIBACC;
		memcpy(functions[i].to, &function, sizeof(function));
	}
	return 0;
}
