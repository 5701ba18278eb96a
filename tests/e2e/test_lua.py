# SPDX-License-Identifier: MIT
"""
Frames of Lua, by every lua5.x that is here, and those that EBPROF_LUAS lists (paths, by ":"): whole stacks to the program,
shares, lines, and native frames between them. Each program says what it is to be: by names of the test's own, and by Lua's own
debug.getinfo() at the place where it stays.
"""
import os
import re
import subprocess

from harness import Fixture, Profile, calls, calls_by_line, check, directory, needs, run, skip, wait_burned, wait_for
from interpreters import executed, made_in_turn, near, sampled_script

MAIN = "<script.lua>"
SPIN = """
function spin(n) local s = 0 for i = 1, n do s = s + i end return s end
"""


def luas(few=False):
    """Paths; @few: one whose calls are an array, and one whose are a list."""
    paths = [f"/usr/bin/lua5.{minor}" for minor in range(1, 5)] + [p for p in os.environ.get("EBPROF_LUAS", "").split(":") if p]
    found = [p for p in paths if os.path.exists(p)]
    if not found:
        skip("no lua5.1 to lua5.4 is installed")
    return [found[0], found[-1]] if few else found


def sampled(lua, program, *options, **how):
    """The profile of @program, which prints "ready" and runs until it is killed, and what it said before."""
    return sampled_script(lua, (), [("script.lua", 'io.stdout:setvbuf("no") ' + program)], *options, **how)


def whole(lua, profile):
    """Complete stacks, which all lead to the program."""
    profile = profile.where(lambda s: not s.cut)
    check(profile.count() > 20, lua, profile.head())
    rootless = profile.where(lambda s: MAIN not in s.frames)
    check(rootless.count() <= max(1, 0.001 * profile.count()), lua, "without the program:", rootless.head())
    return profile


# Its calls take a small part of the time between two samples: a round of about as long would be sampled at one place.
TREE = SPIN + """
local Thing = {}
-- Of no fixed length: the clock that samples would keep step with it.
local length = 2000
function one() return (spin(length)) end
function Thing:method() local x = spin(2 * length) return x end
function Thing.field() local x = spin(3 * length) return x end
local resume = coroutine.wrap(function() while true do spin(4 * length) coroutine.yield() end end)
function main()
    print("ready")
    while true do
        length = 1000 + length * 7919 % 2003
        one() Thing:method() Thing.field() resume()
    end
end
main()
"""


def test_tree():
    for lua in luas():
        profile = whole(lua, sampled(lua, TREE).profile)
        n = profile.count()
        for name, expected in (("one", 0.1), ("method", 0.2), ("field", 0.3), ("resume", 0.4)):
            got = profile.count(lambda s, name=name: name in s.frames) / n
            near(got, expected, n, lua, name)
        for s in profile.where(lambda s: "spin" in s.frames):
            check(calls(s, MAIN, "main", "spin"), lua, s)
        coroutine = profile.where(lambda s: "resume" in s.frames and "spin" in s.frames)
        check(all(re.search(r"\|main\|resume\|.*\|lua_resume\|.*\|function <.*script\.lua:\d+>\|spin\|?", "|".join(s.frames) + "|")
                  for s in coroutine), lua, coroutine.head(3))


# What Lua says of its stack at the place where it stays, the innermost first; no name and C: it was called by C.
TRACE = """
function say(level)
    local told = {}
    while true do
        local i = debug.getinfo(level, "nSl")
        if not i then break end
        level = level + 1
        local name = i.name ~= "" and i.name or nil
        if i.what == "main" then name = "<script.lua>" elseif not name and i.what ~= "C" and i.what ~= "tail" then
            name = "function <" .. i.short_src .. ":" .. i.linedefined .. ">"
        end
        if name then told[#told + 1] = name end
    end
    print(table.concat(told, "|"))
    print("ready")
end
function stay() while true do for i = 1, 1000 do end end end
"""


def trace(program, between=None):
    """Where the program stays, the frames are those that Lua itself says; @between: some of them, and C's there."""
    for lua in luas():
        result = sampled(lua, TRACE + program, "--annotate", seconds=0.3)
        told = " ".join(result.said[-2]).split("|")[::-1] + ["stay"]
        profile = result.profile.where(lambda s: not s.cut)
        check(profile.count() > 20, lua, result.err)
        own = [[re.sub(r"_\[u\]$", "", f) for f in s.frames if f.endswith("_[u]")] for s in profile]
        wrong = [frames for frames in own if frames != told]
        check(len(wrong) <= 1, lua, "told:", told, "seen:", wrong[:2])
        if between:
            bare = ["|".join(s.frames).replace("_[u]", "") for s in profile]
            check(all(re.search(between, frames) for frames in bare), lua, between, bare[:2])


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
function global() local f = chosen local x = (key and f or global)() return x end
local function many() local a, b = 1, (function() local x = global() return x end)() return b end
local function tail() return many() end
local x = tail()
""")


def test_trace_callbacks():
    """C that calls back: there are several runs of the interpreter."""
    trace("""
local function compared() local x = ("x"):gsub("x", function() say(2) stay() return "y" end) return x end
local function sorted() table.sort({ 3, 2, 1 }, function(a, b) compared() return false end) end
function guarded() local ok = pcall(sorted) return ok end
local M = {}
M.__index = function(t, k) local x = guarded() return x end
M.__add = function(a, b) local x = a.missing return x end
local function added() local x = setmetatable({}, M) + 1 return x end
local function iterate() for k in function() local x = added() return x end do end end
xpcall(function() iterate() end, print)
""", between=r"\|sort\|.*\|function <.*>\|.*\|gsub\|")


def test_trace_coroutines():
    """Within one another; how each was resumed is a frame of C's."""
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
    for lua in luas(few=True):
        profile = whole(lua, sampled(lua, program).profile)
        order = r"<script.lua>\|start\|outer\|.*lua_resume\|.*\|function <.*:9>\|middle\|resume\|.*lua_resume\|.*\|function <.*:5>\|innermost\|stay"
        wrong = profile.where(lambda s, order=order: not re.search(order, "|".join(s.frames)))
        check(wrong.count() <= 1, lua, order, wrong.head(2))


CHILD = SPIN + """
function child() local till = os.clock() + 0.02 while os.clock() < till do spin(500) end end
"""


def test_executed_children():
    """Programs that begin and end while they are sampled."""
    for lua in luas(few=True):
        profile = executed(f'"{lua}"', ".lua", CHILD + "child()")
        inside = profile.where(lambda s: calls(s, MAIN, "child", "spin"))
        check(inside.count() > 10, lua, profile.head(3))
        spinning = profile.where(lambda s: "spin" in s.frames)
        check(spinning.count(lambda s: not calls(s, MAIN, "child", "spin")) == 0, lua, spinning.head(3))


def rests_and_works(rounds):
    """A program that waits in rest(), and then counts up to @rounds in work()."""
    return f"""
function rest() local f = io.popen("sleep 0.01") f:read("*a") f:close() end
function work() for i = 1, {rounds} do end end
print("ready")
while true do rest() work() end
"""


def waits_in_rest(result, option, *what):
    profile = Profile.read(result.out)
    waiting = profile.where(lambda s: s.any(r"^\[blocked\]$") and MAIN in s.frames)
    check(waiting.count() > 0, *what, option, profile.head())
    check(waiting.count(lambda s: "rest" in s.frames) > 0.95 * waiting.count(), *what, option, waiting.head())
    if option == "--wall":
        check(profile.count(lambda s: "work" in s.frames) > 0, *what, profile.head())


def test_waits():
    """Which function waits, and which has the time on the CPU."""
    for lua, option in zip(luas(few=True), ("--off-cpu", "--wall")):
        waits_in_rest(sampled(lua, rests_and_works(300000), option, burned=0), option, lua)


# Of its 308 lines 4 and 305 call spin(), for a quarter of the time and for the rest.
FAR_LINES = (SPIN.strip() + "\n"
             "function work()\n"
             "    while true do\n"
             "        spin(1000)\n" + "\n" * 300 +
             "        spin(\n"
             "            3000)\n"
             "    end\n"
             "end\n"
             'print("ready")\n'
             "work()\n")


def calls_are_where_they_are(result, *what):
    lines = calls_by_line(result.out, "work")
    total = sum(lines.values())
    check(sum(lines.get(i, 0) for i in (4, 305, 306)) > 0.98 * total - 1, *what, lines)
    near(1 - lines.get(4, 0) / total, 0.75, total, *what, lines)


def test_lines():
    """Of calls; the fourth line is far from the one before, as 5.4 writes it apart."""
    for lua in luas(few=True):
        calls_are_where_they_are(sampled(lua, FAR_LINES, "-f", "callgrind"), lua)


def test_code_that_is_made_again_and_again():
    """A function in the memory of one that is gone has its own name."""
    program = SPIN + """
print("ready")
local load = loadstring or load
local k = 0
while true do
    load("function made_" .. k .. "() local x = spin(20000) return x end made_" .. k .. "()")()
    _G["made_" .. k] = nil
    collectgarbage()
    k = (k + 1) % 7
end
"""
    for lua in luas(few=True):
        made_in_turn(whole(lua, sampled(lua, program).profile), 0.5, lua, frame="^made_{}$")


def test_redis():
    """EVAL: a script within a server that has a Lua of its own."""
    server, client = needs("redis-server"), needs("redis-cli")
    script = "local function spin(n) local s = 0 for i = 1, n do s = s + i end return s end " \
        "local function twice() local x = spin(1000000) return x end " \
        "for i = 1, 100000 do twice() redis.call('SET', KEYS[1], i) end"
    with directory() as d:
        socket = os.path.join(d, "socket")
        with Fixture("redis", "--port", "0", "--unixsocket", socket, "--save", "", "--dir", d, path=server, until="") as f:
            # Its socket is there before it listens.
            wait_for(lambda: subprocess.run([client, "-s", socket, "PING"], capture_output=True, check=False).stdout == b"PONG\n",
                     "redis to answer")
            ask = subprocess.Popen([client, "-s", socket, "EVAL", script, "1", "key"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                wait_burned(f.pid, 0.2)
                result = run("-p", f.pid, "-F", 999, "-d", 1, "-f", "folded").ok()
            finally:
                ask.kill()
                ask.wait()
    profile = result.profile.where(lambda s: s.any("^evalGenericCommand$") and not s.cut)
    check(profile.count() > 50, result.profile.head(), result.err)
    inside = profile.where(lambda s: re.search(r"<user_script>\|twice\|spin", "|".join(s.frames)))
    check(inside.count() > 0.9 * profile.count(), profile.head(3))
