-- terminal → a tombstone, which knows whose job it was and vanishes by itself. Answers 1, also for a tombstone, or 0.
-- KEYS  record, its events, ended jobs with results, ended jobs without
local id, tenant, remember = ARGV[1], ARGV[2], ARGV[3]

local record = redis.call('HMGET', KEYS[1], 'state', 'tenant', 'facets', 'batch')
if record[2] ~= tenant then return 0 end
if not record[1] then return 1 end
if not terminal(record[1]) then return 0 end

if record[4] then
  -- A batch is kept as long as one of its jobs.
  local batch = batch_of(tenant, record[4])
  redis.call('HINCRBY', batch, record[1], -1)
  if redis.call('HINCRBY', batch, 'gone', 1) >= tonumber(redis.call('HGET', batch, 'size') or 0) then
    redis.call('DEL', batch, batch .. ':jobs', batch .. ':records')
    redis.call('ZREM', 'tenant:' .. tenant .. ':batches', record[4])
  end
end
unweigh(KEYS[1], RECORD_BYTES, 'record_bytes')
unweigh(KEYS[1], RESULT_BYTES, 'result_bytes')
redis.call('DEL', KEYS[1], KEYS[2])
redis.call('ZREM', KEYS[3], id)
redis.call('ZREM', KEYS[4], id)
redis.call('ZREM', listed(tenant, ''), id)
redis.call('ZREM', webhooks_of(tenant), id)
place_by_webhooks(tenant)
redis.call('ZREM', listed(tenant, 'state=' .. record[1]), id)
for facet in string.gmatch(record[3], '%S+') do redis.call('ZREM', listed(tenant, facet), id) end
redis.call('HSET', KEYS[1], 'tenant', tenant)
redis.call('PEXPIRE', KEYS[1], remember)
return 1
