-- Records that the result of an ended job is deleted; its record waits to be forgotten.
-- KEYS  record, ended jobs with results, ended jobs without
local id = ARGV[1]
local finished = redis.call('HGET', KEYS[1], 'finished')
redis.call('ZREM', KEYS[2], id)
redis.call('HDEL', KEYS[1], 'result')
unweigh(KEYS[1], RESULT_BYTES, 'result_bytes')
if finished then redis.call('ZADD', KEYS[3], finished, id) end
return 1
