-- Put in front of every transition. Time is the server's: hosts' clocks never meet.

local ENDED = 'jobs:ended'
local QUEUED = 'jobs:queued'
local SHARED = 'jobs:shared'
local WEBHOOKS = 'jobs:webhooks'
local EVENTS_KEPT = 1000
-- An ended job's events take four times the memory of its record.
local ENDED_EVENTS_KEPT_SECONDS = 3600
-- Bytes of each tenant's records and results. A small job's record takes so many bytes beside its request.
local RECORD_BYTES, RESULT_BYTES = 'jobs:record-bytes', 'jobs:result-bytes'
local BYTES_BESIDE_REQUEST = 2000
-- Messages of one tenant that a queue holds at a time, besides those that are sent again.
local TURN = 2

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

-- A tenant's jobs that wait for their first message, by order of arrival, and those whose first message is under way.
local function line(tenant, queue)
  return 'tenant:' .. tenant .. ':line:' .. queue
end
local function sent(tenant, queue)
  return 'tenant:' .. tenant .. ':sent:' .. queue
end

-- A batch of jobs. Its rows are two lists: what each row is about, and its job.
local function batch_of(tenant, id)
  return 'tenant:' .. tenant .. ':batch:' .. id
end

-- The one way from state to state, so that lists by state, the lines, and the counts of the job's batch are right.
local function become(job, id, state)
  local record = redis.call('HMGET', job, 'tenant', 'state', 'queue', 'batch')
  if record[4] then
    local batch = batch_of(record[1], record[4])
    if record[2] then redis.call('HINCRBY', batch, record[2], -1) end
    redis.call('HINCRBY', batch, state, 1)
  end
  if record[2] == 'queued' then
    redis.call('ZREM', line(record[1], record[3]), id)
    redis.call('SREM', sent(record[1], record[3]), id)
  end
  local number = redis.call('ZSCORE', listed(record[1], ''), id)
  if record[2] then redis.call('ZREM', listed(record[1], 'state=' .. record[2]), id) end
  redis.call('HSET', job, 'state', state)
  redis.call('ZADD', listed(record[1], 'state=' .. state), number, id)
end

-- A tenant's ended jobs whose webhook is to be sent, by the time at which to try; the earliest is the tenant's in WEBHOOKS.
local function webhooks_of(tenant)
  return 'tenant:' .. tenant .. ':webhooks'
end
local function place_by_webhooks(tenant)
  local first = redis.call('ZRANGE', webhooks_of(tenant), 0, 0, 'WITHSCORES')
  if first[2] then redis.call('ZADD', WEBHOOKS, first[2], tenant) else redis.call('ZREM', WEBHOOKS, tenant) end
end

-- A message to publish for the job, appended to a list of such: id, timeout, queue.
local function tell(messages, id)
  local record = redis.call('HMGET', 'job:' .. id, 'timeout', 'queue')
  for _, value in ipairs({id, record[1], record[2]}) do messages[#messages + 1] = value end
end

-- Lets as many of a tenant's jobs into a queue as it may have there; so tenants take turns. Their messages are to be published.
local function let_in(tenant, queue, due, grace, messages)
  local at = stamp(now())
  for _ = redis.call('SCARD', sent(tenant, queue)) + 1, TURN do
    local id = redis.call('ZPOPMIN', line(tenant, queue))[1]
    if not id then return end
    redis.call('SADD', sent(tenant, queue), id)
    redis.call('HSET', 'job:' .. id, 'sent', at, 'published', at, 'publications', 1)
    redis.call('ZADD', due, stamp(at + grace), id)
    tell(messages, id)
  end
end

-- Tell whoever follows the job what its record says now. Answers the event's id.
local function announce(job)
  local record = redis.call('HMGET', job, 'state', 'attempt', 'fraction', 'stage', 'message')
  return redis.call('XADD', job .. ':events', 'MAXLEN', '~', EVENTS_KEPT, '*', 'at', stamp(now()), 'state', record[1],
    'attempt', record[2], 'fraction', record[3], 'stage', record[4], 'message', record[5])
end

-- What a job keeps is counted to its tenant, or no longer.
local function weigh(job, bytes_of, field, bytes)
  redis.call('HSET', job, field, bytes)
  redis.call('ZINCRBY', bytes_of, bytes, redis.call('HGET', job, 'tenant'))
end
local function unweigh(job, bytes_of, field)
  local bytes = redis.call('HGET', job, field)
  if not bytes then return end
  redis.call('HDEL', job, field)
  redis.call('ZINCRBY', bytes_of, -bytes, redis.call('HGET', job, 'tenant'))
  redis.call('ZREMRANGEBYSCORE', bytes_of, '-inf', 0)
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
  local tenant = redis.call('HGET', job, 'tenant')
  redis.call('SREM', open_jobs(tenant), id)
  redis.call('ZADD', ENDED, at, id)
  if redis.call('HEXISTS', job, 'webhook') == 1 then
    redis.call('ZADD', webhooks_of(tenant), at, id)
    place_by_webhooks(tenant)
  end
  redis.call('HSET', job, 'last_event', announce(job))
  redis.call('EXPIRE', job .. ':events', ENDED_EVENTS_KEPT_SECONDS)
end

-- → queued, in its tenant's line. A job of a batch has the batch's id; `job` has request, timeout, queue, facets, webhook, batch.
local function enqueue(due, id, tenant, number, grace, job)
  local record, at = 'job:' .. id, stamp(now())
  redis.call('HSET', record, 'id', id, 'tenant', tenant, 'request', job.request, 'timeout', job.timeout, 'queue', job.queue,
    'facets', job.facets, 'attempt', 0, 'created', at, 'published', at, 'publications', 0, 'fraction', 0, 'message', '')
  if job.batch then redis.call('HSET', record, 'batch', job.batch) end
  enter(record, 'queued')
  redis.call('ZADD', QUEUED, at, id)
  count('submitted')
  redis.call('ZADD', due, stamp(at + grace), id)
  redis.call('SADD', open_jobs(tenant), id)
  redis.call('ZADD', listed(tenant, ''), number, id)
  for facet in string.gmatch(job.facets, '%S+') do redis.call('ZADD', listed(tenant, facet), number, id) end
  become(record, id, 'queued')
  if job.webhook == '1' then redis.call('HSET', record, 'webhook', 0) end
  weigh(record, RECORD_BYTES, 'record_bytes', #job.request + BYTES_BESIDE_REQUEST)
  redis.call('ZADD', line(tenant, job.queue), number, id)
  announce(record)
end

-- How many more jobs the tenant may have, of all its places and of everybody's; '' is no bound. A hundredth of all places is
-- every tenant's, whoever has taken the others. Answers both numbers.
local function places_left(due, tenant, most, most_of_tenant)
  local open = redis.call('SCARD', open_jobs(tenant))
  local own = most_of_tenant == '' and math.huge or math.max(0, tonumber(most_of_tenant) - open)
  if most == '' then return own, math.huge end
  local everybody, sure = tonumber(most) - redis.call('ZCARD', due), math.floor(tonumber(most) / 100) - open
  return own, math.max(0, everybody, sure)
end
