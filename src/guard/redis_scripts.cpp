#include "guard/redis_scripts.hpp"

namespace hapax::guard::redis {

namespace {

// Lua numbers are exact up to 2^53, which microseconds stay below until the year 2255. An expired record counts as
// none.
#define HAPAX_LUA_NOW                                           \
  "local t = redis.call('TIME')\n"                              \
  "local now = t[1] * 1000000 + t[2] + tonumber(ARGV[#ARGV])\n" \
  "local stamp = string.format('%.0f', now)\n"
#define HAPAX_LUA_RECORD                                                                                             \
  "local r = redis.call('HMGET', KEYS[1], 'st', 'fe', 'hb', 'to', 'fp', 'sa', 'ca', 'res', 'et', 'em', 'ex', 'ow', " \
  "'tk')\n"                                                                                                          \
  "if r[1] and r[1] ~= '0' and r[11] and r[11] ~= '' and tonumber(r[11]) <= now then r = {} end\n"

// Fast path: most begins find neither a record nor a void mark.
constexpr const char* begin_lua = HAPAX_LUA_NOW R"lua(
if not redis.call('HMGET', KEYS[1], 'st')[1] and not redis.call('HMGET', KEYS[3], 'v')[1] then
  redis.call('HSET', KEYS[1], 'ns', ARGV[2], 'name', ARGV[3], 'key', ARGV[4], 'st', '0', 'fe', '1', 'tk', ARGV[5],
             'sa', stamp, 'hb', stamp, 'to', ARGV[7], 'fp', ARGV[6], 'ow', ARGV[8])
  redis.call('ZADD', KEYS[2], 0, ARGV[1])
  return {0, '1', 0, stamp}
end
)lua" HAPAX_LUA_RECORD R"lua(
local fence = 1
local taken = 0
if r[1] then
  local to = tonumber(r[4])
  if r[1] == '0' and r[13] == ARGV[5] then
    return {0, r[2], 0, stamp}
  elseif r[1] == '0' and to and now - tonumber(r[3]) > to then
    fence = tonumber(r[2]) + 1
    taken = 1
  else
    local answer = tonumber(r[1]) + 1
    if r[5] ~= '' and ARGV[6] ~= '' and r[5] ~= ARGV[6] then answer = 4 end
    return {answer, stamp, unpack(r, 1, 12)}
  end
end
if redis.call('HMGET', KEYS[3], 'v')[1] then return redis.error_reply('GONE this begin was taken back') end
fence = string.format('%.0f', fence)
redis.call('HSET', KEYS[1], 'ns', ARGV[2], 'name', ARGV[3], 'key', ARGV[4], 'st', '0', 'fe', fence, 'tk', ARGV[5],
           'sa', stamp, 'hb', stamp, 'to', ARGV[7], 'fp', ARGV[6], 'ow', ARGV[8], 'ca', '', 'ex', '', 'res', '',
           'et', '', 'em', '')
redis.call('PERSIST', KEYS[1])
redis.call('ZADD', KEYS[2], 0, ARGV[1])
return {0, fence, taken, stamp}
)lua";

// The void mark lasts one hour, longer than any begin can still be under way to the server.
constexpr const char* take_back_lua = R"lua(
local r = redis.call('HMGET', KEYS[1], 'st', 'tk')
if r[1] == '0' and r[2] == ARGV[2] then
  redis.call('DEL', KEYS[1])
  redis.call('ZREM', KEYS[2], ARGV[1])
end
redis.call('HSET', KEYS[3], 'v', '1')
redis.call('PEXPIREAT', KEYS[3], string.format('%.0f', redis.call('TIME')[1] * 1000 + 3600000))
return 0
)lua";

constexpr const char* beat_lua = R"lua(
local r = redis.call('HMGET', KEYS[1], 'st', 'tk', 'fe')
if r[1] ~= '0' or r[2] ~= ARGV[1] or r[3] ~= ARGV[2] then return 0 end
local t = redis.call('TIME')
redis.call('HSET', KEYS[1], 'hb', string.format('%.0f', t[1] * 1000000 + t[2] + tonumber(ARGV[#ARGV])))
return 1
)lua";

constexpr const char* finish_lua = HAPAX_LUA_NOW R"lua(
local r = redis.call('HMGET', KEYS[1], 'st', 'tk', 'fe', 'ex')
if not r[1] or r[2] ~= ARGV[2] or r[3] ~= ARGV[3] then return 1 end
if r[1] ~= '0' then
  if r[4] and r[4] ~= '' and tonumber(r[4]) <= now then return 1 end
  return r[1] == ARGV[4] and 0 or 1
end
if ARGV[4] == '3' then
  redis.call('DEL', KEYS[1])
  redis.call('ZREM', KEYS[2], ARGV[1])
  return 0
end
local ex = ''
if ARGV[8] ~= '' then ex = string.format('%.0f', now + tonumber(ARGV[8])) end
if ARGV[4] == '1' then
  redis.call('HSET', KEYS[1], 'st', '1', 'res', ARGV[5], 'ca', stamp, 'hb', stamp, 'ex', ex)
else
  redis.call('HSET', KEYS[1], 'st', ARGV[4], 'res', ARGV[5], 'et', ARGV[6], 'em', ARGV[7], 'ca', stamp, 'hb', stamp,
             'ex', ex)
end
if ex ~= '' then redis.call('PEXPIREAT', KEYS[1], string.format('%.0f', math.ceil(tonumber(ex) / 1000))) end
return 0
)lua";

constexpr const char* read_lua = HAPAX_LUA_NOW HAPAX_LUA_RECORD R"lua(
if not r[1] then return false end
return {stamp, unpack(r, 1, 12)}
)lua";

constexpr const char* forget_lua = HAPAX_LUA_NOW HAPAX_LUA_RECORD R"lua(
if not r[1] then
  redis.call('ZREM', KEYS[2], ARGV[1])
  return 1
end
if r[1] == '0' and ARGV[2] ~= '1' then return 2 end
redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], ARGV[1])
return 0
)lua";

constexpr const char* tidy_lua = R"lua(
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2] + tonumber(ARGV[#ARGV])
local gone = 0
for i = 2, #KEYS do
  local r = redis.call('HMGET', KEYS[i], 'st', 'ex')
  local expired = r[1] and r[1] ~= '0' and r[2] ~= '' and tonumber(r[2]) <= now
  if expired then redis.call('DEL', KEYS[i]) end
  if expired or not r[1] then gone = gone + redis.call('ZREM', KEYS[1], ARGV[i - 1]) end
end
return gone
)lua";

#undef HAPAX_LUA_RECORD
#undef HAPAX_LUA_NOW

}  // namespace

const RedisScript& begin() {
  static const RedisScript script(begin_lua);
  return script;
}

const RedisScript& take_back() {
  static const RedisScript script(take_back_lua, RedisScript::Full::allowed);
  return script;
}

const RedisScript& beat() {
  static const RedisScript script(beat_lua, RedisScript::Full::allowed);
  return script;
}

const RedisScript& finish() {
  static const RedisScript script(finish_lua, RedisScript::Full::allowed);
  return script;
}

const RedisScript& read() {
  static const RedisScript script(read_lua);
  return script;
}

const RedisScript& forget() {
  static const RedisScript script(forget_lua, RedisScript::Full::allowed);
  return script;
}

const RedisScript& tidy() {
  static const RedisScript script(tidy_lua, RedisScript::Full::allowed);
  return script;
}

}  // namespace hapax::guard::redis
