-- What tutti writes is what MessagePack of Lua reads, and the other way round. Lua has one kind of
-- table and no nil in it, so a few keys are left out.
--     lua exchange.lua PROGRAM      PROGRAM: messagepack_values
local found, msgpack = pcall(require, "MessagePack")
if not found then
    print("skipped: Lua has no MessagePack (Debian: lua-messagepack)")
    os.exit(77)
end
local program = arg[1]

msgpack.build_ext = function(type, data)
    return {type = type, data = data}
end

local pipe = assert(io.popen(program .. " write", "r"))
local message = pipe:read("a")
assert(pipe:close())
local got = msgpack.unpack(message)

local function same(a, b, where)
    if type(b) == "table" then
        for key, value in pairs(b) do same(a[key], value, where .. "." .. tostring(key)) end
        for key in pairs(a) do assert(b[key] ~= nil, where .. "." .. tostring(key)) end
    else
        assert(a == b and math.type(a) == math.type(b), where)
    end
end

local bytes, list = {}, {}
for i = 0, 255 do bytes[i + 1] = string.char(i) end
for i = 0, 69999 do list[i + 1] = i end
local wanted = {
    integers = {0, 1, 127, 128, 255, 256, 65535, 65536, -1, -32, -33, -128, -129, -32768, -32769,
                4294967295, 4294967296, -2147483648, -2147483649, math.maxinteger,
                math.mininteger},
    reals = {0.5, -0.0, 1e300, 5e-324, math.huge, -math.huge},
    text = "grüße 🎻",
    ["long text"] = string.rep("x", 70000),
    bytes = table.concat(bytes),
    bools = {true, false},
    map = {[-40000] = "value", [0] = "value", [40000] = "value", key = 5},
    ["long list"] = list,
}
for key, value in pairs(wanted) do same(got[key], value, key) end
assert(1 / got.reals[2] == -math.huge)

local function array_of(format, dtype, shape, elements)
    local head = string.pack("<BBBB", dtype, #shape, 0, 0)
    for _, extent in ipairs(shape) do head = head .. string.pack("<I8", extent) end
    for _, element in ipairs(elements) do head = head .. string.pack("<" .. format, element) end
    return head
end
local matrix = array_of("i2", 2, {2, 3}, {1, -2, 3, 4, 5, -6})
local column = array_of("d", 11, {3, 1}, {0.5, -1.5, 1e10})
-- The padding in front of the elements depends on the place in the message.
local function without_padding(data)
    local dtype, dimensions, padding = data:byte(1, 3)
    local head = 4 + 8 * dimensions
    return string.char(dtype, dimensions, 0, 0) .. data:sub(5, head) .. data:sub(head + padding + 1)
end
assert(got.matrix.type == 84 and without_padding(got.matrix.data) == matrix)
assert(got.column.type == 84 and without_padding(got.column.data) == column)
assert(got.times[1].type == -1 and got.times[1].data == string.pack(">I4", 0))
assert(got.times[4].type == -1 and got.times[4].data == string.pack(">I4i8", 7, -1))

-- Packers by name, for what Lua's own types do not tell apart.
local buffer = {}
local packers = msgpack.packers
local function put(name, kind, ...)
    packers["string"](buffer, name)
    packers[kind](buffer, ...)
end
packers["map"](buffer, {}, 9)
put("integers", "array", wanted.integers, #wanted.integers)
put("reals", "array", wanted.reals, #wanted.reals)
put("text", "string", wanted.text)
put("long text", "string", wanted["long text"])
put("bytes", "binary", wanted.bytes)
put("matrix", "ext", 84, matrix)
put("column", "ext", 84, column)
put("bools", "array", wanted.bools, #wanted.bools)
put("map", "map", wanted.map, 4)
local written = table.concat(buffer)
local file = os.tmpname()
local out = assert(io.open(file, "wb"))
out:write(written)
out:close()
local read = os.execute(program .. " read large times nil empty 'long list' <" .. file)
os.remove(file)
assert(read, "messagepack_values read")
print("MessagePack " .. msgpack._VERSION:match("[%d.]+") .. " of Lua: " .. #message ..
          " bytes read, " .. #written .. " written")
