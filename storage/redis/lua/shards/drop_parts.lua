-- Records that the parts of a job are deleted.
-- KEYS  jobs with parts
return redis.call('ZREM', KEYS[1], ARGV[1])
