/* SPDX-License-Identifier: MIT */
#include "push/labels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/xalloc.h"

#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/"

/* Keys that come from what was sampled. */
static const char *const own[] = { PUSH_SERVICE, PUSH_HOST, PUSH_CONTAINER, PUSH_CONTAINER_ID,
				   PUSH_IMAGE, PUSH_POD, PUSH_NAMESPACE, PUSH_CGROUP };

static int is_taken(const label_vec *labels, const char *key)
{
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (!strcmp(own[i], key))
			return 1;
	for (size_t i = 0; i < labels->n; i++)
		if (!strcmp(labels->v[i].key, key))
			return 1;
	return 0;
}

/* @n bytes of @key; @value NULL: none. */
static int add(label_vec *out, const char *option, const char *text, size_t n, const char *value,
	       struct error *e)
{
	char key[LABEL_KEY_MOST], clean[LABEL_VALUE_MOST];

	if (!n || n >= sizeof(key) || strspn(text, PLAIN) < n)
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "%s '%.200s': a key is 1 to %d of letters, digits and ._-/",
				 option, text, LABEL_KEY_MOST - 1);
	memcpy(key, text, n);
	key[n] = '\0';
	if (is_taken(out, key))
		return error_set(e, STATUS_USAGE, -EINVAL, "%s '%.200s': there is a label %s",
				 option, text, key);
	if (out->n == LABELS_MOST)
		return error_set(e, STATUS_USAGE, -EINVAL, "%s: at most %d labels", option,
				 LABELS_MOST);
	if (!value)
		return 0;
	text_clean(clean, sizeof(clean), value);
	vec_push(out, (struct push_label){ xstrdup(key), xstrdup(clean) });
	return 0;
}

int labels_make(label_vec *out, const string_vec *given, const string_vec *from, struct error *e)
{
	int err = 0;

	for (size_t i = 0; i < given->n && !err; i++) {
		const char *text = given->v[i], *value = strchr(text, '=');

		err = value ? add(out, "--label", text, (size_t)(value - text), value + 1, e)
			    : error_set(e, STATUS_USAGE, -EINVAL,
					"--label '%.200s': expected KEY=VALUE", text);
	}
	for (size_t i = 0; i < from->n && !err; i++) {
		const char *text = from->v[i], *name = strchr(text, '=');

		err = add(out, "--label-from", text, name ? (size_t)(name - text) : strlen(text),
			  getenv(name ? name + 1 : text), e);
	}
	return err;
}

void labels_free(label_vec *labels)
{
	for (size_t i = 0; i < labels->n; i++) {
		free((char *)labels->v[i].key);
		free((char *)labels->v[i].value);
	}
	vec_free(labels);
}
