-- Releases a shard whose holder misses what is away: others may take it, and this attempt does not count, ARGV[4] times at most.
-- KEYS  its shards
local pass, shard, attempt, most = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])

local held = redis.call('HMGET', KEYS[1], 'pass', shard .. ':attempt', shard .. ':token', shard .. ':excused')
if held[1] ~= pass or held[2] ~= attempt or not held[3] then return 0 end
if tonumber(held[4] or 0) < most then redis.call('HINCRBY', KEYS[1], shard .. ':excused', 1) end
redis.call('HDEL', KEYS[1], shard .. ':owner', shard .. ':token', shard .. ':until')
return 1
