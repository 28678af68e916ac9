-- → queued. Answers {outcome, record, messages to publish}; outcome is created, known, mismatch, full or too many.
-- KEYS  record, due set, the tenant's counter, idempotency entry (optional)
-- ARGV[11]  whether a webhook waits for its end. ARGV[12] and further: its other facets
local id, tenant, request, timeout, grace = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local fingerprint, remember_seconds, most, most_of_tenant, queue = ARGV[6], ARGV[7], ARGV[8], ARGV[9], ARGV[10]

-- Ids are random, so a record under this one is this very call's, tried again after its answer was lost.
if redis.call('EXISTS', KEYS[1]) == 1 then
  return {'created', redis.call('HGETALL', KEYS[1]), {}}
end
local at, messages = now(), {}

if KEYS[4] then
  local known = redis.call('HMGET', KEYS[4], 'job', 'fingerprint')
  -- What is left of a job that was forgotten has no state.
  if known[1] and redis.call('HEXISTS', 'job:' .. known[1], 'state') == 1 then
    if known[2] ~= fingerprint then return {'mismatch', {}, {}} end
    local job = 'job:' .. known[1]
    local record = redis.call('HMGET', job, 'state', 'attempt', 'publications', 'sent')
    if record[1] == 'queued' and record[2] == '0' and record[3] == '1' and record[4] then
      -- Who asks again had no answer; the message may have been lost with it. Once: a second one costs a refused claim.
      redis.call('HSET', job, 'published', stamp(at), 'publications', 2)
      count('republished')
      tell(messages, known[1])
    end
    return {'known', redis.call('HGETALL', job), messages}
  end
end

local open = redis.call('SCARD', open_jobs(tenant))
if most_of_tenant ~= '' and open >= tonumber(most_of_tenant) then return {'too many', {}, {}} end
-- A hundredth of all places is every tenant's, whoever has taken the others.
if most ~= '' and redis.call('ZCARD', KEYS[2]) >= tonumber(most) and open >= math.floor(tonumber(most) / 100) then
  return {'full', {}, {}}
end

if KEYS[4] then
  redis.call('HSET', KEYS[4], 'job', id, 'fingerprint', fingerprint)
  redis.call('EXPIRE', KEYS[4], remember_seconds)
end

redis.call('HSET', KEYS[1], 'id', id, 'tenant', tenant, 'request', request, 'timeout', timeout, 'queue', queue,
  'facets', table.concat(ARGV, ' ', 12), 'attempt', 0, 'created', stamp(at), 'published', stamp(at), 'publications', 0,
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
weigh(KEYS[1], RECORD_BYTES, 'record_bytes', #request + BYTES_BESIDE_REQUEST)
redis.call('ZADD', line(tenant, queue), number, id)
let_in(tenant, queue, KEYS[2], grace, messages)
announce(KEYS[1])
return {'created', redis.call('HGETALL', KEYS[1]), messages}
