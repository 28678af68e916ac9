-- How many workers gave a beat within so many seconds.
-- KEYS  workers
return redis.call('ZCOUNT', KEYS[1], stamp(now() - ARGV[1]), '+inf')
