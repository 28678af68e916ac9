-- queued, running → cancelled; from then on report and commit refuse the runner. Answers the record, or {} where this tenant has none.
-- KEYS  record, due set
local id, tenant = ARGV[1], ARGV[2]

local record = redis.call('HMGET', KEYS[1], 'state', 'tenant')
if record[2] ~= tenant then return {} end
if not record[1] then return redis.call('HGETALL', KEYS[1]) end
if not terminal(record[1]) then finish(KEYS[1], KEYS[2], id, 'cancelled') end
return redis.call('HGETALL', KEYS[1])
