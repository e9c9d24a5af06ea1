// The guard's verbs as Lua scripts: each is one atomic step on the server, by the server's clock.
//
// A record is a hash of its own key. Its fields: ns, name, key (what it is the record of), st (0 in progress, 1 completed,
// 2 failed), fe (fence), tk (the holder's token), sa, ca, hb, ex (started, completed, heartbeat, expires: microseconds), to
// (takeover_after in microseconds, or empty), fp (fingerprint, or empty), ow (owner), res, et, em (result, error). The index
// is a sorted set of all records by namespace, name and key; an entry whose record has expired is nothing but an entry.
#pragma once

#include "guard/redis_pool.hpp"

namespace hapax::guard::redis {

// The last of ARGV is always added to the server's clock, in microseconds: 0, but in tests, which move time.

// What may be refused for want of memory is written first, and sets every field that a record had before: a server that is
// full changes nothing.
// KEYS: record, index, the token's mark. ARGV: member, ns, name, key, token, fingerprint, takeover_after, owner.
// → {0, fence, taken over, now} when started; also for a holder that asks again, as its answer was lost.
//   {1 in progress | 2 completed | 3 failed | 4 mismatch, now, record…}
[[nodiscard]] const RedisScript& begin();

// Takes a begin back whose answer did not come, whether the server had it, has it or gets it only later: then it meets the
// token's mark and starts nothing. KEYS: as of begin. ARGV: member, token.
[[nodiscard]] const RedisScript& take_back();

// KEYS: record. ARGV: token, fence. → 1, or 0 when it is no longer held.
[[nodiscard]] const RedisScript& beat();

// KEYS: record, index. ARGV: member, token, fence, end (1 completed, 2 failed, 3 unlocked), result, error type, message, ttl.
// → 0 accepted, 1 stale.
[[nodiscard]] const RedisScript& finish();

// KEYS: record. → {now, record…}, or nothing.
[[nodiscard]] const RedisScript& read();

// KEYS: record, index. ARGV: member, 1 for even in progress. → 0 forgotten, 1 absent, 2 in progress.
[[nodiscard]] const RedisScript& forget();

// KEYS: index, records… ARGV: their members. → how many records were expired; their entries are gone with them.
[[nodiscard]] const RedisScript& tidy();

// Of a record in a reply, in this order: st, fe, hb, to, fp, sa, ca, res, et, em, ex, ow.
inline constexpr std::size_t record_fields = 12;

}  // namespace hapax::guard::redis
