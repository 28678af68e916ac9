-- → queued. Answers {outcome, record}; outcome is created, known, mismatch, full or too many.
-- KEYS  record, due set, the tenant's counter, idempotency entry (optional)
-- ARGV[11]  whether a webhook waits for its end. ARGV[12] and further: its other facets
local id, tenant, request, timeout, grace = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local fingerprint, remember_seconds, most, most_of_tenant, queue = ARGV[6], ARGV[7], ARGV[8], ARGV[9], ARGV[10]

-- Ids are random, so a record under this one is this very call's, tried again after its answer was lost.
if redis.call('EXISTS', KEYS[1]) == 1 then
  return {'created', redis.call('HGETALL', KEYS[1])}
end

if KEYS[4] then
  local known = redis.call('HMGET', KEYS[4], 'job', 'fingerprint')
  -- What is left of a job that was forgotten has no state.
  if known[1] and redis.call('HEXISTS', 'job:' .. known[1], 'state') == 1 then
    if known[2] ~= fingerprint then return {'mismatch', {}} end
    return {'known', redis.call('HGETALL', 'job:' .. known[1])}
  end
end

if most ~= '' and redis.call('ZCARD', KEYS[2]) >= tonumber(most) then return {'full', {}} end
if most_of_tenant ~= '' and redis.call('SCARD', open_jobs(tenant)) >= tonumber(most_of_tenant) then return {'too many', {}} end

if KEYS[4] then
  redis.call('HSET', KEYS[4], 'job', id, 'fingerprint', fingerprint)
  redis.call('EXPIRE', KEYS[4], remember_seconds)
end

local at = now()
redis.call('HSET', KEYS[1], 'id', id, 'tenant', tenant, 'request', request, 'timeout', timeout, 'queue', queue,
  'facets', table.concat(ARGV, ' ', 12), 'attempt', 0, 'created', stamp(at), 'published', stamp(at), 'publications', 1,
  'fraction', 0, 'message', '')
enter(KEYS[1], 'queued')
redis.call('ZADD', QUEUED, stamp(at), id)
count('submitted')
redis.call('ZADD', KEYS[2], stamp(at + grace), id)
redis.call('SADD', open_jobs(tenant), id)
local number = redis.call('INCR', KEYS[3])
redis.call('ZADD', listed(tenant, ''), number, id)
for i = 12, #ARGV do redis.call('ZADD', listed(tenant, ARGV[i]), number, id) end
become(KEYS[1], id, 'queued')
if ARGV[11] == '1' then redis.call('HSET', KEYS[1], 'webhook', 0) end
announce(KEYS[1])
return {'created', redis.call('HGETALL', KEYS[1])}
