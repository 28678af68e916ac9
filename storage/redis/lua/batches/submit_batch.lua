-- → a batch whose jobs are queued, all or none. Answers {outcome, batch's id or number of jobs allowed, messages to publish}; outcome is
-- created, known, mismatch, full or too many.
-- KEYS  due set, the tenant's counter, the tenant's batches, idempotency entry (optional)
-- ARGV[10] and further, of each job: id, what its row is about, request, timeout, queue, whether a webhook waits for its end, facets
local id, tenant, described, grace, fingerprint = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5]
local remember_seconds, most, most_of_tenant, wanted = ARGV[6], ARGV[7], ARGV[8], tonumber(ARGV[9])
local batch, messages = batch_of(tenant, id), {}

-- Ids are random, so a batch under this one is this very call's, tried again after its answer was lost.
if redis.call('EXISTS', batch) == 1 then return {'created', id, {}} end
if KEYS[4] then
  local known = redis.call('HMGET', KEYS[4], 'batch', 'fingerprint')
  if known[1] and redis.call('EXISTS', batch_of(tenant, known[1])) == 1 then
    return {known[2] == fingerprint and 'known' or 'mismatch', known[1], {}}
  end
end

local own, everybody = places_left(KEYS[1], tenant, most, most_of_tenant)
if own < wanted then return {'too many', own, {}} end
if everybody < wanted then return {'full', everybody, {}} end

if KEYS[4] then
  redis.call('HSET', KEYS[4], 'batch', id, 'fingerprint', fingerprint)
  redis.call('EXPIRE', KEYS[4], remember_seconds)
end
redis.call('HSET', batch, 'id', id, 'described', described, 'created', stamp(now()), 'size', wanted)
redis.call('ZADD', KEYS[3], redis.call('INCR', KEYS[2]), id)
local queues = {}
for i = 10, #ARGV, 7 do
  redis.call('RPUSH', batch .. ':jobs', ARGV[i])
  redis.call('RPUSH', batch .. ':records', ARGV[i + 1])
  enqueue(KEYS[1], ARGV[i], tenant, redis.call('INCR', KEYS[2]), grace, {request = ARGV[i + 2], timeout = ARGV[i + 3],
    queue = ARGV[i + 4], webhook = ARGV[i + 5], facets = ARGV[i + 6], batch = id})
  queues[ARGV[i + 4]] = true
end
for queue in pairs(queues) do let_in(tenant, queue, KEYS[1], grace, messages) end
return {'created', id, messages}
