-- Those of the named jobs that have not ended. Says nothing of whose they are: ask only for jobs already seen.
-- KEYS  due set
local found = {}
for _, id in ipairs(ARGV) do
  if redis.call('ZSCORE', KEYS[1], id) then found[#found + 1] = id end
end
return found
