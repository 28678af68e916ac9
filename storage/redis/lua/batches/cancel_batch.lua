-- Queued jobs of a batch → cancelled. Answers 1, or 0 where the tenant has none under this id.
-- KEYS  due set
local batch = batch_of(ARGV[1], ARGV[2])
if redis.call('EXISTS', batch) == 0 then return 0 end
for _, id in ipairs(redis.call('LRANGE', batch .. ':jobs', 0, -1)) do
  local record = redis.call('HMGET', 'job:' .. id, 'state', 'attempt')
  if record[1] == 'queued' then finish('job:' .. id, KEYS[1], id, 'cancelled') end
end
return 1
