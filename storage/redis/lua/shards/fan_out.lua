-- Shares out a pass over a job's data. The same pass of a lost attempt goes on.
-- Answers the job's queue, or nothing where this attempt no longer counts.
-- KEYS  record, its shards, jobs with shards, jobs with parts
local id, attempt, pass, shards, grace = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

local record = redis.call('HMGET', KEYS[1], 'state', 'attempt', 'tenant', 'queue')
if not record[1] or terminal(record[1]) or record[2] ~= attempt then return '' end

local known = redis.call('HMGET', KEYS[2], 'pass', 'shards')
if known[1] ~= pass or known[2] ~= shards then
  redis.call('DEL', KEYS[2])
  redis.call('HSET', KEYS[2], 'pass', pass, 'shards', shards)
end
redis.call('ZADD', KEYS[3], stamp(now() + grace), id)
redis.call('ZADD', KEYS[4], stamp(now()), record[3] .. '/' .. id)
return record[4]
