-- What scripts may see, and no more. Run once in each new VM, before any script. The host's functions come as arguments; what is
-- returned is how the host runs a function of a script.
local host = ...

local error, pcall, xpcall, next, rawget, rawset = error, host.catch, host.catch_with, next, rawget, rawset
local setmetatable, getmetatable, collectgarbage = setmetatable, getmetatable, collectgarbage
local type, tostring, tonumber, select = type, tostring, tonumber, select
local floor, insert, foreach, foreachi = math.floor, table.insert, table.foreach, table.foreachi
local resume, gsub, match = coroutine.resume, string.gsub, string.match

-- Read-only tables. Lua 5.1 has none, so scripts hold an empty table in front of the real one.
local READONLY = 'Attempt to modify a readonly table'
local behind = setmetatable({}, { __mode = 'k' })

local function refuse()
    error(READONLY, 2)
end

local function readonly(real)
    local front = setmetatable({}, { __index = real, __newindex = refuse })
    behind[front] = real
    return front
end

-- What changes a table without asking its metatable has to be told.
local function writable(t)
    if behind[t] then
        error(READONLY, 0)
    end
end

local function library(of)
    local copy = {}
    for name, value in next, of do
        copy[name] = value
    end
    return copy
end

-- A script that was stopped ends, whatever it tries to catch.
local function caught(ok, err, ...)
    if ok then
        return true, err, ...
    end
    if host.stopped() then
        error(err, 0)
    end
    return false, err, ...
end

local function in_words(ok, err, ...)
    if not ok and type(err) == 'table' and type(rawget(err, 'err')) == 'string' then
        err = err.err
    elseif not ok and type(err) == 'string' then
        err = gsub(err, '^tarn:%d+: ', '')
    end
    return ok, err, ...
end

local globals = {
    _VERSION = _VERSION,
    assert = assert, error = error, gcinfo = gcinfo, ipairs = ipairs, rawequal = rawequal, select = select,
    tonumber = tonumber, tostring = tostring, type = type, unpack = host.unpack,
}

function globals.pcall(...)
    return in_words(caught(pcall(...)))
end

function globals.xpcall(...)
    return caught(xpcall(...))
end

function globals.next(t, key)
    return next(behind[t] or t, key)
end

function globals.pairs(t, ...)
    if type(t) ~= 'table' then
        error("bad argument #1 to 'pairs' (table expected, got " .. (t == nil and 'no value' or type(t)) .. ')', 3)
    end
    return next, behind[t] or t, nil
end

function globals.rawget(t, key)
    return rawget(behind[t] or t, key)
end

function globals.rawset(t, key, value)
    writable(t)
    return rawset(t, key, value)
end

function globals.setmetatable(t, meta)
    writable(t)
    local real = behind[meta]
    -- What is behind is nobody's to change: a copy.
    return setmetatable(t, real and library(real) or meta)
end

-- The metatables that scripts see of read-only tables; of most of them none, as in Redis. The real ones would let them out.
local shown_meta, string_meta = {}, nil

function globals.getmetatable(value)
    if behind[value] then
        return shown_meta[value]
    end
    if type(value) == 'string' then
        return string_meta
    end
    return getmetatable(value)
end

function globals.collectgarbage(what, number)
    if what == nil or what == 'collect' or what == 'count' or what == 'step' then
        return collectgarbage(what or 'collect', number)
    end
    return 0
end

function globals.loadstring(code, name)
    if type(code) ~= 'string' then
        error("bad argument #1 to 'loadstring' (string expected, got " .. (code == nil and 'no value' or type(code)) .. ')', 3)
    end
    return host.load(code, name == nil and code or tostring(name))
end

function globals.load(read, name)
    if type(read) ~= 'function' then
        error("bad argument #1 to 'load' (function expected, got " .. (read == nil and 'no value' or type(read)) .. ')', 3)
    end
    local pieces = {}
    while true do
        local piece = read()
        if piece == nil or piece == '' then
            break
        end
        if type(piece) ~= 'string' then
            return nil, 'reader function must return a string'
        end
        pieces[#pieces + 1] = piece
    end
    return host.load(table.concat(pieces), name == nil and '=(load)' or tostring(name))
end

local libraries = {
    string = library(string), table = library(table), math = library(math), coroutine = library(coroutine),
    os = { clock = os.clock }, cjson = cjson, cmsgpack = cmsgpack, struct = struct, bit = bit,
}

function libraries.table.insert(t, ...)
    writable(t)
    return insert(t, ...)
end

function libraries.table.foreach(t, f)
    return foreach(behind[t] or t, f)
end

function libraries.table.foreachi(t, f)
    return foreachi(behind[t] or t, f)
end

function libraries.coroutine.resume(...)
    return caught(resume(...))
end

local function integer(value, place)
    local number = tonumber(value)
    if not number then
        local found = value == nil and 'no value' or type(value)
        error("bad argument #" .. place .. " to 'random' (number expected, got " .. found .. ')', 4)
    end
    return number < 0 and -floor(-number) or floor(number)
end

-- The same numbers in every run, as in Redis.
function libraries.math.random(...)
    local count, drawn = select('#', ...), host.random()
    if count == 0 then
        return drawn
    end
    local low, high = ...
    if count == 1 then
        high = integer(low, 1)
        if high < 1 then
            error("bad argument #1 to 'random' (interval is empty)", 3)
        end
        return floor(drawn * high) + 1
    end
    if count ~= 2 then
        error('wrong number of arguments', 3)
    end
    low, high = integer(low, 1), integer(high, 2)
    if low > high then
        error("bad argument #2 to 'random' (interval is empty)", 3)
    end
    return floor(drawn * (high - low + 1)) + low
end

function libraries.math.randomseed(seed)
    local number = tonumber(seed)
    if not number then
        local found = seed == nil and 'no value' or type(seed)
        error("bad argument #1 to 'randomseed' (number expected, got " .. found .. ')', 3)
    end
    host.seed(number)
end

-- What scripts say to the server.
local api = {
    REPL_NONE = 0, REPL_AOF = 1, REPL_SLAVE = 2, REPL_REPLICA = 2, REPL_ALL = 3,
    LOG_DEBUG = 0, LOG_VERBOSE = 1, LOG_NOTICE = 2, LOG_WARNING = 3,
    REDIS_VERSION = host.version, REDIS_VERSION_NUM = host.version_number,
}

local function fail(words)
    error({ err = 'ERR ' .. words }, 0)
end

function api.error_reply(...)
    local words = ...
    if select('#', ...) ~= 1 or type(words) ~= 'string' and type(words) ~= 'number' then
        return { err = 'ERR wrong number or type of arguments' }
    end
    words = tostring(words)
    if words:sub(1, 1) == '-' then
        words = words:sub(2)
    end
    words = words:gsub('[\r\n]+$', '')
    if not words:find(' ', 1, true) then
        words = 'ERR ' .. words
    end
    return { err = words }
end

function api.status_reply(...)
    local words = ...
    if select('#', ...) ~= 1 or type(words) ~= 'string' and type(words) ~= 'number' then
        return { err = 'ERR wrong number or type of arguments' }
    end
    return { ok = tostring(words) }
end

function api.sha1hex(...)
    if select('#', ...) ~= 1 then
        fail('wrong number of arguments')
    end
    local text = ...
    if type(text) == 'number' then
        text = tostring(text)
    end
    return host.sha1hex(type(text) == 'string' and text or '')
end

function api.log(...)
    local count = select('#', ...)
    if count < 2 then
        fail('redis.log() requires two arguments or more.')
    end
    local level = ...
    if type(level) ~= 'number' and not (type(level) == 'string' and tonumber(level)) then
        fail('First argument must be a number (log level).')
    end
    level = floor(tonumber(level))
    if level < 0 or level > 3 then
        fail('Invalid log level.')
    end
    local words = {}
    for place = 2, count do
        local word = select(place, ...)
        if type(word) == 'string' or type(word) == 'number' then
            words[#words + 1] = tostring(word)
        end
    end
    host.log(level, table.concat(words, ' '))
end

function api.setresp(...)
    if select('#', ...) ~= 1 then
        fail('redis.setresp() requires one argument.')
    end
    local version = ...
    if version ~= 2 and version ~= 3 then
        fail('RESP version must be 2 or 3.')
    end
    host.setresp(version)
end

function api.set_repl(...)
    if select('#', ...) ~= 1 then
        fail('redis.set_repl() requires one argument.')
    end
    local flags = tonumber((...)) or 0
    if flags < 0 or flags > 3 or flags ~= floor(flags) then
        fail('Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.')
    end
end

function api.replicate_commands()
    return true
end

function api.breakpoint()
    return false
end

function api.debug() end

function api.acl_check_cmd(...)
    if select('#', ...) == 0 then
        fail('Please specify at least one argument for this redis lib call')
    end
    local allowed = host.check(...)
    if allowed == nil then
        fail('Invalid command passed to redis.acl_check_cmd()')
    end
    return allowed
end

-- What is written in Lua here is called through a function in C. Lua drops the frame of who calls a function of its own in the
-- last place, and with it the line that an error is about.
for of, names in next, {
    [globals] = { 'pcall', 'xpcall', 'next', 'pairs', 'rawget', 'rawset', 'setmetatable', 'getmetatable', 'collectgarbage',
        'loadstring', 'load' },
    [libraries.table] = { 'insert', 'foreach', 'foreachi' },
    [libraries.coroutine] = { 'resume' },
    [libraries.math] = { 'random', 'randomseed' },
    [api] = { 'error_reply', 'status_reply', 'sha1hex', 'log', 'setresp', 'set_repl', 'replicate_commands', 'breakpoint',
        'debug', 'acl_check_cmd' },
} do
    for _, name in next, names do
        of[name] = host.wrap(of[name])
    end
end
api.call, api.pcall = host.call, host.pcall

-- Where an error came from. What Lua's own functions refuse when they are called from here is an error of the script's line.
local function handler(err)
    local source, line = host.where()
    if type(err) ~= 'table' then
        local words = tostring(err)
        local place = source and source:sub(1, 1) == '@' and source:sub(2) .. ':' .. line .. ': ' or ''
        err = { err = 'ERR ' .. words:gsub('^tarn:%d+: ', (place:gsub('%%', '%%%%'))) }
    end
    if source then
        err.source, err.line = source, line
    end
    return err
end

string_meta = readonly({ __index = readonly(libraries.string) })

-- Scripts can have this one, too: it is in the metatable that they see of the global variables.
local missing = host.wrap(function(...)
    if select('#', ...) ~= 2 then
        error('Wrong number of arguments to luaProtectedTableError', 3)
    end
    local _, name = ...
    if type(name) ~= 'string' and type(name) ~= 'number' then
        error('Second argument to luaProtectedTableError must be a string or number', 3)
    end
    -- Redis shows a name up to its first zero byte.
    error("Script attempted to access nonexistent global variable '" .. match(name, '^%Z*') .. "'", 3)
end)
local globals_meta = readonly({ __index = missing })

local function environment(own)
    for name, value in next, libraries do
        own[name] = readonly(value)
    end
    for name, value in next, globals do
        own[name] = value
    end
    return setmetatable(own, { __index = missing })
end

-- Scripts.
local shown = readonly(api)
local of_scripts = environment({ redis = shown, server = shown, __redis__err__handler = handler })
of_scripts._G = readonly(of_scripts)
shown_meta[of_scripts._G] = globals_meta

-- Functions. While a library is loaded it sees little more than how to register them.
local of_calls = library(api)
of_calls.breakpoint, of_calls.debug, of_calls.replicate_commands = nil, nil, nil
shown = readonly(of_calls)
local of_functions = environment({ redis = shown, server = shown })

-- By name; nil unless a library is being loaded.
local registered
local NAMES = 'Library names can only contain letters, numbers, or underscores(_) and must be at least one character long'

local function register(name, callback, flags, description)
    name = tostring(name)
    if not name:find('^[%w_]+$') then
        fail(NAMES)
    end
    if registered[name] then
        fail('Function already exists in the library')
    end
    registered[name] = { callback = callback, flags = flags, description = description }
end

local function is_word(value)
    return type(value) == 'string' or type(value) == 'number'
end

local function register_named(arguments)
    local name, callback, description
    local flags = {}
    for key, value in next, arguments do
        if key == 'function_name' then
            if not is_word(value) then
                fail('function_name argument given to redis.register_function must be a string')
            end
            name = value
        elseif key == 'description' then
            if not is_word(value) then
                fail('description argument given to redis.register_function must be a string')
            end
            description = tostring(value)
        elseif key == 'callback' then
            if type(value) ~= 'function' then
                fail('callback argument given to redis.register_function must be a function')
            end
            callback = value
        elseif key == 'flags' then
            if type(value) ~= 'table' then
                fail('flags argument to redis.register_function must be a table representing function flags')
            end
            for place, flag in next, value do
                if type(place) ~= 'number' or not is_word(flag) or not host.is_flag(tostring(flag)) then
                    fail('unknown flag given')
                end
                flags[#flags + 1] = tostring(flag)
            end
        else
            fail('unknown argument given to redis.register_function')
        end
    end
    if not name then
        fail('redis.register_function must get a function name argument')
    end
    if not callback then
        fail('redis.register_function must get a callback argument')
    end
    register(name, callback, flags, description)
end

local function register_function(...)
    local count, first, second = select('#', ...), ...
    -- A library may have kept this function for its own functions to call.
    if not registered then
        fail('redis.register_function can only be called on FUNCTION LOAD command')
    end
    if count < 1 or count > 2 then
        fail('wrong number of arguments to redis.register_function')
    end
    if count == 1 then
        if type(first) ~= 'table' then
            fail('calling redis.register_function with a single argument is only applicable to Lua table (representing named arguments).')
        end
        return register_named(first)
    end
    if not is_word(first) then
        fail('first argument to redis.register_function must be a string')
    end
    if type(second) ~= 'function' then
        fail('second argument to redis.register_function must be a function')
    end
    register(first, second, {})
end

local of_loading = { register_function = host.wrap(register_function), log = api.log }
for _, name in next, { 'LOG_DEBUG', 'LOG_VERBOSE', 'LOG_NOTICE', 'LOG_WARNING', 'REDIS_VERSION', 'REDIS_VERSION_NUM' } do
    of_loading[name] = api[name]
end
local while_loading = setmetatable({
    redis = readonly(setmetatable(of_loading, { __index = missing })),
}, { __index = missing })

-- Which of the two is behind it changes.
local meta = { __index = of_functions, __newindex = refuse }
local functions = setmetatable({}, meta)
behind[functions] = of_functions
of_functions._G = functions
shown_meta[functions] = globals_meta

local function load_library(f)
    registered, meta.__index = {}, while_loading
    local ok, err = xpcall(f, handler)
    local made = registered
    registered, meta.__index = nil, of_functions
    if ok then
        return made
    end
    return nil, type(err) == 'table' and tostring(err.err) or tostring(err)
end

return {
    scripts = of_scripts._G, globals = of_scripts, functions = functions,
    handler = handler, load_library = load_library,
}
