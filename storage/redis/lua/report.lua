-- Progress of one attempt. Answers 1, or 0 where the attempt no longer counts.
-- KEYS  record
local attempt, fraction, stage, message = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local record = redis.call('HMGET', KEYS[1], 'state', 'attempt')
if not record[1] or terminal(record[1]) or record[2] ~= attempt then return 0 end

-- Queued again, but nobody has claimed it: the attempt may still finish first, the record just does not say "running".
if record[1] == 'running' then
  enter(KEYS[1], stage)
  redis.call('HSET', KEYS[1], 'fraction', fraction, 'message', message)
  announce(KEYS[1])
end
return 1
