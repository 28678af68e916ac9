-- running → queued: what the attempt needs is away. That is no fault of the job's, and the attempt does not count against its cap,
-- ARGV[5] times at most, in case it never comes back. Answers 1, also to a repeated call that had landed; else 0.
-- KEYS  record, due set
local id, attempt, grace, longest_wait, most = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])

local record = redis.call('HMGET', KEYS[1], 'state', 'attempt', 'owner', 'excused')
if not record[1] or terminal(record[1]) or record[2] ~= attempt then return 0 end
if not record[3] then return 1 end

local at, excused = now(), tonumber(record[4] or 0)
become(KEYS[1], id, 'queued')
if excused < most then redis.call('HINCRBY', KEYS[1], 'excused', 1) end
redis.call('HDEL', KEYS[1], 'owner', 'token', 'lease_until')
redis.call('HSET', KEYS[1], 'fraction', 0, 'message', 'What the job needs is away; it is tried again later.', 'publications', 1)
enter(KEYS[1], 'queued')
redis.call('ZADD', QUEUED, stamp(at), id)
redis.call('ZADD', KEYS[2], stamp(at + math.min(grace * 2 ^ excused, longest_wait)), id)
count('given_back')
announce(KEYS[1])
return 1
