/* SPDX-License-Identifier: MIT */
#include "push/place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/say.h"
#include "base/text.h"

#define BODY_MOST (3u << 20)	/* bytes after which a window is split: servers take 4 MiB */
#define URL_TEXT 2048

struct place_ops {
	const char *prefix;		/* of what the user writes */
	const struct body_ops *body;	/* NULL: a file a service */
	const char *path;		/* below the server's URL */
	const char *parts_path;		/* that older servers have; NULL: none */
	enum answer_protocol protocol;
	int packed;			/* the body is compressed */
	unsigned int wants;		/* of pprof's profiles: enum place_wants */
	const char *headers[5];
};

static const struct place_ops rows[] = {
	{ .prefix = "dir:", .wants = PLACE_PACKED },
	{ "otlp+", &body_otlp, "/v1development/profiles", NULL, ANSWER_OTLP, .packed = 1,
	  .headers = { "Content-Type: application/x-protobuf", "Content-Encoding: gzip" } },
	{ "pyroscope+", &body_pyroscope, "/push.v1.PusherService/Push", "/ingest", ANSWER_PLAIN,
	  .packed = 1, .wants = PLACE_PPROF,
	  .headers = { "Content-Type: application/proto", "Content-Encoding: gzip",
		       "Connect-Protocol-Version: 1" } },
	{ "parca+", &body_parca,
	  "/api/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw", NULL,
	  ANSWER_GRPC_WEB, .wants = PLACE_PPROF,
	  .headers = { "Content-Type: application/grpc-web+proto", "Grpc-Encoding: gzip",
		       "Accept: application/grpc-web+proto", "X-Grpc-Web: 1" } },
};
#define ROWS (sizeof(rows) / sizeof(*rows))

struct place {
	const struct place_ops *ops;
	const struct place_options *options;
	const char *to;
	struct user user;
	char url[URL_TEXT], parts_url[URL_TEXT];	/* "": not used */
	struct folder *folder;		/* of files, or the spool's */
	struct spool *spool;		/* NULL: files */
	struct courier *courier;
	void *body;			/* NULL: nothing was added to this window */
	uint64_t start, samples;	/* of it */
	int failing;			/* the error of the last file, which was said */
	struct place_counts counts;
};

static const struct place_ops *row_of(const char *to)
{
	for (size_t i = 0; i < ROWS; i++)
		if (!strncmp(to, rows[i].prefix, strlen(rows[i].prefix)))
			return &rows[i];
	return strstr(to, "://") ? NULL : &rows[0];
}

int place_is_server(const char *to)
{
	const struct place_ops *ops = row_of(to);

	return ops && ops->body;
}

/* 1 where the @n bytes of @text end so, and not there any more. */
static int cut(const char *text, size_t *n, const char *tail)
{
	size_t length = tail ? strlen(tail) : 0;

	if (!length || *n < length || strncmp(text + *n - length, tail, length))
		return 0;
	*n -= length;
	return 1;
}

/* Room is checked for. */
static void join(char url[URL_TEXT], const char *text, size_t n, const char *tail)
{
	memcpy(url, text, n);
	memcpy(url + n, tail, strlen(tail) + 1);
}

/* @text is the server's URL. 0 or a negative errno with @e filled. */
static int make_url(struct place *p, const char *text, struct error *e)
{
	const char *host = strstr(text, "://"), *path = p->ops->path, *parts = p->ops->parts_path;
	size_t n = strlen(text);

	if ((strncmp(text, "http://", 7) && strncmp(text, "https://", 8)) || !host[3])
		return error_set(e, STATUS_USAGE, -EINVAL, "--to '%.200s': %shttp://HOST:PORT or "
				 "%shttps://HOST:PORT", p->to, p->ops->prefix, p->ops->prefix);
	if (memchr(host + 3, '@', strcspn(host + 3, "/?#")))
		return error_set(e, STATUS_USAGE, -EINVAL, "--to: all users can see a password on "
				 "the command line: --token-file FILE, or " COURIER_TOKEN
				 " in the environment");
	if (strpbrk(text, " \t\r\n?#") || n + strlen(path) >= sizeof(p->url))
		return error_set(e, STATUS_USAGE, -EINVAL, "--to '%.200s': a URL without blanks "
				 "and without ? and #", p->to);
	while (n && text[n - 1] == '/')
		n--;
	if (!cut(text, &n, parts)) {
		cut(text, &n, path);
		join(p->url, text, n, path);
	}
	if (parts)
		join(p->parts_url, text, n, parts);
	return 0;
}

static int open_files(struct place *p, struct error *e)
{
	const char *path = p->to;
	const struct folder_options o = { .keep_for = p->options->keep_for,
					  .keep_bytes = p->options->keep_bytes,
					  .suffix = FOLDER_PROFILES };

	if (!strncmp(path, p->ops->prefix, strlen(p->ops->prefix)))
		path += strlen(p->ops->prefix);
	p->folder = folder_open(path, &p->user, &o, e);
	return p->folder ? 0 : -EIO;
}

static int open_server(struct place *p, struct error *e)
{
	int err = make_url(p, p->to + strlen(p->ops->prefix), e);

	if (err)
		return err;
	p->spool = spool_open(p->to, &p->user, &p->options->spool, e);
	if (!p->spool)
		return -EIO;
	p->folder = spool_folder(p->spool);
	return 0;
}

/* Names the places that there are. -EINVAL with @e filled. */
static int refuse(const char *to, struct error *e)
{
	char known[256] = "";

	for (size_t i = 0; i < ROWS; i++)
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s%s",
			 !i ? "" : i + 1 < ROWS ? ", " : " or ", rows[i].prefix,
			 rows[i].body ? "http://HOST:PORT" : "PATH");
	return error_set(e, STATUS_USAGE, -EINVAL, "--to '%.200s': %s; also with https", to,
			 known);
}

struct place *place_open(const char *to, const struct user *u, const struct place_options *o,
			 struct error *e)
{
	struct place *p = xcalloc(1, sizeof(*p));
	int err;

	*p = (struct place){ .ops = row_of(to), .options = o, .to = to, .user = *u };
	if (!p->ops)
		err = refuse(to, e);
	else
		err = p->ops->body ? open_server(p, e) : open_files(p, e);
	if (!err)
		return p;
	place_free(p);
	return NULL;
}

void place_free(struct place *p)
{
	if (!p)
		return;
	place_finish(p);
	if (p->body)
		p->ops->body->end(p->body, NULL);
	if (p->spool)
		spool_free(p->spool);
	else
		folder_free(p->folder);
	free(p);
}

int place_start(struct place *p, struct error *e)
{
	const struct courier_setup setup = {
		.options = &p->options->courier, .user = &p->user, .spool = p->spool, .to = p->to,
		.url = *p->url ? p->url : NULL, .headers = p->ops->headers,
		.parts_url = *p->parts_url ? p->parts_url : NULL, .protocol = p->ops->protocol,
	};

	if (!p->spool)
		return 0;
	p->courier = courier_new(&setup, e);
	return p->courier ? 0 : -EIO;
}

pid_t place_pid(const struct place *p)
{
	return p->courier ? courier_pid(p->courier) : 0;
}

struct folder *place_folder(const struct place *p)
{
	return p->folder;
}

unsigned int place_wants(const struct place *p)
{
	return p->ops->wants;
}

/* --- Writing. -------------------------------------------------------------------- */

/* Says what changed: a folder that is full would fill the journal, too. */
static void tell(struct place *p, int err)
{
	char path[512];

	if (err == p->failing)
		return;
	p->failing = err;
	text_clean(path, sizeof(path), folder_path(p->folder));
	if (err)
		say(SAY_WARNING, "cannot write to %s: %s; samples are dropped there", path,
		    strerror(-err));
	else
		say(SAY_NOTICE, "can write to %s again", path);
}

static void count(struct place *p, int err, uint64_t bytes, uint64_t samples)
{
	tell(p, err);
	p->counts.files += !err;
	p->counts.bytes += err ? 0 : bytes;
	p->counts.failed += err != 0;
	p->counts.failed_samples += err ? samples : 0;
}

void place_flush(struct place *p)
{
	struct outfile_bytes bytes = { 0 };
	struct outfile *f;
	int err;

	if (!p->body)
		return;
	f = outfile_memory(&bytes);
	if (p->ops->packed)
		outfile_compress_well(f);
	p->ops->body->end(p->body, f);
	p->body = NULL;
	outfile_commit(f, NULL);
	err = spool_write(p->spool, p->samples, p->start, bytes.v, bytes.n);
	count(p, err, bytes.n, p->samples);
	vec_free(&bytes);
	if (!err && p->courier)
		courier_wake(p->courier);
}

void place_add(struct place *p, const struct push_part *part)
{
	const struct profile_view v = profile_view(part->profile);

	if (!p->spool) {
		count(p, folder_write(p->folder, part->name, v.meta->start,
				      part->packed->v, part->packed->n),
		      part->packed->n, v.account->kept);
		return;
	}
	if (!p->body) {
		p->body = p->ops->body->begin();
		p->start = v.meta->start;
		p->samples = 0;
	}
	p->ops->body->add(p->body, part);
	p->samples += v.account->kept;
	if (p->ops->body->size(p->body) > BODY_MOST)
		place_flush(p);
}

void place_finish(struct place *p)
{
	courier_free(p->courier);
	p->courier = NULL;
}

struct place_counts place_counts(const struct place *p)
{
	return p->counts;
}

const struct spool_counts *place_sent(const struct place *p)
{
	return p->spool ? spool_counts(p->spool) : NULL;
}

const char *place_text(const struct place *p)
{
	return p->to;
}
