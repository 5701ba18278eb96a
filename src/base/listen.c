/* SPDX-License-Identifier: MIT */
#include "base/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int listen_host(const char *host, uint16_t port, union listen_address *to)
{
	char text[INET6_ADDRSTRLEN];
	size_t n = strlen(host);
	int brackets = n > 2 && *host == '[' && host[n - 1] == ']';

	if (n >= sizeof(text))
		return -EINVAL;
	*to = (union listen_address){ 0 };
	snprintf(text, sizeof(text), "%.*s", (int)(brackets ? n - 2 : n), host + brackets);
	if (brackets || strchr(text, ':')) {
		to->v6.sin6_family = AF_INET6;
		to->v6.sin6_port = htons(port);
		return inet_pton(AF_INET6, text, &to->v6.sin6_addr) == 1 ? 0 : -EINVAL;
	}
	to->v4.sin_family = AF_INET;
	to->v4.sin_port = htons(port);
	return inet_pton(AF_INET, text, &to->v4.sin_addr) == 1 ? 0 : -EINVAL;
}

int listen_parse(const char *text, union listen_address *to)
{
	const char *colon = strrchr(text, ':'), *digits = colon ? colon + 1 : text;
	size_t n = colon ? (size_t)(colon - text) : 0;
	char host[INET6_ADDRSTRLEN + sizeof("[]")] = "127.0.0.1", *end;
	unsigned long port = strtoul(digits, &end, 10);

	if (*end || !*digits || digits[strspn(digits, "0123456789")] || port > UINT16_MAX ||
	    n >= sizeof(host))
		return -EINVAL;
	if (n)
		snprintf(host, sizeof(host), "%.*s", (int)n, text);
	/* "::1:80" would have two meanings. */
	if (n && *host != '[' && strchr(host, ':'))
		return -EINVAL;
	return listen_host(host, (uint16_t)port, to);
}

int listen_is_loopback(const union listen_address *a)
{
	if (a->any.sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
	return ntohl(a->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

static socklen_t size_of(const union listen_address *a)
{
	return a->any.sa_family == AF_INET ? sizeof(a->v4) : sizeof(a->v6);
}

int listen_open(union listen_address *a, int backlog)
{
	int fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;
	socklen_t size = size_of(a);
	int err;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (!bind(fd, &a->any, size) && !listen(fd, backlog) && !getsockname(fd, &a->any, &size))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

uint16_t listen_port(const union listen_address *a)
{
	return ntohs(a->any.sa_family == AF_INET ? a->v4.sin_port : a->v6.sin6_port);
}

void listen_text(const union listen_address *a, char text[LISTEN_TEXT])
{
	char host[INET6_ADDRSTRLEN] = "";
	int v6 = a->any.sa_family == AF_INET6;
	const void *from = v6 ? (const void *)&a->v6.sin6_addr : (const void *)&a->v4.sin_addr;

	inet_ntop(a->any.sa_family, from, host, sizeof(host));
	snprintf(text, LISTEN_TEXT, v6 ? "[%s]:%u" : "%s:%u", host, (unsigned int)listen_port(a));
}
