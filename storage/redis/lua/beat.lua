-- Records that a worker lives. Workers silent for a day are forgotten.
-- KEYS  workers, and the workers of each queue that it serves
local at = now()
for _, workers in ipairs(KEYS) do
  redis.call('ZADD', workers, stamp(at), ARGV[1])
  redis.call('ZREMRANGEBYSCORE', workers, '-inf', stamp(at - 86400))
  -- Beats of a time to come are from before the clock was set back.
  redis.call('ZREMRANGEBYSCORE', workers, '(' .. stamp(at), '+inf')
end
return 1
