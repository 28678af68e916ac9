-- Extends the leases of this owner: of the job, if it is running, and of its shards. Answers 1, or 0 where it has none.
-- A job that was queued again but not claimed is still its last owner's: whoever renews has not fallen silent after all.
-- KEYS  record, due set, its shards
local id, owner, lease = ARGV[1], ARGV[2], ARGV[3]

local at, held = now(), 0
local record = redis.call('HMGET', KEYS[1], 'state', 'owner')
if (record[1] == 'running' or record[1] == 'queued') and record[2] == owner then
  if record[1] == 'queued' then
    become(KEYS[1], id, 'running')
    redis.call('HSET', KEYS[1], 'message', '', 'publications', 1)
    enter(KEYS[1], 'starting')
    redis.call('ZREM', QUEUED, id)
    announce(KEYS[1])
  end
  redis.call('HSET', KEYS[1], 'seen', stamp(at), 'lease_until', stamp(at + lease))
  redis.call('ZADD', KEYS[2], stamp(at + lease), id)
  held = 1
end
for shard = 0, (redis.call('HGET', KEYS[3], 'shards') or 0) - 1 do
  if redis.call('HGET', KEYS[3], shard .. ':owner') == owner then
    redis.call('HSET', KEYS[3], shard .. ':until', stamp(at + lease))
    held = 1
  end
end
return held
