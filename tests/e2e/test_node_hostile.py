# SPDX-License-Identifier: MIT
"""
Programs that forge V8's structures in their own memory: bounded work, nothing wrong, and an end.
"""
import os
import subprocess

from harness import calls, check, directory, needs
from interpreters import FORGING
from test_node import interpreted, nodes, sampled

SECONDS = 7

# Each function calls an add-on, which spoils something of its frame, or of itself, stays there, and puts it back.
NAMES = ("plain", "wildCaller", "cycle", "wildFunction", "noFunction", "wildShared", "wildName", "wildBytecode", "wildPlace", "torn")
FORGED = "\n".join([
    "const { forge } = require('LIBRARY');",
    *(f"function {name}() {{ forge({i - 1}); }}" for i, name in enumerate(NAMES)),
    f"function main() {{ for (ready();;) {{ {' '.join(f'{name}();' for name in NAMES)} }} }}",
    "main();"])
LIBRARY = "#define WILD 1, 0x11, 0x7fffdeadb001, 0xffff888000000001, 0x123456789abcdef1" + FORGING + """
#include <dlfcn.h>

#define SEARCHED 4096	/* words of the stack */
#define FAR	(1 << 20)
/* words from a frame's pointer */
#define CONTEXT	(-1)
#define FUNCTION (-2)
#define ARGUMENTS (-3)
#define BYTECODE (-4)
#define PLACE	(-5)

typedef struct napi_env__ *napi_env;
typedef struct napi_value__ *napi_value;
typedef struct napi_callback_info__ *napi_callback_info;
typedef napi_value (*napi_callback)(napi_env, napi_callback_info);
int napi_create_function(napi_env, const char *, size_t, napi_callback, void *, napi_value *);
int napi_set_named_property(napi_env, napi_value, const char *, napi_value);
int napi_get_cb_info(napi_env, napi_callback_info, size_t *, napi_value *, napi_value *, void **);
int napi_get_value_int32(napi_env, napi_value, int32_t *);

/* The innermost frame of a function that was called without arguments. */
static uint64_t *find_frame(uint64_t *from)
{
	for (uint64_t *fp = from; fp < from + SEARCHED; fp++)
		if (fp[0] > (uint64_t)fp && fp[0] < (uint64_t)fp + FAR && !(fp[0] & 7) && fp[CONTEXT] & 1 && fp[FUNCTION] & 1 &&
		    fp[ARGUMENTS] == 1 && fp[BYTECODE] & 1)
			return fp;
	abort();
}

static uint64_t *field(uint64_t object, const char *said)
{
	int *offset = dlsym(RTLD_DEFAULT, said);

	if (!offset)
		abort();
	return (uint64_t *)(object - 1 + *offset);
}

static uint64_t *name_of(uint64_t shared)
{
	const char *name = "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_";

	return field(shared, dlsym(RTLD_DEFAULT, name) ? name : "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Object");
}

static napi_value forge(napi_env env, napi_callback_info info)
{
	uint64_t *fp = find_frame(__builtin_frame_address(0));
	uint64_t *shared = field(fp[FUNCTION], "v8dbg_class_JSFunction__shared__SharedFunctionInfo");
	uint64_t *const at[] = { fp, fp, fp + FUNCTION, fp + FUNCTION, shared, name_of(*shared), fp + BYTECODE, fp + PLACE, fp + FUNCTION };
	const uint64_t value[] = { any(), (uint64_t)fp, any(), fp[CONTEXT], any(), any(), any(), any() };
	size_t n = 1;
	napi_value argument;
	int32_t what;
	uint64_t kept;

	napi_get_cb_info(env, info, &n, &argument, NULL, NULL);
	napi_get_value_int32(env, argument, &what);
	if (what < 0) {
		spin();
	} else if (what == 8) {
		torn(at[what]);
	} else {
		kept = *at[what];
		*(volatile uint64_t *)at[what] = value[what];
		spin();
		*(volatile uint64_t *)at[what] = kept;
	}
	return NULL;
}

napi_value napi_register_module_v1(napi_env env, napi_value exports)
{
	napi_value made;

	napi_create_function(env, "forge", 5, forge, NULL, &made);
	napi_set_named_property(env, exports, "forge", made);
	return exports;
}
"""


def test_forged_structures():
    """What is no function, or cannot be read, gives no frames of its own; a cycle ends; all else is as it is."""
    for node, major in nodes():
        # In older ones other words are below a frame's pointer.
        if major < 20:
            continue
        with directory() as d:
            library = os.path.join(d, "forge.node")
            subprocess.run([needs("gcc"), "-O1", "-shared", "-fPIC", "-o", library, "-x", "c", "-"], input=LIBRARY, text=True, check=True)
            # No other thread looks at the heap meanwhile.
            result = sampled(node, FORGED.replace("LIBRARY", library), with_node=["--single-threaded", *interpreted(major)], rate=1999,
                             seconds=1.5)
        profile = result.profile.where(lambda s: "forge" in s.frames)
        whole = profile.where(lambda s: "main" in s.frames)
        for s in whole:
            # What was called from main, if it is known.
            called = s.frames[s.frames.index("main") + 1]
            check(called in NAMES or called.startswith("Builtins_"), node, s)
            check(not s.cut and "_start" in s.frames, node, s)
        for name in ("plain", "wildBytecode", "wildPlace", "torn"):
            check(whole.count(lambda s, name=name: calls(s, "main", name, "forge")) > 5, node, name, whole.head())
        check(whole.count(lambda s: not set(NAMES) & set(s.frames)) > 5, node, "nothing was forged:", whole.head())
        lost = profile.where(lambda s: "main" not in s.frames)
        wrong = lost.where(lambda s: not s.cut or len(s.frames) > 520)
        check(wrong.count() <= result.summary.rescued, node, wrong.head())
        check(lost.count(lambda s: "wildCaller" in s.frames) > 5, node, lost.head())
        check(lost.count(lambda s: s.frames.count("Builtins_InterpreterEntryTrampoline") + s.frames.count("cycle") > 3) > 5, node, lost.head())
