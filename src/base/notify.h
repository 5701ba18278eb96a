/* SPDX-License-Identifier: MIT */
/*
 * What systemd, or who else has set NOTIFY_SOCKET, wants to know of a service: lines such as
 * "READY=1" (sd_notify(3)). Open it before the sandbox is entered; nothing waits for the reader.
 */
#ifndef EBPROF_NOTIFY_H
#define EBPROF_NOTIFY_H

#include <stdint.h>

struct notify;

/* NULL where nobody wants to know. */
struct notify *notify_new(void);
/* Lines with their ends between them. Takes NULL; what cannot be sent now is dropped. */
void notify_send(struct notify *n, const char *text);
/*
 * For a loop: @n is a struct notify or NULL, @now CLOCK_MONOTONIC ns. Reports that we are alive,
 * where that is asked for, in time; returns when it wants to be called again.
 */
uint64_t notify_turn(void *n, uint64_t now);
void notify_free(struct notify *n);

#endif
