-- Numbers for the operator. Answers {queued, open, seconds that the oldest queued job has waited, counts, stages}.
-- KEYS  due set
local oldest = redis.call('ZRANGE', QUEUED, 0, 0, 'WITHSCORES')
local waited = oldest[2] and now() - oldest[2] or 0
return {redis.call('ZCARD', QUEUED), redis.call('ZCARD', KEYS[1]), stamp(math.max(0, waited)),
  redis.call('HGETALL', 'jobs:counts'), redis.call('HGETALL', 'jobs:stages')}
