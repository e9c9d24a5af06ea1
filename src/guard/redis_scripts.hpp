// The guard's verbs as Lua scripts: each is one atomic step on the server and uses the server's clock.
//
// A record is a Redis hash under its own key. Fields: ns, name, key (the record's guard key), st (0 in progress, 1
// completed, 2 failed), fe (fence), tk (the holder's token), sa, ca, hb, ex (started, completed, heartbeat, expires:
// microseconds), to (takeover_after in microseconds, or empty), fp (fingerprint, or empty), ow (owner), res, et, em
// (result, error). The index is a sorted set of all records by namespace, name and key; it may have entries whose
// record has expired.
#pragma once

#include "guard/redis_pool.hpp"

namespace hapax::guard::redis {

// The last of ARGV is an offset in microseconds added to the server's clock: 0, except in tests.

// The first write of a script may be refused for lack of memory, and it sets every field that an earlier record had: a
// server that is full changes nothing.
// KEYS: record, index, the token's void mark. ARGV: member, ns, name, key, token, fingerprint, takeover_after, owner.
// → {0, fence, taken over, now} when started; also for a holder that asks again because its answer was lost.
//   {1 in progress | 2 completed | 3 failed | 4 mismatch, now, record…}
[[nodiscard]] const RedisScript& begin();

// Undoes a begin whose answer did not come. If the server gets that begin only later, it finds the token's void mark
// and starts nothing. KEYS: as of begin. ARGV: member, token.
[[nodiscard]] const RedisScript& take_back();

// KEYS: record. ARGV: token, fence. → 1, or 0 when the caller no longer holds the record.
[[nodiscard]] const RedisScript& beat();

// KEYS: record, index. ARGV: member, token, fence, end (1 completed, 2 failed, 3 unlocked), result, error type, message, ttl.
// → 0 accepted, 1 stale.
[[nodiscard]] const RedisScript& finish();

// KEYS: record. → {now, record…}, or false.
[[nodiscard]] const RedisScript& read();

// KEYS: record, index. ARGV: member, 1 to forget a call in progress too. → 0 forgotten, 1 absent, 2 in progress.
[[nodiscard]] const RedisScript& forget();

// KEYS: index, records… ARGV: their members. Removes expired records and index entries without a record. → entries
// removed.
[[nodiscard]] const RedisScript& tidy();

// Order of a record's fields in a reply: st, fe, hb, to, fp, sa, ca, res, et, em, ex, ow.
inline constexpr std::size_t record_fields = 12;

}  // namespace hapax::guard::redis
