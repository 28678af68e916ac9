-- running → succeeded or failed, if the attempt is still the latest. Answers 1, also to a repeated commit that had landed; else 0.
-- A job that was queued again but not claimed is still its last attempt's to finish.
-- KEYS  record, due set
-- ARGV[7]  what the table of the job's batch shows of its result
local id, attempt, outcome, field, value, bytes, values = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]

local record = redis.call('HMGET', KEYS[1], 'state', 'attempt', 'committed')
if not record[1] or record[2] ~= attempt then return 0 end
if terminal(record[1]) then
  return (record[1] == outcome and record[3] == attempt) and 1 or 0
end

redis.call('HSET', KEYS[1], field, value, 'committed', attempt)
if outcome == 'succeeded' then
  redis.call('HSET', KEYS[1], 'fraction', 1, 'message', '')
  weigh(KEYS[1], RESULT_BYTES, 'result_bytes', bytes)
  if values ~= '' and redis.call('HEXISTS', KEYS[1], 'batch') == 1 then
    redis.call('HSET', KEYS[1], 'values', values)
    redis.call('HINCRBY', KEYS[1], 'record_bytes', #values)
    redis.call('ZINCRBY', RECORD_BYTES, #values, redis.call('HGET', KEYS[1], 'tenant'))
  end
end
finish(KEYS[1], KEYS[2], id, outcome)
return 1
