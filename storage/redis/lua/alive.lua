-- How many workers, all or those whose names end so, gave a beat within so many seconds.
-- KEYS  workers
local since, ending = stamp(now() - ARGV[1]), ARGV[2]
if ending == '' then return redis.call('ZCOUNT', KEYS[1], since, '+inf') end
local found = 0
for _, worker in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], since, '+inf')) do
  if string.sub(worker, -#ending) == ending then found = found + 1 end
end
return found
