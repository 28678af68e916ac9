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

local own, everybody = places_left(KEYS[2], tenant, most, most_of_tenant)
if own < 1 then return {'too many', {}, {}} end
if everybody < 1 then return {'full', {}, {}} end

if KEYS[4] then
  redis.call('HSET', KEYS[4], 'job', id, 'fingerprint', fingerprint)
  redis.call('EXPIRE', KEYS[4], remember_seconds)
end

enqueue(KEYS[2], id, tenant, redis.call('INCR', KEYS[3]), grace,
  {request = request, timeout = timeout, queue = queue, facets = table.concat(ARGV, ' ', 12), webhook = ARGV[11]})
let_in(tenant, queue, KEYS[2], grace, messages)
return {'created', redis.call('HGETALL', KEYS[1]), messages}
