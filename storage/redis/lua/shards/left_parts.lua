-- Jobs that ended ARGV[1] seconds ago or more, or are unknown, and whose parts may still be there. Answers {tenant, id, …}.
-- KEYS  jobs with parts
local before, limit = now() - ARGV[1], ARGV[2]
local found = {}
for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', stamp(before), 'LIMIT', 0, limit)) do
  local tenant, id = string.match(member, '^(.-)/(.+)$')
  local record = redis.call('HMGET', 'job:' .. id, 'state', 'finished')
  if not record[1] or (terminal(record[1]) and tonumber(record[2]) <= before) then
    found[#found + 1] = tenant
    found[#found + 1] = id
  else
    redis.call('ZADD', KEYS[1], stamp(now()), member)
  end
end
return found
