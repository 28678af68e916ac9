-- The names of a pass's parts in their order, empty where there is none yet. Answers {} where this attempt of the job no longer counts.
-- KEYS  record, its shards
local attempt, pass = ARGV[1], ARGV[2]

local record = redis.call('HMGET', KEYS[1], 'state', 'attempt')
local known = redis.call('HMGET', KEYS[2], 'pass', 'shards')
if not record[1] or terminal(record[1]) or record[2] ~= attempt or known[1] ~= pass then return {} end
local names = {}
for shard = 0, known[2] - 1 do
  names[#names + 1] = redis.call('HGET', KEYS[2], shard .. ':part') or ''
end
return names
