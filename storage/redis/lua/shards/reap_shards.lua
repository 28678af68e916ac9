-- Jobs with shards that nobody works on: their messages or their workers seem lost. Answers {id, timeout, queue, shards, …}.
-- KEYS  jobs with shards
-- ARGV[3] and further: each queue and its name at the broker
local limit, grace = ARGV[1], ARGV[2]

local at = now()
local messages_waiting = {}
for i = 3, #ARGV, 2 do
  messages_waiting[ARGV[i]] = redis.call('LLEN', ARGV[i + 1]) > 0
end
local again = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', stamp(at), 'LIMIT', 0, limit)) do
  local job = 'job:' .. id
  local record = redis.call('HMGET', job, 'timeout', 'queue')
  local shards, free = tonumber(redis.call('HGET', job .. ':shards', 'shards') or 0), 0
  for shard = 0, shards - 1 do
    local held = redis.call('HMGET', job .. ':shards', shard .. ':part', shard .. ':until')
    if not held[1] and tonumber(held[2] or 0) <= at then free = free + 1 end
  end
  redis.call('ZADD', KEYS[1], stamp(at + grace), id)
  -- While there are messages, its own most likely just stand in line.
  if free > 0 and not messages_waiting[record[2]] then
    count('shards_republished')
    for _, value in ipairs({id, record[1], record[2], free}) do again[#again + 1] = value end
  end
end
return again
