-- running → running, for another lease. Answers 1, or 0 where the job is no longer this owner's.
-- KEYS  record, due set
local id, owner, lease = ARGV[1], ARGV[2], ARGV[3]

local record = redis.call('HMGET', KEYS[1], 'state', 'owner')
if record[1] ~= 'running' or record[2] ~= owner then return 0 end

local at = now()
redis.call('HSET', KEYS[1], 'seen', stamp(at), 'lease_until', stamp(at + lease))
redis.call('ZADD', KEYS[2], stamp(at + lease), id)
return 1
