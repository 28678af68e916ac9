-- Jobs that ended ARGV[1] seconds ago or more, oldest first, ARGV[2] at most. Answers {id, tenant, attempts, …}.
-- KEYS  ended jobs whose result, or whose record, is still kept
local found = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', stamp(now() - ARGV[1]), 'LIMIT', 0, ARGV[2])) do
  local record = redis.call('HMGET', 'job:' .. id, 'tenant', 'attempt')
  if record[2] then
    for _, value in ipairs({id, record[1], record[2]}) do found[#found + 1] = value end
  else
    redis.call('ZREM', KEYS[1], id)
  end
end
return found
