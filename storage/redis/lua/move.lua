-- running in the queue `small` → queued in `large`, if it has run for ARGV[3] seconds for this owner: it takes longer than was
-- estimated. That attempt does not count. Answers 1 or 0.
-- KEYS  record, due set
local id, owner, longest = ARGV[1], ARGV[2], tonumber(ARGV[3])

local at = now()
local record = redis.call('HMGET', KEYS[1], 'state', 'owner', 'queue', 'started')
if record[1] ~= 'running' or record[2] ~= owner or record[3] ~= 'small' or at - record[4] < longest then return 0 end

become(KEYS[1], id, 'queued')
redis.call('HINCRBY', KEYS[1], 'excused', 1)
redis.call('HDEL', KEYS[1], 'owner', 'token', 'lease_until')
-- It has no message in its new queue, which the reaper takes from `published`.
redis.call('HSET', KEYS[1], 'queue', 'large', 'published', 0, 'publications', 1, 'fraction', 0,
  'message', 'The job takes longer than estimated; it waits for a worker for long jobs.')
enter(KEYS[1], 'queued')
redis.call('ZADD', QUEUED, stamp(at), id)
redis.call('ZADD', KEYS[2], stamp(at), id)
count('moved')
announce(KEYS[1])
return 1
