-- A shard that nobody has, or whose lease has run out → leased. Answers {shard, its attempt, the job's, tenant, request, pass, shards}
-- or {}.
-- KEYS  record, due set, its shards
-- ARGV[7]  'last' to begin with the last one
local id, owner, token, lease, cap, lost, from = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6], ARGV[7]

local record = redis.call('HMGET', KEYS[1], 'state', 'attempt', 'tenant', 'request')
if not record[1] or terminal(record[1]) then return {} end
local pass = redis.call('HMGET', KEYS[3], 'pass', 'shards')
local shards = tonumber(pass[2] or 0)

local at, free, attempts, counted = now(), nil, 0, 0
for i = 0, shards - 1 do
  local shard = from == 'last' and shards - 1 - i or i
  local held = redis.call('HMGET', KEYS[3], shard .. ':part', shard .. ':until', shard .. ':token', shard .. ':attempt',
    shard .. ':excused')
  if not held[1] then
    -- The same call, tried again after its answer was lost.
    if held[3] == token then return {shard, tonumber(held[4]), tonumber(record[2]), record[3], record[4], pass[1], shards} end
    if not free and tonumber(held[2] or 0) <= at then
      free, attempts = shard, tonumber(held[4] or 0)
      counted = attempts - tonumber(held[5] or 0)
    end
  end
end
if not free then return {} end

if counted > 0 then count('shard_lost') end
if counted >= cap then
  redis.call('HSET', KEYS[1], 'error', lost)
  finish(KEYS[1], KEYS[2], id, 'failed')
  return {}
end
redis.call('HSET', KEYS[3], free .. ':attempt', attempts + 1, free .. ':owner', owner, free .. ':token', token,
  free .. ':until', stamp(at + lease))
return {free, attempts + 1, tonumber(record[2]), record[3], record[4], pass[1], shards}
