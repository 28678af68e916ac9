-- Commits the part with a shard's sums. Answers 1, also to a repeated commit that had landed; 0 where the shard is another's by now.
-- KEYS  its shards
local pass, shard, attempt, part = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local held = redis.call('HMGET', KEYS[1], 'pass', shard .. ':attempt', shard .. ':part')
if held[1] ~= pass or held[2] ~= attempt then return 0 end
if held[3] then return held[3] == part and 1 or 0 end
redis.call('HSET', KEYS[1], shard .. ':part', part)
redis.call('HDEL', KEYS[1], shard .. ':owner', shard .. ':token', shard .. ':until')
count('shard_done')
return 1
