-- Records that a worker lives. Workers silent for a day are forgotten.
-- KEYS  workers, and the workers of each queue that it serves
local at = now()
for _, workers in ipairs(KEYS) do
  redis.call('ZADD', workers, stamp(at), ARGV[1])
  redis.call('ZREMRANGEBYSCORE', workers, '-inf', stamp(at - 86400))
end
return 1
