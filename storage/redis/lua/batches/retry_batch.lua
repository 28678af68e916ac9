-- Failed jobs of a batch → as many new ones, queued in their rows, all or none. What failed stays as a job of its own.
-- Answers {outcome, number of new jobs or of jobs allowed, messages to publish}; outcome is retried, full, too many or unknown.
-- KEYS  due set, the tenant's counter
-- ARGV[6] and further: ids for new jobs, one for each row
local tenant, id, grace, most, most_of_tenant = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5]
local batch, messages = batch_of(tenant, id), {}
if redis.call('EXISTS', batch) == 0 then return {'unknown', 0, {}} end
local wanted = tonumber(redis.call('HGET', batch, 'failed') or 0)
local own, everybody = places_left(KEYS[1], tenant, most, most_of_tenant)
if own < wanted then return {'too many', own, {}} end
if everybody < wanted then return {'full', everybody, {}} end

local queues = {}
for row, old in ipairs(redis.call('LRANGE', batch .. ':jobs', 0, -1)) do
  local job = 'job:' .. old
  if redis.call('HGET', job, 'state') == 'failed' then
    local kept, new = redis.call('HMGET', job, 'request', 'timeout', 'queue', 'facets'), ARGV[5 + row]
    redis.call('HDEL', job, 'batch')
    redis.call('HINCRBY', batch, 'failed', -1)
    redis.call('LSET', batch .. ':jobs', row - 1, new)
    enqueue(KEYS[1], new, tenant, redis.call('INCR', KEYS[2]), grace, {request = kept[1], timeout = kept[2], queue = kept[3],
      facets = kept[4], webhook = tostring(redis.call('HEXISTS', job, 'webhook')), batch = id})
    queues[kept[3]] = true
  end
end
for queue in pairs(queues) do let_in(tenant, queue, KEYS[1], grace, messages) end
return {'retried', wanted, messages}
