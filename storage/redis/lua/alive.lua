-- Number of workers, all or those whose names end with ARGV[2], that gave a beat within the last ARGV[1] seconds.
-- KEYS  workers
local since, ending = stamp(now() - ARGV[1]), ARGV[2]
if ending == '' then return redis.call('ZCOUNT', KEYS[1], since, '+inf') end
local found = 0
for _, worker in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], since, '+inf')) do
  if string.sub(worker, -#ending) == ending then found = found + 1 end
end
return found
