-- Put in front of every transition. Time is the server's: hosts' clocks never meet.

local ENDED = 'jobs:ended'
local QUEUED = 'jobs:queued'
local SHARED = 'jobs:shared'
local WEBHOOKS = 'jobs:webhooks'
local EVENTS_KEPT = 1000

local function now()
  local time = redis.call('TIME')
  return tonumber(time[1]) + tonumber(time[2]) / 1e6
end

-- Lua would print a double with 14 digits and lose the microseconds.
local function stamp(seconds)
  return string.format('%.6f', seconds)
end

local function terminal(state)
  return state == 'succeeded' or state == 'failed' or state == 'cancelled'
end

-- The set of a tenant's jobs that have not ended.
local function open_jobs(tenant)
  return 'tenant:' .. tenant .. ':open'
end

-- The list of a tenant's jobs that share a facet, by order of arrival.
local function listed(tenant, facet)
  return 'tenant:' .. tenant .. ':jobs' .. (facet == '' and '' or ':' .. facet)
end

-- The one way from state to state, so that lists by state are right.
local function become(job, id, state)
  local record = redis.call('HMGET', job, 'tenant', 'state')
  local number = redis.call('ZSCORE', listed(record[1], ''), id)
  if record[2] then redis.call('ZREM', listed(record[1], 'state=' .. record[2]), id) end
  redis.call('HSET', job, 'state', state)
  redis.call('ZADD', listed(record[1], 'state=' .. state), number, id)
end

-- Tell whoever follows the job what its record says now.
local function announce(job)
  local record = redis.call('HMGET', job, 'state', 'attempt', 'fraction', 'stage', 'message')
  redis.call('XADD', job .. ':events', 'MAXLEN', '~', EVENTS_KEPT, '*', 'at', stamp(now()), 'state', record[1],
    'attempt', record[2], 'fraction', record[3], 'stage', record[4], 'message', record[5])
end

-- For the operator: how often this happened.
local function count(what)
  redis.call('HINCRBY', 'jobs:counts', what, 1)
end

-- The job's stage changes, or not; for the operator, how long jobs stay in each.
local function enter(job, stage)
  local record, at = redis.call('HMGET', job, 'stage', 'since'), now()
  if record[1] == stage and record[2] then return end
  if record[2] then
    redis.call('HINCRBY', 'jobs:stages', record[1] .. ':count', 1)
    redis.call('HINCRBYFLOAT', 'jobs:stages', record[1] .. ':seconds', stamp(math.max(0, at - record[2])))
  end
  redis.call('HSET', job, 'stage', stage, 'since', stamp(at))
end

-- The one way into a terminal state.
local function finish(job, due, id, state)
  local at = stamp(now())
  local stage = redis.call('HGET', job, 'stage')
  enter(job, state)
  -- Of a job that did not succeed, the stage it came to is worth knowing.
  if state ~= 'succeeded' then redis.call('HSET', job, 'stage', stage) end
  become(job, id, state)
  redis.call('HSET', job, 'finished', at)
  redis.call('HDEL', job, 'owner', 'token', 'lease_until', 'since')
  redis.call('DEL', job .. ':shards')
  redis.call('ZREM', SHARED, id)
  redis.call('ZREM', due, id)
  redis.call('ZREM', QUEUED, id)
  count(state)
  redis.call('SREM', open_jobs(redis.call('HGET', job, 'tenant')), id)
  redis.call('ZADD', ENDED, at, id)
  if redis.call('HEXISTS', job, 'webhook') == 1 then redis.call('ZADD', WEBHOOKS, at, id) end
  announce(job)
end
