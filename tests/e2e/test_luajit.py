# SPDX-License-Identifier: MIT
"""
Frames of LuaJIT, by the luajit that is here, and those that EBPROF_LUAJITS lists (paths, by ":"), interpreted and compiled: whole
stacks to the program, shares, lines, native frames between them, traces marked. What each program is to be it says itself, as in
test_lua, by whose programs most of these are.
"""
import ctypes.util
import os
import re
import sys

from harness import Fixture, calls, check, directory, needs, run, skip
from interpreters import executed, made_in_turn, near, sampled_script
from test_lua import (CHILD, FAR_LINES, MAIN, SPIN, TRACE, TREE, calls_are_where_they_are, rests_and_works,
                      waits_in_rest)

SECONDS = 32

MODES = ("-joff", "-jon")
NOT_READ = r"functions of LuaJIT are not shown: .*: "


def luajits():
    """Paths."""
    paths = ["/usr/bin/luajit"] + [p for p in os.environ.get("EBPROF_LUAJITS", "").split(":") if p]
    found = [p for p in paths if os.path.exists(p)]
    if not found:
        skip("no luajit is installed")
    return found


def sampled(luajit, mode, program, *options, **how):
    """The profile of @program, which prints "ready" and runs until it is killed, and what it said before."""
    return sampled_script(luajit, (mode,), [("script.lua", 'io.stdout:setvbuf("no") ' + program)], *options, **how)


def each(*modes):
    return ((luajit, mode) for luajit in luajits() for mode in modes or MODES)


def bare(frames):
    """Without what kind they are of."""
    return [re.sub(r"_\[\w\]$", "", f) for f in frames]


def whole(profile, *what, cut=0.001, root=MAIN):
    """Nearly all stacks are whole, and lead to the program."""
    n = profile.count()
    check(n > 20, *what, profile.head())
    check(profile.count(lambda s: s.cut) <= max(2, cut * n), *what, "cut:", profile.where(lambda s: s.cut).head())
    profile = profile.where(lambda s: not s.cut)
    rootless = profile.where(lambda s: root not in bare(s.frames))
    check(rootless.count() <= max(1, 0.001 * n), *what, "without the program:", rootless.head())
    return profile


def test_tree():
    for luajit, mode in each():
        profile = whole(sampled(luajit, mode, TREE, "--annotate").profile, luajit, mode)
        n = profile.count()
        for name, expected in (("one", 0.1), ("method", 0.2), ("field", 0.3), ("resume", 0.4)):
            got = profile.count(lambda s, name=name: name in bare(s.frames))
            near(got / n, expected, n, luajit, mode, name)
        spinning = profile.where(lambda s: "spin" in bare(s.frames))
        wrong = spinning.where(lambda s: not re.search(
            r"\|<script.lua>\|main\|(one|method|field|resume\|function <.*script\.lua:\d+>)\|spin(\||$)", "|".join(bare(s.frames))))
        check(spinning.count() > 0.9 * n and wrong.count() <= 1, luajit, mode, wrong.head(3))
        traced = profile.count(lambda s: any(f.endswith("_[t]") for f in s.frames))
        check(traced > 0.9 * n if mode == "-jon" else traced == 0, luajit, mode, traced, n)


# Much of what a program may do, at once: each is called by its name.
STRESS = SPIN + """
function rec(n) if n == 0 then return spin(300) end local x = rec(n - 1) return x + 1 end
local M = {}
M.__index = function(t, k) local x = spin(100) return k end
M.__add = function(a, b) local x = spin(100) return 1 end
M.__lt = function(a, b) return spin(50) > 0 end
M.__call = function(self, n) local x = spin(n) return x end
M.__concat = function(a, b) return "c" .. spin(30) end
local all = {
    function() return rec(20) end,
    function() local t = setmetatable({}, M) local a = t.foo a = t + 1 a = t < t a = t(100) a = t .. "x" return a end,
    function() local t = {} for i = 1, 50 do t[i] = (i * 7919) % 53 end table.sort(t, function(a, b) return a < b end) end,
    function() return (("abc def"):rep(5):gsub("%w+", function(w) local x = spin(20) return w:upper() end)) end,
    function() pcall(function() local x = spin(50) error("x" .. x) end) return xpcall(function() return rec(5) end, print) end,
    function()
        local co = coroutine.create(function()
            local inner = coroutine.wrap(function() spin(100) coroutine.yield() spin(100) end)
            inner() inner()
        end)
        coroutine.resume(co)
    end,
    function() local t = {} for i = 1, 100 do t[#t + 1] = tostring(i) .. "x" end return table.concat(t, ",") end,
    function() local x = 0 for i = 1, 100 do x = x + math.sin(i) * math.floor(i / 3) + math.pow(i, 0.5) end return x end,
    function() local function many(...) local x = spin(50) return x, ... end return (many(1, 2, 3)) end,
    function() local f = loadstring("local a = ... local x = spin(30) return a + x") return f(1) end,
    function() local n = 0 for k, v in pairs({ a = 1, b = 2 }) do n = n + v + spin(10) end return n end,
    function() for i = 1, 20 do local p = newproxy(true) getmetatable(p).__gc = function() spin(20) end end end,
}
print("ready")
while true do for i = 1, #all do local x = all[i]() end end
"""


def test_whole_stacks_of_all_kinds_of_calls():
    for luajit, mode in each():
        # One in a thousand is cut in the midst of a call; of 1,500 chance makes that four now and then.
        whole(sampled(luajit, mode, STRESS, seconds=2).profile, luajit, mode, cut=0.004 if mode == "-joff" else 0.01)


def trace(program, between=None):
    """Where the program stays, the frames are those that LuaJIT itself says; @between: some of them, and C's there."""
    for luajit, mode in each():
        result = sampled(luajit, mode, TRACE + program, "--annotate", seconds=0.3)
        told = " ".join(result.said[-2]).split("|")[::-1] + ["stay"]
        profile = whole(result.profile, luajit, mode, root=told[0])
        own = [bare(f for f in s.frames if re.search(r"_\[[ut]\]$", f)) for s in profile]
        wrong = [frames for frames in own if frames != told]
        check(len(wrong) <= 1, luajit, mode, "told:", told, "seen:", wrong[:2])
        if between:
            seen = ["|".join(bare(s.frames)) for s in profile]
            check(all(re.search(between, frames) for frames in seen), luajit, mode, between, seen[:2])


def test_trace_calls():
    """Each way to call a function, by what it was fetched from."""
    trace("""
local Class = { inner = {} }
local up = {}
local function recursive(n) if n > 0 then local x = recursive(n - 1) return x end local y = Class.entry() return y end
function Class:method() local x = recursive(20) return x end
function Class.entry() say(2) stay() return 1 end
function Class.inner.deep() local o = setmetatable({}, { __index = Class }) local x = o:method() return x end
local key = "some"
up[key] = function() local x = Class.inner.deep() return x end
up[3] = function() local x = up[key]() return x end
local function chosen() local x = up[3]() return x end
function global(...) local f = chosen local x = (key and f or global)(...) return x end
local function many(...) local a, b = 1, (function(...) local x = global(...) return x end)(...) return b end
local function tail(a) return many(a, 2, 3) end
local x = tail(1)
""")


def test_trace_callbacks():
    """C that calls back, and metamethods."""
    trace("""
local function compared() local x = ("x"):gsub("x", function() say(2) stay() return "y" end) return x end
local function sorted() table.sort({ 3, 2, 1 }, function(a, b) compared() return false end) end
function guarded() local ok = pcall(sorted) return ok end
local M = {}
M.__index = function(t, k) local x = guarded() return x end
M.__add = function(a, b) local x = a.missing return x end
M.__concat = function(a, b) local x = a + 1 return x end
M.__lt = function(a, b) local x = a .. b return x end
M.__len = function(a) return 1 end
local function added() local t = setmetatable({}, M) local x = t < t return x end
local function iterate() for k in function() local x = added() return x end do end end
xpcall(function() iterate() end, print)
""", between=r"\|sort\|.*\|function <.*>\|.*\|gsub\|")


def test_trace_texts():
    """What is no file: texts, with and without a name, with more than one line, and long ones; none of them has a name of its own."""
    trace("""
local text = "return function(t, i) if i > #t then say(2) stay() end local x = t[i](t, i + 1) return x end"
local list = {}
for i, name in ipairs({ "=named", "@file.lua", "@" .. ("long/"):rep(20) .. "file.lua", "=" .. ("long"):rep(20), "a text", ("a text"):rep(20),
                        "a text\\nof lines" }) do
    list[i] = loadstring(text, name)()
end
list[#list + 1] = loadstring("-- " .. ("long"):rep(20) .. "\\n" .. text)()
list[#list + 1] = loadstring(text)()
local x = list[1](list, 2)
""")


def test_trace_coroutines():
    """Within one another; who resumed each is a frame, too."""
    program = """
function stay() print("ready") while true do for i = 1, 1000 do end end end
local function innermost() stay() end
local function middle()
    local co = coroutine.create(function() coroutine.yield() innermost() end)
    coroutine.resume(co)
    coroutine.resume(co)
end
local outer = coroutine.wrap(function() middle() end)
function start() outer() end
start()
"""
    order = r"<script.lua>\|start\|outer\|function <.*:9>\|middle\|resume\|function <.*:5>\|innermost\|stay(\||$)"
    for luajit, mode in each():
        profile = whole(sampled(luajit, mode, program).profile, luajit, mode)
        wrong = profile.where(lambda s: not re.search(order, "|".join(s.frames)))
        check(wrong.count() <= 1, luajit, mode, order, wrong.head(2))


def test_deep_recursion():
    """As far as a stack has room; what is above it is cut, and said to be."""
    program = SPIN + """
function rec(n) if n == 0 then spin(1e5) return 0 end local x = rec(n - 1) return x + 1 end
print("ready")
while true do rec(%d) end
"""
    for luajit, mode in each():
        profile = whole(sampled(luajit, mode, program % 400).profile, luajit, mode)
        deep = profile.count(lambda s: s.frames.count("rec") == 401)
        check(deep > 0.9 * profile.count(), luajit, mode, deep, profile.head(2))
    profile = sampled(luajits()[0], "-joff", program % 4000).profile
    deep = profile.where(lambda s: s.cut)
    check(deep.count() > 0.9 * profile.count() and deep.count(lambda s: s.frames.count("rec") > 400) > 0.9 * deep.count(), profile.head(2))


def test_ffi_callbacks():
    """C that was called by FFI, and calls back."""
    program = SPIN + """
local ffi = require("ffi")
ffi.cdef("void qsort(void *base, size_t n, size_t size, int (*compare)(const int *, const int *));")
local list = ffi.new("int[20]")
local compare = ffi.cast("int (*)(const int *, const int *)", function(a, b) spin(200) return a[0] - b[0] end)
local function sort() for i = 0, 19 do list[i] = i * 7 % 20 end ffi.C.qsort(list, 20, 4, compare) end
jit.off(sort)
print("ready")
while true do sort() end
"""
    for luajit, mode in each():
        profile = whole(sampled(luajit, mode, program).profile, luajit, mode, cut=0.01)
        inside = profile.where(lambda s: "spin" in s.frames)
        order = r"\|<script.lua>\|sort\|.*\|qsort\w*\|.*\|function <.*script.lua:\d+>\|spin"
        wrong = inside.where(lambda s: not re.search(order, "|".join(s.frames)))
        check(inside.count() > 0.1 * profile.count() and wrong.count() <= 1, luajit, mode, profile.head(3), wrong.head(2))


def test_executed_children():
    """Programs that begin and end while they are sampled."""
    for luajit, mode in each():
        profile = executed(f'"{luajit}" {mode}', ".lua", CHILD + "child()")
        inside = profile.where(lambda s: calls(s, MAIN, "child", "spin"))
        check(inside.count() > 10, luajit, mode, profile.head(3))
        spinning = profile.where(lambda s: "spin" in s.frames)
        check(spinning.count(lambda s: not calls(s, MAIN, "child", "spin")) <= 1, luajit, mode, spinning.head(3))


def test_waits():
    """Which function waits, and which has the time on the CPU."""
    luajit = luajits()[0]
    for mode, option in zip(MODES, ("--off-cpu", "--wall")):
        waits_in_rest(sampled(luajit, mode, rests_and_works(3000000), option, burned=0), option, luajit)


def test_lines():
    """Of calls, in a function of so many lines that each takes two bytes."""
    for luajit, mode in each("-joff"):
        calls_are_where_they_are(sampled(luajit, mode, FAR_LINES, "-f", "callgrind"), luajit)


def test_code_that_is_made_again_and_again():
    """A function in the memory of one that is gone has its own name."""
    program = SPIN + """
print("ready")
local k = 0
while true do
    loadstring("function made_" .. k .. "() local x = spin(20000) return x end made_" .. k .. "()")()
    _G["made_" .. k] = nil
    collectgarbage()
    k = (k + 1) % 7
end
"""
    for luajit, mode in each("-joff"):
        made_in_turn(whole(sampled(luajit, mode, program).profile, luajit), 0.5, luajit, frame="^made_{}$")


def test_within_python():
    """The library, in a program whose own language is shown beside it."""
    library = ctypes.util.find_library("luajit-5.1")
    if not library:
        skip("no libluajit-5.1 is installed")
    program = f"""
import ctypes
lua = ctypes.CDLL("{library}")
lua.luaL_newstate.restype = ctypes.c_void_p
state = ctypes.c_void_p(lua.luaL_newstate())
lua.luaL_openlibs(state)
def host():
    lua.luaL_loadstring(state, b"function spin() while true do end end function inner() spin() end inner()")
    print("ready", flush=True)
    lua.lua_pcall(state, 0, 0, 0)
host()
"""
    profile = sampled_script(sys.executable, (), [("script.py", program)]).profile
    check(profile.count() > 20, profile.head())
    inside = profile.where(lambda s: not s.cut and re.search(r"\|host\|.*\|lua_pcall\|<\[string .*>\|inner\|spin(\||$)", "|".join(s.frames)))
    check(inside.count() >= 0.99 * profile.count() - 1, profile.head(3))


def test_unknown_builds_are_said():
    """Its frames stay its own, and there is a line of it."""
    with open(needs("luajit"), "rb") as f:
        code = f.read()
    # string.byte asks whether the length is 1: by that the layout of strings is known.
    changed = re.sub(rb"(\x83\x7d.)\x01(\x0f\x82....\x0f\xb6\x6d)", lambda m: m[1] + b"\2" + m[2], code, flags=re.S)
    check(changed != code)
    with directory() as d:
        path = os.path.join(d, "luajit")
        with open(path, "wb") as f:
            f.write(changed)
        os.chmod(path, 0o755)
        with Fixture("luajit", "-joff", "-e", 'io.stdout:setvbuf("no") print("ready") while true do for i = 1, 1000 do end end',
                     path=path, until="ready") as f:
            result = run("-p", f.pid, "-F", 499, "-d", 0.5, "-f", "folded").ok()
    check(re.search(NOT_READ + "its interpreter is not found", result.err), result.err)
    native = result.profile.count(lambda s: not s.cut and s.any("^lua_pcall$"))
    check(native > 0.95 * result.profile.count(), result.profile.head())
