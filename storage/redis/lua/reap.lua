-- Jobs that are due: their message or their worker seems lost. Answers {looked at, until, id, timeout, queue, …}: the number of
-- due jobs, ARGV[1] at most, and the jobs to publish again.
-- KEYS  due set
-- ARGV[6]  the time until which jobs are due, as an earlier call answered it; empty: now. ARGV[7] and further: each queue and its name at the broker
local limit, grace, longest_wait, patience, timed_out = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]

local at = now()

-- The store's clock was set back since the last look: what was due by the old one is due as much earlier.
local function set_back(by)
  local due = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
  for i = 1, #due, 2 do
    redis.call('ZADD', KEYS[1], stamp(due[i + 1] - by), due[i])
    redis.call('HINCRBYFLOAT', 'job:' .. due[i], 'published', stamp(-by))
  end
  local shared = redis.call('ZRANGE', SHARED, 0, -1, 'WITHSCORES')
  for i = 1, #shared, 2 do
    redis.call('ZADD', SHARED, stamp(shared[i + 1] - by), shared[i])
    local shards = 'job:' .. shared[i] .. ':shards'
    for shard = 0, (redis.call('HGET', shards, 'shards') or 0) - 1 do
      if redis.call('HEXISTS', shards, shard .. ':until') == 1 then
        redis.call('HINCRBYFLOAT', shards, shard .. ':until', stamp(-by))
      end
    end
  end
  for _, tenant in ipairs(redis.call('ZRANGE', WEBHOOKS, 0, -1)) do
    local webhooks = redis.call('ZRANGE', webhooks_of(tenant), 0, -1, 'WITHSCORES')
    for i = 1, #webhooks, 2 do redis.call('ZADD', webhooks_of(tenant), stamp(webhooks[i + 1] - by), webhooks[i]) end
    place_by_webhooks(tenant)
  end
end
local before = tonumber(redis.call('GET', 'jobs:clock') or 0)
if before - at > tonumber(grace) then set_back(before - at) end
redis.call('SET', 'jobs:clock', stamp(at))

local messages_waiting, next_is_of = {}, {}
for i = 7, #ARGV, 2 do
  local message = redis.call('LINDEX', ARGV[i + 1], -1)
  messages_waiting[ARGV[i]] = message and true
  -- The line is first in, first out, and its next message is no older than the first message of the job that it names.
  local next_job = message and string.match(message, "'(job_%w+)'")
  next_is_of[ARGV[i]] = next_job and tonumber(redis.call('HGET', 'job:' .. next_job, 'sent') or '')
end
local until_then = ARGV[6] ~= '' and ARGV[6] or stamp(at)
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', until_then, 'LIMIT', 0, limit)
local again = {#due, until_then}

for _, id in ipairs(due) do
  local job = 'job:' .. id
  local record = redis.call('HMGET', job, 'state', 'timeout', 'published', 'publications', 'started', 'seen', 'queue', 'tenant')
  local state, timeout = record[1], record[2]

  if state == 'running' and tonumber(record[6]) - tonumber(record[5]) >= tonumber(timeout) then
    -- Seen alive after its time was up, then killed before it could say so. Another run would end the same way.
    redis.call('HSET', job, 'error', timed_out)
    finish(job, KEYS[1], id, 'failed')

  elseif state == 'queued' and redis.call('ZSCORE', line(record[8], record[7]), id) then
    -- It waits for its tenant's turn. That is passed on by claims, but a job that was cancelled or lost has none.
    redis.call('ZADD', KEYS[1], stamp(at + grace), id)
    let_in(record[8], record[7], KEYS[1], grace, again)

  elseif state == 'queued' and tonumber(record[3]) >= tonumber(stamp(at)) then
    -- Let in by the branch above, in this very call.

  elseif state == 'queued' and messages_waiting[record[7]] and at - tonumber(record[3]) < patience
    and tonumber(record[3]) + grace >= (next_is_of[record[7]] or 0) then
    -- Most likely its message just stands in line.
    redis.call('ZADD', KEYS[1], stamp(at + grace), id)

  elseif state == 'queued' or state == 'running' then
    if state == 'running' then
      become(job, id, 'queued')
      redis.call('HSET', job, 'fraction', 0, 'message', 'The worker fell silent; the job waits for another.')
      enter(job, 'queued')
      redis.call('ZADD', QUEUED, stamp(at), id)
      count('lease_lost')
      announce(job)
    end
    local wait = math.min(grace * 2 ^ math.max(tonumber(record[4]) - 1, 0), longest_wait)
    redis.call('HINCRBY', job, 'publications', 1)
    count('republished')
    redis.call('HSET', job, 'published', stamp(at))
    redis.call('ZADD', KEYS[1], stamp(at + wait), id)
    tell(again, id)

  else
    redis.call('ZREM', KEYS[1], id)
  end
end
return again
