#!/bin/lua
-- SPDX-License-Identifier: MIT

local function spin(n)
    local i = 0
    while i < n do i = i + 1 end
    return i
end

local Thing = {}
function Thing:twice() local x = spin(400) return x end
function Thing.once() local x = spin(200) return x end
function Thing.order(a, b) local x = spin(200) return false end
function Thing:sorts() table.sort({ 2, 1 }, Thing.order) end

function main()
    while true do
        Thing:twice()
        Thing.once()
        Thing:sorts()
    end
end

io.stdout:write("ready it\n")
io.stdout:flush()
io.open("go"):read("*a")
main()
