/* SPDX-License-Identifier: MIT */
/* Addresses of our own that others connect to, TCP over IPv4 and IPv6; never names. */
#ifndef EBPROF_LISTEN_H
#define EBPROF_LISTEN_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

union listen_address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

#define LISTEN_TEXT (INET6_ADDRSTRLEN + sizeof("[]:65535"))

/* @host is 127.0.0.1, ::1 or [::1] and the like. 0, or -EINVAL where it is no address. */
int listen_host(const char *host, uint16_t port, union listen_address *to);
/* ADDRESS:PORT, :PORT or PORT, [ADDRESS]:PORT for IPv6; by itself a port is one of 127.0.0.1. */
int listen_parse(const char *text, union listen_address *to);
/* 1 where only this machine can connect: 127.0.0.0/8, ::1. */
int listen_is_loopback(const union listen_address *a);
/* A descriptor, which does not block, or a negative errno; where the port is 0, @a gets another. */
int listen_open(union listen_address *a, int backlog);
uint16_t listen_port(const union listen_address *a);
/* "127.0.0.1:9464", "[::1]:9464": as a URL has it. */
void listen_text(const union listen_address *a, char text[LISTEN_TEXT]);

#endif
