-- Ended jobs of the tenant whose records take most, of those who have some that ended ARGV[1] seconds ago; oldest first, ARGV[2]
-- at most. Answers {id, tenant, attempts, …}.
local until_then, limit = now() - ARGV[1], tonumber(ARGV[2])
for _, tenant in ipairs(redis.call('ZREVRANGE', RECORD_BYTES, 0, -1)) do
  local ended, found = {}, {}
  for _, state in ipairs({'succeeded', 'failed', 'cancelled'}) do
    local jobs = redis.call('ZRANGE', listed(tenant, 'state=' .. state), 0, limit - 1, 'WITHSCORES')
    for i = 1, #jobs, 2 do ended[#ended + 1] = {jobs[i], tonumber(jobs[i + 1])} end
  end
  table.sort(ended, function(one, other) return one[2] < other[2] end)
  for i = 1, math.min(limit, #ended) do
    local record = redis.call('HMGET', 'job:' .. ended[i][1], 'finished', 'attempt')
    if tonumber(record[1]) <= until_then then
      for _, value in ipairs({ended[i][1], tenant, record[2]}) do found[#found + 1] = value end
    end
  end
  if #found > 0 then return found end
end
return {}
