# SPDX-License-Identifier: MIT
"""
Programs that forge HotSpot's structures in their own memory: bounded work, nothing wrong, and an end.
"""
import os
import re
import subprocess

from harness import calls, check, directory, needs
from interpreters import FORGING
from test_java import INTERPRETED, compiled, jdks, recorded
from test_java_points import with_headers

SECONDS = 6

# Each method calls a library, which spoils something of its frame, or of itself, stays there, and puts it back.
FORGED = """
public class Main {
    static native void forge(int what);
    static void plain() { forge(-1); }
    static void wildCaller() { forge(0); }
    static void cycle() { forge(1); }
    static void wildMethod() { forge(2); }
    static void noMethod() { forge(3); }
    static void wildConst() { forge(4); }
    static void wildPool() { forge(5); }
    static void farName() { forge(6); }
    static void wildPlace() { forge(7); }
    static void torn() { forge(8); }
    static void escapes() { forge(-1); }
    public static void main(String[] args) {
        System.load(args[0]);
        System.out.println("ready");
        for (;;) {
            plain(); wildCaller(); cycle(); wildMethod(); noMethod(); wildConst(); wildPool(); farName(); wildPlace(); torn();
            escapes();
        }
    }
}
"""
LIBRARY = "#define WILD 0, 0x10, 0x7fffdeadb000, 0xffff888000000000, 0x123456789abcdef0" + FORGING + """
#include <dlfcn.h>
#include <jni.h>
#include <string.h>

#define METHOD	(-3)	/* words from an interpreted frame's pointer */
#define BCP	(-8)

struct entry {		/* of gHotSpotVMStructs */
	const char *type, *field, *string;
	int32_t is_static;
	uint64_t offset;
	void *address;
};
static uint64_t offset_of(const char *type, const char *field)
{
	for (struct entry *e = *(struct entry **)dlsym(RTLD_DEFAULT, "gHotSpotVMStructs"); e->type; e++)
		if (!strcmp(e->type, type) && !strcmp(e->field, field))
			return e->offset;
	abort();
}

JNIEXPORT void JNICALL Java_Main_forge(JNIEnv *env, jclass class, jint what)
{
	/* That of the native method, whose caller is what is spoilt. */
	uint64_t *frame = *(uint64_t **)*(uint64_t **)__builtin_frame_address(0), method = frame[METHOD];
	uint64_t *code = (uint64_t *)(method + offset_of("Method", "_constMethod"));
	uint64_t *pool = (uint64_t *)(*code + offset_of("ConstMethod", "_constants"));
	/* The index of the name, and what is beside it. */
	uint64_t *name = (uint64_t *)(*code + (offset_of("ConstMethod", "_name_index") & ~7ull));
	uint64_t *const at[] = { frame, frame, frame + METHOD, frame + METHOD, code, pool, name, frame + BCP, frame + METHOD };
	const uint64_t value[] = { any(), (uint64_t)frame, any(), (uint64_t)env, any(), any(), ~0ull, any() };
	uint64_t kept;

	if (what < 0)
		return spin();
	if (what == 8)
		return torn(at[what]);
	kept = *at[what];
	*(volatile uint64_t *)at[what] = value[what];
	spin();
	*(volatile uint64_t *)at[what] = kept;
}
"""
# In the place of "escapes", and as it is shown.
ESCAPES, SHOWN = b"e\x1b(\nc\x07s", r"Main.e\x1b(\nc\x07s"
KNOWN = {SHOWN, *(f"Main.{name}" for name in re.findall(r"static (?:native )?void (\w+)", FORGED))}


def test_forged_structures():
    """What is no method, or cannot be read, gives no frames, or a mark; a cycle ends; names have no escapes; all else is as it is."""
    for jdk_version, jdk in jdks().items():
        with directory() as d:
            library, headers = os.path.join(d, "libforge.so"), os.path.join(with_headers(), "..", "include")
            subprocess.run([needs("gcc"), "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-shared", "-fPIC",
                            f"-I{headers}", f"-I{headers}/linux", "-o", library, "-x", "c", "-"], input=LIBRARY, text=True, check=True)
            command = compiled(jdk, FORGED, d)
            with open(os.path.join(d, "Main.class"), "r+b") as f:
                image = f.read().replace(b"escapes", ESCAPES)
                f.seek(0)
                f.write(image)
            # The JVM itself looks at stacks where it collects garbage: nothing is allocated here.
            result, _ = recorded(command, *INTERPRETED, "-XX:+UseSerialGC", arguments=[library], burned=0.1, seconds=1.5,
                                 measure=("-F", 1999, "-f", "folded"))
        # Which looks for control characters.
        profile = result.profile.where(lambda s: "Java_Main_forge" in s.frames)
        unknown = {f for s in profile for f in s.frames if f.startswith("Main.")} - KNOWN
        check(not unknown, jdk_version, unknown)
        for name in ("Main.plain", "Main.wildPlace", SHOWN):
            right = profile.where(lambda s, name=name: name in s.frames)
            check(right.count() > 5, jdk_version, name, profile.head())
            check(all(calls(s, "JavaMain", "Main.main", name, "Main.forge") and not s.cut for s in right), jdk_version, right.head())
        nameless = profile.where(lambda s: "[unknown Java]" in s.frames)
        check(nameless.count() > 5 and all(calls(s, "JavaMain", "Main.main", "[unknown Java]", "Main.forge") for s in nameless),
              jdk_version, nameless.head())
        lost = profile.where(lambda s: "Main.main" not in s.frames)
        wrong = lost.where(lambda s: not s.cut or not s.any(r"^Main\.(wildCaller|cycle)$") or len(s.frames) > 520)
        check(wrong.count() <= result.summary.rescued, jdk_version, wrong.head())
        for name in ("Main.wildCaller", "Main.cycle"):
            check(lost.count(lambda s, name=name: name in s.frames) > 5, jdk_version, lost.head())
