-- A worker lives. Workers silent for a day are forgotten.
-- KEYS  workers
local at = now()
redis.call('ZADD', KEYS[1], stamp(at), ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', stamp(at - 86400))
return 1
